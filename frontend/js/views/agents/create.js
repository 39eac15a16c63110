// Making an agent: what it may do, where it may go, how much.

import { post, read } from "../../api.js";
import { button, make } from "../../dom.js";
import { field, form, refusal, words } from "../../forms.js";
import { go } from "../../route.js";

const TOOLS = ["search", "message"];
const LIMITS = [
  ["max_actions", "Actions", 40],
  ["max_execution_ms", "Time, ms", 300000],
  ["max_network_requests", "Requests", 200],
  ["max_search_iterations", "Search iterations", 5],
  ["max_repeats", "Repeats", 5],
];

/** A folded form. */
export function creation() {
  const choices = make("div", { class: "choices" });
  const contents = [
    field("Objective", "objective", { kind: "textarea", rows: "2", wide: true, hint: "What it shall reach; may be given later." }),
    make("fieldset", { class: "wide" }, make("legend", {}, "Capabilities"), choices),
    field("Navigate only to", "allowed_domains", { wide: true, hint: "Hosts, comma-separated: example.com, 127.0.0.1:8000. Needs the capability navigate." }),
    make(
      "fieldset",
      { class: "wide limits" },
      make("legend", {}, "Limits"),
      ...LIMITS.map(([name, label, usual]) => field(label, name, { type: "number", min: "1", placeholder: String(usual) })),
    ),
    button("Create", null, { type: "submit" }),
  ];
  const folded = make("details", {}, make("summary", {}, "Create an agent"), form("Create an agent", contents, create));
  folded.addEventListener("toggle", () => choices.childElementCount === 0 && fill(choices), { once: true });
  return folded;
}

async function fill(choices) {
  try {
    const { operations } = await read("/api/browser/operations");
    const names = [...new Set(operations.filter((each) => each.served).map((each) => each.capability))];
    choices.replaceChildren(...[...names, ...TOOLS].map(choice));
  } catch (error) {
    choices.replaceChildren(refusal(error));
  }
}

function choice(name) {
  return make("label", {}, make("input", { type: "checkbox", name: `grant ${name}` }), name);
}

async function create(values, element) {
  const granted = Object.keys(values).filter((name) => name.startsWith("grant ")).map((name) => name.slice(6));
  const domains = words(values.allowed_domains);
  const capabilities = granted.map((name) =>
    name === "navigate" && domains.length > 0 ? { navigate: { allowed_domains: domains } } : name,
  );
  const limits = Object.fromEntries(LIMITS.filter(([name]) => values[name]).map(([name]) => [name, Number(values[name])]));
  const objective = values.objective.trim() ? { objective: { description: values.objective.trim() } } : {};
  const { result } = await post("/api/agents", { capabilities, limits, ...objective });
  element.reset();
  element.closest("details").open = false;
  go("agents", { id: result.agent_id });
}
