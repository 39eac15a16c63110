// The event stream: filtered by the address, paused, gone back in; what may be missing is said.

import { read, readLines } from "../api.js";
import { button, make } from "../dom.js";
import { field, form, refusal } from "../forms.js";
import { EventList } from "../log.js";
import { go, withQuery } from "../route.js";

const LOADED = 200;
const SHOWN = 1_000;
const HELD = 1_000;
const OLDER = 200;

export function events(section, { log, gaps }, parameters) {
  const view = new EventView(log);
  section.replaceChildren(make("h2", {}, "Event stream"), view.filter, view.bar, view.notices, view.list.element, view.older);
  const unfollow = log.follow((fresh) => view.take(fresh));
  const ungap = gaps.follow(([gap]) => view.tell(gap));
  view.change(parameters);
  return {
    change: (next) => view.change(next),
    leave: () => {
      unfollow();
      ungap();
    },
  };
}

class EventView {
  constructor(log) {
    this.wanted = {};
    this.log = log;
    this.list = new EventList("Events, newest first", SHOWN);
    this.notices = make("div", { "aria-live": "polite" });
    this.count = make("span", { class: "quiet", role: "status" });
    this.pause = button("Pause", () => this.turn(), { key: "pause" });
    this.pause.setAttribute("aria-pressed", "false");
    this.bar = make("div", { class: "buttons" }, this.pause, this.count);
    this.older = button("Load older", () => this.goBack());
    const contents = [
      field("Category", "category_prefix", { placeholder: "browser.navigation", pattern: "[a-z_]+(\\.[a-z_]+)*\\.?" }),
      field("About", "subject", { placeholder: "an id", pattern: "[A-Za-z0-9_:.\\-]*" }),
      button("Filter", null, { type: "submit" }),
    ];
    this.filter = form("Filter events", contents, (values) => go("events", values));
    this.filter.className = "filter";
    this.held = null;
    this.newest = 0;
    this.loading = 0;
  }

  /** Shows what matches other filters. */
  async change(parameters) {
    this.wanted = { category_prefix: parameters.category_prefix ?? "", subject: parameters.subject ?? "" };
    for (const [name, value] of Object.entries(this.wanted)) {
      this.filter.elements.namedItem(name).value = value;
    }
    await this.reload();
  }

  async reload() {
    const turn = (this.loading += 1);
    try {
      const { events: found } = await read(withQuery("/api/events/recent", { ...this.wanted, limit: LOADED }));
      if (turn !== this.loading) {
        return;
      }
      const last = found[0]?.sequence ?? 0;
      const since = [...this.log.events].reverse().filter((event) => event.sequence > last && this.matches(event));
      const shown = [...found.reverse(), ...since];
      this.list.most = SHOWN;
      this.list.replace(shown);
      this.newest = shown.at(-1)?.sequence ?? 0;
      this.oldest = shown[0]?.sequence ?? 0;
      this.older.hidden = found.length < LOADED;
      this.notices.replaceChildren();
    } catch (error) {
      this.notices.replaceChildren(refusal(error));
    }
    this.say();
  }

  /** As the event log itself filters: whole tokens of the category; subject, agent or session. */
  matches(event) {
    const { category_prefix, subject } = this.wanted;
    const prefix = category_prefix.replace(/\.$/, "");
    const inCategory = !prefix || event.category === prefix || event.category.startsWith(`${prefix}.`);
    return inCategory && (!subject || [event.subject, event.agent_id, event.session_id].includes(subject));
  }

  take(events) {
    const fresh = events.filter((event) => event.sequence > this.newest && this.matches(event));
    if (this.held) {
      this.held.push(...fresh);
    } else {
      this.show(fresh);
    }
    this.say();
  }

  show(events) {
    this.list.add(events);
    this.newest = events.at(-1)?.sequence ?? this.newest;
  }

  turn() {
    const held = this.held;
    this.held = held ? null : [];
    this.pause.setAttribute("aria-pressed", String(!held));
    this.pause.textContent = held ? "Pause" : "Go on";
    if (held && held.length > HELD) {
      this.reload();
    } else if (held) {
      this.show(held);
    }
    this.say();
  }

  say() {
    if (this.held && this.held.length > HELD + 1) {
      // Only that there are too many is still of use.
      this.held.length = HELD + 1;
    }
    const waiting = this.held ? `, paused: ${this.held.length > HELD ? `over ${HELD}` : this.held.length} more wait` : "";
    this.count.textContent = `${this.list.element.childElementCount} shown${waiting}`;
  }

  tell(gap) {
    const text = `Events ${gap.from_sequence} to ${gap.to_sequence} may be missing (${gap.reason}).`;
    this.notices.append(make("p", { class: "warning", role: "alert" }, text));
  }

  /** Reads on before the oldest event shown, in stretches that grow until something matches or the log begins. */
  async goBack() {
    const before = this.oldest;
    let found = [];
    try {
      for (let stretch = OLDER; found.length === 0; stretch *= 4) {
        const after = Math.max(0, before - 1 - stretch);
        const path = withQuery("/api/events/export", { ...this.wanted, after_sequence: after });
        found = await readLines(path, (event) => event.sequence < before);
        if (after === 0) {
          this.older.hidden = true;
          break;
        }
      }
    } catch (error) {
      this.notices.replaceChildren(refusal(error));
      return;
    }
    this.list.addOlder(found);
    this.oldest = found[0]?.sequence ?? before;
    this.say();
  }
}
