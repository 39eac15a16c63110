// One agent: where it is, driving it, what it did, ending it.

import { post, read } from "../../api.js";
import { button, facts, make, refill, status, table, when } from "../../dom.js";
import { field, form, refusal } from "../../forms.js";
import { live } from "../../live.js";
import { named } from "../../log.js";
import { address } from "../../route.js";
import { acting } from "./act.js";

const ENDED = ["completed", "failed", "terminated"];
const HISTORY = 200;

/** Fills `side` with the agent; returns {stop}. */
export function detail(side, log, id) {
  const path = `/api/agents/${encodeURIComponent(id)}`;
  const about = make("div");
  const history = make("div");
  const controls = make("div");
  let built = "";
  const refresh = async () => {
    try {
      const agent = await read(path);
      refill(about, ...describe(agent));
      refill(history, await told(path, id));
      const ended = ENDED.includes(agent.state);
      // The forms are built once: what a person has typed is never taken from under them.
      if (built !== String(ended)) {
        built = String(ended);
        controls.replaceChildren(...(ended ? [] : [acting(path, id), ending(path, agent)]));
      }
    } catch (error) {
      refill(about, refusal(error));
    }
  };
  const concerns = (event) => event.agent_id === id || event.subject === id;
  const following = live(log, concerns, refresh);
  side.replaceChildren(make("h3", {}, "Agent ", make("code", {}, id)), about, controls, make("h4", {}, "History"), history);
  following.now();
  return { stop: following.stop };
}

function describe(agent) {
  const { limits, usage } = agent;
  const granted = agent.capabilities.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
  return [
    facts([
      ["State", status(agent.state)],
      ["Objective", agent.objective?.description],
      ["May", granted.join(", ") || "nothing"],
      ["Actions", `${usage?.actions ?? 0} of ${limits.max_actions}`],
      ["Time", `${usage?.elapsed_ms ?? 0} of ${limits.max_execution_ms} ms`],
      ["Requests", `${usage?.network_requests ?? 0} of ${limits.max_network_requests}`],
      ["Search iterations", `${usage?.search_iterations ?? 0} of ${limits.max_search_iterations}`],
      ["Failed because", agent.failure_reason],
      ["Result", agent.result ? JSON.stringify(agent.result) : ""],
      ["Changed", when(agent.updated_at_ms)],
    ]),
    make("p", {}, make("a", { href: address("events", { subject: agent.agent_id }) }, "Its events")),
  ];
}

async function told(path, id) {
  const actions = await newest(path);
  if (actions.length === 0) {
    return make("p", { class: "quiet" }, "It has not acted yet.");
  }
  return table(`Actions of ${id}`, COLUMNS, actions);
}

const COLUMNS = [
  ["Action", (action) => `${action.tool} ${action.op}`, "short"],
  ["Outcome", (action) => status(action.outcome || "running"), "short"],
  ["Arguments", (action) => JSON.stringify(action.args)],
  ["Took", (action) => `${action.duration_ms} ms`, "short"],
  ["Made", (action) => make("span", {}, ...action.artifact_ids.map(named))],
  ["At", (action) => when(action.started_at_ms), "short"],
];

/** The history's last pages, newest first: the API gives it oldest first. */
async function newest(path) {
  let actions = [];
  let token = "";
  do {
    const page = await read(`${path}/history?page_size=200${token ? `&page_token=${encodeURIComponent(token)}` : ""}`);
    actions = [...actions, ...page.actions].slice(-HISTORY);
    token = page.next_page_token;
  } while (token);
  return actions.reverse();
}

function ending(path, agent) {
  const contents = [
    field("Result or reason", "words", { wide: true, hint: "A JSON object for complete; a reason for terminate. Both may be empty." }),
    make(
      "div",
      { class: "buttons wide" },
      button("Complete", null, { type: "submit" }),
      button("Terminate", () => end.dispatchEvent(new CustomEvent("terminate")), {}),
    ),
  ];
  const end = form(`End agent ${agent.agent_id}`, contents, async ({ words }) => {
    await post(`${path}/complete`, { result: words.trim() ? JSON.parse(words) : {} });
  });
  const told_ = end.lastElementChild;
  end.addEventListener("terminate", async () => {
    try {
      await post(`${path}/terminate`, { reason: end.elements.namedItem("words").value });
    } catch (error) {
      told_.replaceChildren(refusal(error));
    }
  });
  return make("details", {}, make("summary", {}, "End it"), end);
}
