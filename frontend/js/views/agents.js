import { when } from "../dom.js";
import { listing } from "../listing.js";

export const agents = listing({
  title: "Agent console",
  path: "/api/agents?page_size=100",
  name: "agents",
  roots: ["agent"],
  empty: "No agent has been created.",
  columns: [
    ["Agent", (agent) => agent.agent_id],
    ["State", (agent) => agent.state],
    ["Objective", (agent) => agent.objective?.description ?? ""],
    ["Actions", (agent) => `${agent.action_count} of ${agent.limits?.max_actions ?? "?"}`],
    ["Changed", (agent) => when(agent.updated_at_ms)],
  ],
});
