// The audit log: every operation, filtered by the address; one of them with its events.

import { read } from "../api.js";
import { button, facts, make, status, when } from "../dom.js";
import { field, form, refusal } from "../forms.js";
import { listing } from "../listing.js";
import { ofRoot } from "../live.js";
import { EventList, named } from "../log.js";
import { address, go, withQuery } from "../route.js";

const FILTERS = ["kind", "status", "subject"];
const STATUSES = ["in_progress", "succeeded", "failed"];
const EVENTS = 1_000;

export function audit(section, { log }, parameters) {
  let chosen = parameters;
  const list = listing({
    log,
    label: "Operations",
    name: "operations",
    path: "/api/operations",
    filters: () => Object.fromEntries(FILTERS.map((name) => [name, chosen[name]])),
    concerns: ofRoot("agent", "browser", "search", "message", "auth"),
    empty: "No operation is in this list.",
    chosen: (operation) => operation.operation_id === chosen.id,
    columns: [
      ["Operation", (each) => make("a", { href: address("audit", { ...chosen, id: each.operation_id }) }, each.operation_id)],
      ["Kind", (each) => each.kind, "short"],
      ["Status", (each) => make("span", {}, status(each.status), each.error ? ` ${each.error.code}` : ""), "short"],
      ["Subject", (each) => named(each.subject)],
      ["At", (each) => when(each.created_at_ms), "short"],
    ],
  });
  const contents = [
    field("Kind", "kind", { placeholder: "open_tab" }),
    field("Status", "status", { kind: "select", options: [["", "all"], ...STATUSES.map((name) => [name, name.replace("_", " ")])] }),
    field("Subject", "subject", { placeholder: "an id" }),
    button("Filter", null, { type: "submit" }),
  ];
  const filter = form("Filter operations", contents, (values) => go("audit", values));
  filter.className = "filter";
  const side = make("div", { class: "detail" });
  section.replaceChildren(
    make("h2", {}, "Audit log"),
    filter,
    make("div", { class: "columns" }, list.element, side),
  );
  const show = () => {
    for (const name of FILTERS) {
      filter.elements.namedItem(name).value = chosen[name] ?? "";
    }
    detail(side, chosen.id, () => chosen.id);
  };
  show();
  return {
    change: (next) => {
      chosen = next;
      show();
      list.now();
    },
    leave: list.stop,
  };
}

async function detail(side, id, wanted) {
  if (!id) {
    side.replaceChildren(make("p", { class: "quiet" }, "Choose an operation."));
    return;
  }
  let parts = [];
  try {
    const operation = await read(`/api/operations/${encodeURIComponent(id)}`);
    parts = [describe(operation), ...(operation.error ? [refusal(operation.error)] : []), await eventsOf(operation)];
  } catch (error) {
    parts = [refusal(error)];
  }
  if (wanted() === id) {
    side.replaceChildren(make("h3", {}, "Operation ", make("code", {}, id)), ...parts);
  }
}

function describe(operation) {
  return facts([
    ["Kind", operation.kind],
    ["Status", status(operation.status)],
    ["Subject", operation.subject ? named(operation.subject) : ""],
    ["Part of", operation.parent_operation_id ? named(operation.parent_operation_id) : ""],
    ["Request", operation.request_id],
    ["Tenant", operation.tenant],
    ["Accepted", when(operation.created_at_ms)],
    ["Took", `${operation.updated_at_ms - operation.created_at_ms} ms`],
  ]);
}

/** Its events, found by what it was about: the log has no filter by operation. */
async function eventsOf(operation) {
  const list = new EventList("Its events, newest first", EVENTS);
  const { events } = await read(withQuery("/api/events/recent", { limit: EVENTS, subject: operation.subject }));
  const own = events.filter((event) => event.operation_id === operation.operation_id);
  list.add(own.reverse());
  const shown = own.length > 0 ? list.element : make("p", { class: "quiet" }, "None among the newest.");
  return make("div", {}, make("h4", {}, "Its events"), shown);
}
