// Watches the events of one act as the first listener of the window, and stops each that would reach something else.
// The listeners are laid when the document begins, before any of the page's own; while nothing is armed they do nothing.

const POINTER_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];
const MOVE_EVENTS = ["pointerover", "pointermove", "mouseover", "mousemove"];
const KEY_EVENTS = ["keydown", "keypress", "beforeinput", "keyup"];

let armed = null;

function onGuarded(event) {
  if (!armed || !event.isTrusted || !armed.events.has(event.type)) return;
  if (performance.now() > armed.until) { disarm(); return; } // whoever armed it is gone
  if (armed.point && !isOurs(event)) return;
  const target = event.composedPath()[0];
  if (!armed.stopped && armed.accepts(target)) {
    if (armed.delivered.length < 100) armed.delivered.push(event.type);
    if (event.type === "pointerdown" || event.type === "mousedown") armed.pressed = true;
    return;
  }
  if (!armed.stopped) armed.stopped = { event: event.type, by: target instanceof Element ? brief(target) : "the document" };
  event.preventDefault();
  event.stopImmediatePropagation();
}

// Of the act: at the point aimed at. A browser tells the pointer's place anew by itself when the layout changes, also
// elsewhere and after the press; a click that follows from a key or from a label is not the pointer's.
function isOurs(event) {
  if (Math.abs(event.clientX - armed.point.x) > 1.5 || Math.abs(event.clientY - armed.point.y) > 1.5) return false;
  if (event.type === "click" && event.detail === 0) return false;
  return !MOVE_EVENTS.includes(event.type) || !armed.pressed;
}

function listen() {
  for (const type of [...POINTER_EVENTS, ...KEY_EVENTS]) addEventListener(type, onGuarded, { capture: true, passive: false });
}

function arm(element, events, accepts, milliseconds, point = null) {
  listen(); // again, in case document.open() took them away; the same listener is not added twice
  for (const type of MOVE_EVENTS) addEventListener(type, onGuarded, true);
  armed = {
    element, events: new Set(events), accepts, point, delivered: [], stopped: null, pressed: false,
    until: performance.now() + milliseconds,
  };
}

function armPointer(element, point, milliseconds) {
  const accepts = (target) => target instanceof Node && (reaches(target, element) || isLabelled(target, element));
  arm(element, [...POINTER_EVENTS, ...MOVE_EVENTS], accepts, milliseconds, point);
}

// A click on a label is passed on to its control.
const isLabelled = (target, label) => tagOf(label) === "label" && label.control === target;

function disarm() {
  const was = armed;
  armed = null;
  for (const type of MOVE_EVENTS) removeEventListener(type, onGuarded, true);
  return was ? { stopped: was.stopped, delivered: was.delivered } : { stopped: null, delivered: [] };
}

// The end of an act: what the guard saw, and where the page is now.
function finish({ handle }) {
  const element = handles.get(handle);
  handles.delete(handle);
  return { ...disarm(), connected: !!element && isConnected(element), ...pageState() };
}

let dragStart = null;
const onDragStart = (event) => { if (event.isTrusted) dragStart = event; };

// Watches for the begin of a drag. A page may still prevent it after this has heard of it: asked for afterwards.
function watchDrag() {
  dragStart = null;
  addEventListener("dragstart", onDragStart, true);
  return {};
}

function dragSeen() {
  removeEventListener("dragstart", onDragStart, true);
  const seen = { begun: !!dragStart, prevented: !!dragStart && dragStart.defaultPrevented };
  dragStart = null;
  return seen;
}
