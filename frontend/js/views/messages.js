import { when } from "../dom.js";
import { listing } from "../listing.js";

export const messages = listing({
  title: "Messages",
  path: "/api/messages?page_size=100",
  name: "messages",
  roots: ["message"],
  empty: "No message has been sent.",
  columns: [
    ["From", (message) => message.sender],
    ["To", (message) => message.recipient],
    ["Says", (message) => JSON.stringify(message.payload)],
    ["Status", (message) => message.status],
    ["Sent", (message) => when(message.timestamp_ms)],
  ],
});
