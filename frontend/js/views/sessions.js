import { when } from "../dom.js";
import { listing } from "../listing.js";

export const sessions = listing({
  title: "Browser sessions",
  path: "/api/browser/sessions?page_size=100",
  name: "sessions",
  roots: ["browser"],
  empty: "No session has been created.",
  columns: [
    ["Session", (session) => session.session_id],
    ["Status", (session) => session.status],
    ["Owner", (session) => session.owner_agent_id || "a person"],
    ["Tabs", (session) => session.tabs.map((tab) => tab.title || tab.url).join(", ")],
    ["Changed", (session) => when(session.updated_at_ms)],
  ],
});
