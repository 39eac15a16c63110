import { make } from "../dom.js";
import { EventList } from "../log.js";

const SHOWN = 500;

export function events(section, { log, gaps }) {
  const list = new EventList("Events, newest first", SHOWN);
  list.add([...log.events].reverse());
  section.replaceChildren(make("h2", {}, "Event stream"), list.element);
  const unfollow = log.follow((fresh) => list.add(fresh));
  const ungap = gaps.follow(([gap]) => {
    list.note(`Events ${gap.from_sequence} to ${gap.to_sequence} may be missing (${gap.reason}).`);
  });
  return () => {
    unfollow();
    ungap();
  };
}
