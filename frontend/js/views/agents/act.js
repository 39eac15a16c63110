// Driving an agent: one action, chosen from the catalogue, with its arguments as JSON; what it gave or why it was refused.

import { post, read } from "../../api.js";
import { block, button, make } from "../../dom.js";
import { field, form, refusal } from "../../forms.js";
import { image } from "../../image.js";

const OTHER = {
  search: { search: { query: "" } },
  message: { send: { recipient: "user:", payload: { text: "" } }, list: {} },
};
const EXAMPLES = {
  navigate: { url: "about:blank" },
  click: { target: { ref: "e1" } },
  type: { target: { ref: "e1" }, text: "" },
  query_element: { target: { selector: "a" } },
  hover: { target: { ref: "e1" } },
  find_text: { text: "" },
  press_key: { key: "Enter" },
};

/** The form for one action of the agent at `path`. */
export function acting(path, id) {
  const outcome = make("div", { class: "outcome", "aria-live": "polite" });
  const tool = field("Tool", "tool", { kind: "select", options: ["browser", "search", "message"].map((each) => [each, each]) });
  const op = field("Operation", "op", { kind: "select" });
  const args = field("Arguments", "args", { kind: "textarea", rows: "4", wide: true, hint: "A JSON object." });
  const [chosenTool, chosenOp, text] = [tool, op, args].map((each) => each.querySelector("select, textarea"));
  let catalogue = [];
  let typed = false;
  const offer = () => {
    const names = chosenTool.value === "browser" ? catalogue.map((each) => each.name) : Object.keys(OTHER[chosenTool.value]);
    chosenOp.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
    propose();
  };
  const propose = async () => {
    typed = false;
    const [wantedTool, wantedOp] = [chosenTool.value, chosenOp.value];
    const proposal = wantedTool === "browser" ? await browserArguments(id, wantedOp) : OTHER[wantedTool][wantedOp];
    // What a person typed meanwhile stays, and the field is theirs while they are in it.
    if (!typed && document.activeElement !== text && chosenTool.value === wantedTool && chosenOp.value === wantedOp) {
      text.value = JSON.stringify(proposal, null, 1);
    }
  };
  chosenTool.addEventListener("change", offer);
  chosenOp.addEventListener("change", propose);
  text.addEventListener("input", () => (typed = true));
  read("/api/browser/operations").then(
    ({ operations }) => {
      catalogue = operations.filter((each) => each.served);
      offer();
    },
    (error) => outcome.replaceChildren(refusal(error)),
  );
  const element = form(`Drive agent ${id}`, [tool, op, args, button("Act", null, { type: "submit" })], async (values) => {
    outcome.replaceChildren(make("p", { class: "quiet" }, "Running…"));
    try {
      const action = { tool: values.tool, op: values.op, args: parse(values.args) };
      outcome.replaceChildren(...(await gave(await post(`${path}/actions`, action))));
    } catch (error) {
      outcome.replaceChildren(refusal(error));
    }
  });
  return make("div", {}, make("h4", {}, "Drive it"), element, outcome);
}

function parse(text) {
  try {
    return text.trim() ? JSON.parse(text) : {};
  } catch (error) {
    throw new Error(`The arguments are not JSON: ${error.message}`);
  }
}

/** Arguments to begin with: the agent's newest session and its first tab filled in. */
async function browserArguments(id, name) {
  if (name === "create_session") {
    return {};
  }
  const sessions = await read(`/api/browser/sessions?owner_agent_id=${encodeURIComponent(id)}&status=ready`).then(
    (answer) => answer.sessions,
    () => [],
  );
  const session = sessions[0];
  const where = { session_id: session?.session_id ?? "" };
  if (["close_session", "list_tabs", "list_downloads"].includes(name)) {
    return where;
  }
  if (name === "open_tab") {
    return { ...where, url: "about:blank" };
  }
  return { ...where, tab_id: session?.tabs[0]?.tab_id ?? "", ...EXAMPLES[name] };
}

async function gave(envelope) {
  const { image: bytes, ...rest } = envelope.result ?? {};
  const parts = [make("p", { class: "good" }, `Done. ${envelope.action_id ?? ""}`)];
  if (envelope.warning) {
    parts.push(make("p", { class: "warning" }, envelope.warning));
  }
  if (bytes !== undefined && rest.content_type?.startsWith("image/")) {
    parts.push(await image(envelope.result, "Screenshot that the action gave"));
  }
  parts.push(block("Result of the action", JSON.stringify(rest, null, 1)));
  return parts;
}
