// Search: asking, the jobs, and one of them with its stages, results and cited answer.

import { post } from "../api.js";
import { button, make, status, when } from "../dom.js";
import { field, form } from "../forms.js";
import { listing } from "../listing.js";
import { ofRoot } from "../live.js";
import { address, go } from "../route.js";
import { detail } from "./search/detail.js";

export function search(section, { log }, parameters) {
  let chosen = parameters;
  let shown = null;
  const list = listing({
    log,
    label: "Search jobs",
    name: "jobs",
    path: "/api/search",
    concerns: ofRoot("search"),
    empty: "No search has been started.",
    chosen: (job) => job.job_id === chosen.id,
    columns: [
      ["Query", (job) => make("a", { href: address("search", { id: job.job_id }) }, job.query)],
      ["Stage", (job) => status(job.stage), "short"],
      ["Results", (job) => job.results.length, "short"],
      ["Changed", (job) => when(job.updated_at_ms), "short"],
    ],
  });
  const side = make("div", { class: "detail" });
  section.replaceChildren(
    make("h2", {}, "Search"),
    make("div", { class: "columns" }, make("div", {}, asking(), list.element), side),
  );
  const show = () => {
    if (shown?.id === chosen.id) {
      return;
    }
    shown?.stop();
    shown = chosen.id ? { id: chosen.id, ...detail(side, log, chosen.id) } : null;
    if (!shown) {
      side.replaceChildren(make("p", { class: "quiet" }, "Ask something, or choose a job."));
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

function asking() {
  const contents = [
    field("Query", "query", { wide: true, required: true, maxlength: "2000" }),
    field("Provider", "provider", { placeholder: "the configured one", hint: "mock, corpus, searxng, …" }),
    field("Iterations", "max_iterations", { type: "number", min: "1", max: "10", placeholder: "3" }),
    button("Search", null, { type: "submit" }),
  ];
  return form("Search", contents, async ({ query, provider, max_iterations }, element) => {
    const more = {
      ...(provider.trim() ? { provider: provider.trim() } : {}),
      ...(max_iterations ? { max_iterations: Number(max_iterations) } : {}),
    };
    const { result } = await post("/api/search", { query, ...more });
    element.reset();
    go("search", { id: result.job_id });
  });
}
