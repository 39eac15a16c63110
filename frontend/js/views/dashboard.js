import { read } from "../api.js";
import { make, table } from "../dom.js";
import { EventList } from "../log.js";

const SHOWN = 20;

export function dashboard(section, { log }) {
  const health = make("div", { "aria-live": "polite" }, make("p", { class: "quiet" }, "Asking every part…"));
  const list = new EventList("Newest events", SHOWN);
  list.add([...log.events].slice(0, SHOWN).reverse());
  section.replaceChildren(make("h2", {}, "Dashboard"), health, make("h2", {}, "Newest events"), list.element);
  show(health);
  return log.follow((events) => {
    list.add(events);
    if (events.some((event) => event.category.startsWith("service."))) {
      show(health);
    }
  });
}

async function show(element) {
  try {
    const report = await read("/api/health");
    element.replaceChildren(
      make("p", {}, "The system is ", make("strong", { class: report.status === "healthy" ? "good" : "bad" }, report.status), "."),
      table(
        [
          ["Service", (row) => row.name],
          ["Status", (row) => row.status],
          ["Answer", (row) => `${row.latency_ms.toFixed(1)} ms`],
          ["Up", (row) => `${Math.round(row.uptime_ms / 1000)} s`],
          ["Detail", (row) => row.detail],
        ],
        report.services,
      ),
    );
  } catch (error) {
    element.replaceChildren(make("p", { class: "bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
  }
}
