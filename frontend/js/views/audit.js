import { when } from "../dom.js";
import { listing } from "../listing.js";

export const audit = listing({
  title: "Audit log",
  path: "/api/operations?page_size=100",
  name: "operations",
  roots: ["agent", "browser", "search", "message", "auth"],
  empty: "No operation has been recorded.",
  columns: [
    ["Operation", (operation) => operation.operation_id],
    ["Kind", (operation) => operation.kind],
    ["Status", (operation) => operation.error?.code ?? operation.status],
    ["Subject", (operation) => operation.subject],
    ["At", (operation) => when(operation.updated_at_ms)],
  ],
});
