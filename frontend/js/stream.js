// The one event WebSocket: authenticates with its first message, comes back with growing pauses, goes on after the
// last sequence it saw, and drops repeats.

import { authorization } from "./api.js";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
// A heartbeat comes every 15 s: without a sign of life for this long the connection is dead.
const SILENCE_MS = 40_000;
const REMEMBERED = 2_000;

export class EventStream {
  /** `handlers`: events(list), state("live" | "lost" | "refused", reason), gap(gap), beat(). */
  constructor(handlers) {
    this.handlers = handlers;
    this.lastSequence = null;
    this.seen = new Set();
    this.pause = FIRST_PAUSE_MS;
    this.socket = null;
    this.timer = 0;
    this.ended = false;
    this.reason = "";
  }

  /** Begins after a sequence; null begins now. */
  start(afterSequence) {
    this.lastSequence = afterSequence;
    this.connect();
  }

  /** Ends it for good. */
  stop() {
    this.ended = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const query = this.lastSequence === null ? "" : `?after_sequence=${this.lastSequence}`;
    const socket = new WebSocket(`${scheme}://${location.host}/api/events/stream${query}`);
    this.socket = socket;
    this.reason = "";
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ authorization: authorization() }));
      this.expectLife();
      this.handlers.state("live", "");
    });
    socket.addEventListener("message", (message) => this.receive(JSON.parse(message.data)));
    socket.addEventListener("close", () => this.closed());
  }

  receive(message) {
    this.expectLife();
    if (message.closing) {
      this.reason = message.closing.reason;
      if (message.closing.code === "unauthenticated" || message.closing.code === "not_authorized") {
        this.ended = true;
        this.handlers.state("refused", this.reason);
      }
      return;
    }
    this.pause = FIRST_PAUSE_MS;
    if (message.heartbeat) {
      // All up to here has been sent; what comes after a reconnection begins here.
      this.lastSequence = Math.max(this.lastSequence ?? 0, message.heartbeat.last_sequence);
      this.handlers.beat();
    }
    if (message.gap) {
      this.handlers.gap(message.gap);
    }
    if (message.events) {
      this.take(message.events);
    }
  }

  take(events) {
    const fresh = events.filter((event) => !this.seen.has(event.event_id));
    for (const event of events) {
      this.seen.add(event.event_id);
      this.lastSequence = Math.max(this.lastSequence ?? 0, event.sequence);
    }
    for (const oldest of this.seen) {
      if (this.seen.size <= REMEMBERED) {
        break;
      }
      this.seen.delete(oldest);
    }
    if (fresh.length > 0) {
      this.handlers.events(fresh);
    }
  }

  expectLife() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.socket?.close(), SILENCE_MS);
  }

  closed() {
    clearTimeout(this.timer);
    if (this.ended) {
      return;
    }
    this.handlers.state("lost", this.reason);
    // Some chance, so that many pages do not come back in the same moment.
    this.timer = setTimeout(() => this.connect(), this.pause * (0.5 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }
}
