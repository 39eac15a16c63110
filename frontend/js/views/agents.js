// Agents: which there are, making one, and one of them.

import { make, status, when } from "../dom.js";
import { field } from "../forms.js";
import { listing } from "../listing.js";
import { ofRoot } from "../live.js";
import { address, go } from "../route.js";
import { creation } from "./agents/create.js";
import { detail } from "./agents/detail.js";

const STATES = ["created", "ready", "planning", "executing", "waiting", "completed", "failed", "terminated"];

export function agents(section, { log }, parameters) {
  let chosen = parameters;
  let shown = null;
  const list = listing({
    log,
    label: "Agents",
    name: "agents",
    path: "/api/agents",
    filters: () => ({ state: chosen.state }),
    concerns: ofRoot("agent"),
    empty: "No agent is in this list.",
    chosen: (agent) => agent.agent_id === chosen.id,
    columns: [
      ["Agent", (agent) => make("a", { href: address("agents", { ...chosen, id: agent.agent_id }) }, agent.agent_id)],
      ["State", (agent) => status(agent.state), "short"],
      ["Objective", (agent) => agent.objective?.description ?? ""],
      ["Actions", (agent) => `${agent.action_count} of ${agent.limits.max_actions}`, "short"],
      ["Changed", (agent) => when(agent.updated_at_ms), "short"],
    ],
  });
  const filter = field("State", "state", { kind: "select", options: [["", "all"], ...STATES.map((name) => [name, name])] });
  const select = filter.querySelector("select");
  select.addEventListener("change", () => go("agents", { ...chosen, state: select.value }));
  const side = make("div", { class: "detail" });
  section.replaceChildren(
    make("h2", {}, "Agent console"),
    make("div", { class: "columns" }, make("div", {}, creation(), filter, list.element), side),
  );
  const show = () => {
    select.value = chosen.state ?? "";
    if (shown?.id === chosen.id) {
      return;
    }
    shown?.stop();
    shown = chosen.id ? { id: chosen.id, ...detail(side, log, chosen.id) } : null;
    if (!shown) {
      side.replaceChildren(make("p", { class: "quiet" }, "Choose an agent, or create one."));
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
