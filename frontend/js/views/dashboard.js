// How every part is, what there is of everything, what happened last.

import { read } from "../api.js";
import { button, make, refill, status, table } from "../dom.js";
import { refusal } from "../forms.js";
import { live, ofRoot } from "../live.js";
import { EventList } from "../log.js";
import { address } from "../route.js";

const SHOWN = 20;
const PLACES = { agents: "agents", sessions: "sessions", tabs: "sessions", jobs: "search", messages: "messages" };

export function dashboard(section, { log, beats }) {
  const report = make("div", {}, make("p", { class: "quiet" }, "Asking every part…"));
  const list = new EventList("Newest events", SHOWN);
  list.add(log.events.slice(0, SHOWN).reverse());
  const unfollow = log.follow((events) => list.add(events));
  const concerns = (event) => ofRoot("service", "agent", "search", "message")(event) || /\.(session|tab)\./.test(event.category);
  const health = live(log, concerns, () => show(report));
  // A part that dies says nothing; the stream's heartbeat, every 15 s, is when to ask.
  const unbeat = beats.follow(health.now);
  health.now();
  section.replaceChildren(
    make("h2", {}, "Dashboard"),
    report,
    button("Ask again", health.now),
    make("h3", {}, "Newest events"),
    list.element,
    make("p", {}, make("a", { href: address("events") }, "All events")),
  );
  return {
    leave: () => {
      health.stop();
      unfollow();
      unbeat();
    },
  };
}

async function show(element) {
  try {
    const report = await read("/api/health");
    refill(
      element,
      make("p", { role: "status", class: "headline" }, "The system is ", status(report.status), "."),
      counts(report.counts),
      table("Parts", COLUMNS, [...report.services, bus(report.bus)]),
    );
  } catch (error) {
    refill(element, refusal(error));
  }
}

const COLUMNS = [
  ["Part", (row) => row.name, "short"],
  ["Status", (row) => status(row.status), "short"],
  ["Answers in", (row) => `${row.latency_ms.toFixed(0)} ms`, "short"],
  ["Up", (row) => (row.uptime_ms === undefined ? "" : duration(row.uptime_ms)), "short"],
  ["Restarts", (row) => row.restarts ?? "", "short"],
  ["Detail", (row) => [row.detail, ...pairs(row.counts), ...pairs(row.facts)].filter(Boolean).join(" · ")],
];

function bus(report) {
  const share = ((100 * report.log_bytes) / report.log_max_bytes).toFixed(1);
  const facts_ = { "last event": report.last_sequence, "events kept": report.log_events, "log full": `${share} %` };
  return { name: "event log (NATS)", status: report.status, latency_ms: report.latency_ms, detail: report.detail, facts: facts_ };
}

function pairs(values) {
  return Object.entries(values ?? {}).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
}

function counts(values) {
  const shown = Object.entries(values).sort(([one], [other]) => one.localeCompare(other));
  const tile = ([name, value]) => {
    const label = name.replaceAll("_", " ");
    const place = PLACES[name];
    return make("div", {}, make("dt", {}, place ? make("a", { href: address(place) }, label) : label), make("dd", {}, value));
  };
  return make("dl", { class: "tiles" }, ...shown.map(tile));
}

function duration(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
