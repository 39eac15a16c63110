// One search job: the stage it is in, the way it came, its results, its answer with what each sentence rests on.

import { post, read } from "../../api.js";
import { button, facts, make, refill, status, when } from "../../dom.js";
import { refusal } from "../../forms.js";
import { live } from "../../live.js";
import { EventList } from "../../log.js";
import { cited } from "./document.js";

const STAGES = [
  "user_query", "query_normalization", "search_planner", "search_provider", "result_normalization", "url_deduplication",
  "content_retrieval", "content_extraction", "source_ranking", "result_synthesis", "frontend_visibility", "done",
];
const TRAIL = 200;

/** Fills `side` with the job; returns {stop}. */
export function detail(side, log, id) {
  const path = `/api/search/${encodeURIComponent(id)}`;
  const about = make("div");
  const answer = make("div");
  const results = make("div");
  const source = make("div", { class: "outcome", "aria-live": "polite" });
  const trail = new EventList("What happened", TRAIL);
  const concerns = (event) => event.subject === id;
  let answered = false;
  const refresh = async () => {
    try {
      const job = await read(path);
      refill(about, ...describe(job, path, about));
      refill(results, ...ranked(job));
      if (job.answer && !answered) {
        answered = true;
        answer.replaceChildren(make("h4", {}, "Answer"), sentences(job, path, source));
      }
    } catch (error) {
      refill(about, refusal(error));
    }
  };
  const following = live(log, concerns, refresh);
  const newest = { sequence: 0 };
  const show = (events) => {
    const fresh = events.filter((event) => concerns(event) && event.sequence > newest.sequence);
    trail.add(fresh);
    newest.sequence = fresh.at(-1)?.sequence ?? newest.sequence;
  };
  const unfollow = { call: () => {} };
  read(`/api/events/recent?subject=${encodeURIComponent(id)}&limit=${TRAIL}`).then(
    ({ events }) => {
      show(events.reverse());
      show([...log.events].reverse());
      unfollow.call = log.follow(show);
    },
    (error) => trail.element.replaceWith(refusal(error)),
  );
  const story = make("details", {}, make("summary", {}, "What happened, newest first"), trail.element);
  side.replaceChildren(make("h3", {}, "Job ", make("code", {}, id)), about, answer, source, results, story);
  following.now();
  return {
    stop: () => {
      following.stop();
      unfollow.call();
    },
  };
}

function describe(job, path, about) {
  const ended = job.stage === "done" || job.stage === "failed";
  const parts = [
    facts([
      ["Query", job.query],
      ["Stage", make("span", { role: "status" }, status(job.stage))],
      ["Provider", job.provider],
      ["Iteration", `${job.iteration} of ${job.max_iterations}`],
      ["Changed", when(job.updated_at_ms)],
    ]),
    stages(job.stage),
  ];
  if (job.failure) {
    parts.push(refusal(job.failure));
  }
  if (!ended) {
    parts.push(button("Cancel", () => post(`${path}/cancel`).catch((error) => about.append(refusal(error)))));
  }
  return parts;
}

function ranked(job) {
  return [make("h4", {}, `Results (${job.results.length})`), make("ol", { class: "results" }, ...job.results.map(result))];
}

function stages(now) {
  const reached = STAGES.indexOf(now);
  return make(
    "ol",
    { class: "stages", "aria-label": "Stages" },
    ...STAGES.map((name, place) =>
      make("li", { class: place < reached || now === "done" ? "past" : "", "aria-current": name === now && "step" }, name.replaceAll("_", " ")),
    ),
  );
}

function result(each) {
  return make(
    "li",
    {},
    make("strong", {}, each.title || each.url),
    make("span", { class: "quiet url" }, each.url),
    make("p", {}, each.snippet),
    each.fetch_error ? make("p", { class: "warning" }, each.fetch_error) : "",
  );
}

function sentences(job, path, source) {
  let number = 0;
  const cite = (citation) => {
    number += 1;
    const label = `Source ${number}: “${citation.quote.slice(0, 80)}”`;
    return button(`[${number}]`, () => cited(source, path, citation), { key: `cite ${number}`, label });
  };
  return make(
    "div",
    { class: "answer" },
    ...job.answer.sentences.map((sentence) => make("p", {}, `${sentence.text} `, ...sentence.citations.map(cite))),
  );
}
