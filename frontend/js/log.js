// The events that this page has seen, newest first, bounded; and who wants to hear of new ones.

import { make, when } from "./dom.js";
import { placeOf } from "./route.js";

const KEPT = 500;

export class Log {
  constructor() {
    this.events = [];
    this.listeners = new Set();
  }

  /** Adds events in the order of the log. */
  add(events) {
    this.events.unshift(...[...events].reverse());
    this.events.length = Math.min(this.events.length, KEPT);
    for (const listener of this.listeners) {
      listener(events);
    }
  }

  /** Calls `listener` with each lot of new events, until the returned function is called. */
  follow(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** A list of events, newest at its top, of which it keeps at most `most`. */
export class EventList {
  constructor(label, most) {
    this.most = most;
    this.element = make("ol", { class: "events", "aria-label": label });
  }

  /** Adds events in the order of the log at the top. */
  add(events) {
    this.element.prepend(...[...events].reverse().map(entry));
    while (this.element.childElementCount > this.most) {
      this.element.lastElementChild.remove();
    }
  }

  /** Adds events in the order of the log at the bottom, and makes room for them. */
  addOlder(events) {
    this.most += events.length;
    this.element.append(...[...events].reverse().map(entry));
  }

  /** Shows these alone. */
  replace(events) {
    this.element.replaceChildren();
    this.add(events);
  }
}

function entry(event) {
  const failed = /failed|rejected|denied|crashed|blocked/.test(event.category);
  const ids = [event.subject, event.agent_id, event.session_id].filter((id, place, all) => id && all.indexOf(id) === place);
  const data = event.data && Object.keys(event.data).length > 0 ? JSON.stringify(event.data) : "";
  return make(
    "li",
    { "data-sequence": event.sequence },
    make("span", { class: failed ? "category bad" : "category" }, event.category),
    make("time", { class: "quiet", datetime: new Date(event.emitted_at_ms).toISOString() }, when(event.emitted_at_ms)),
    make("span", { class: "about" }, `#${event.sequence} `, ...ids.flatMap((id) => [named(id), " "])),
    make("span", { class: "data" }, data),
  );
}

/** An id, as a link to where it is looked at when a view shows it. */
export function named(id) {
  const place = placeOf(id);
  return place ? make("a", { href: place }, id) : id;
}
