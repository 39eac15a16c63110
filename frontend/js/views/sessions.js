// Browser sessions: which there are, opening one, and one of them with its tabs.

import { post } from "../api.js";
import { button, make, status, when } from "../dom.js";
import { field, form, words } from "../forms.js";
import { listing } from "../listing.js";
import { ofRoot } from "../live.js";
import { named } from "../log.js";
import { address, go } from "../route.js";
import { detail } from "./sessions/detail.js";

const STATUSES = ["starting", "ready", "busy", "closing", "closed", "crashed"];

export function sessions(section, { log }, parameters) {
  let chosen = parameters;
  let shown = null;
  const list = listing({
    log,
    label: "Sessions",
    name: "sessions",
    path: "/api/browser/sessions",
    filters: () => ({ status: chosen.status }),
    concerns: ofRoot("browser"),
    empty: "No session is in this list.",
    chosen: (session) => session.session_id === chosen.id,
    columns: [
      ["Session", (session) => make("a", { href: address("sessions", { ...chosen, id: session.session_id }) }, session.session_id)],
      ["Status", (session) => status(session.status), "short"],
      ["Owner", (session) => (session.owner_agent_id ? named(session.owner_agent_id) : "a person")],
      ["Tabs", (session) => session.tabs.map((tab) => tab.title || tab.url).join(", ")],
      ["Changed", (session) => when(session.updated_at_ms), "short"],
    ],
  });
  const filter = field("Status", "status", { kind: "select", options: [["", "all"], ...STATUSES.map((name) => [name, name])] });
  const select = filter.querySelector("select");
  select.addEventListener("change", () => go("sessions", { ...chosen, status: select.value }));
  const side = make("div", { class: "detail" });
  section.replaceChildren(
    make("h2", {}, "Browser sessions"),
    make("div", { class: "columns" }, make("div", {}, opening(), filter, list.element), side),
  );
  const show = () => {
    select.value = chosen.status ?? "";
    if (shown?.id === chosen.id) {
      return;
    }
    shown?.stop();
    shown = chosen.id ? { id: chosen.id, ...detail(side, log, chosen.id) } : null;
    if (!shown) {
      side.replaceChildren(make("p", { class: "quiet" }, "Choose a session, or open one."));
    }
  };
  show();
  return {
    change: (next) => {
      chosen = next;
      show();
      list.now();
    },
    leave: () => {
      shown?.stop();
      list.stop();
    },
  };
}

function opening() {
  const contents = [
    field("Go only to", "allowed_domains", { hint: "Hosts, comma-separated; empty for every public one." }),
    field("Profile", "profile", { hint: "Kept under this name; empty for none." }),
    field("Owner", "owner_agent_id", { placeholder: "agent_…", hint: "An agent; empty for yourself." }),
    button("Open session", null, { type: "submit" }),
  ];
  const submit = async ({ allowed_domains, profile, owner_agent_id }, element) => {
    const body = { profile: profile.trim(), owner_agent_id: owner_agent_id.trim() };
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value));
    const domains = words(allowed_domains);
    const policy = domains.length > 0 ? { network_policy: { allowed_domains: domains } } : {};
    const { result } = await post("/api/browser/sessions", { ...given, ...policy });
    element.reset();
    element.closest("details").open = false;
    go("sessions", { id: result.session_id });
  };
  return make("details", {}, make("summary", {}, "Open a session"), form("Open a session", contents, submit));
}
