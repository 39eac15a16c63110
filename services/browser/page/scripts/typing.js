// The focused element while text is typed: who gets the keys, what it holds afterwards.

// {handle} of what has focus; {frame} when that is inside a frame; {} when it is nothing but the body.
function focused({ editable }) {
  const element = focusedElement();
  if (!element) return { ...takeMinted() };
  if (tagOf(element) === "iframe") return { frame: frames.get(element) || "", ...takeMinted() };
  const problem = editable ? obstacle(element, { editable: true, visible: false }) : null;
  return { handle: handleOf(element), element: describeElement(element), problem, ...takeMinted() };
}

// Ends the pointer's guard and begins the keys': they may go to the element, to what is in it, and to the host that has
// it in its shadow.
function armKeys({ handle, milliseconds }) {
  const element = handles.get(handle);
  const { stopped, delivered } = disarm();
  if (!element || !isConnected(element)) return { gone: true };
  const active = focusedElement();
  if (stopped || !active || !(contains(element, active) || contains(active, element))) {
    return { stopped, delivered, elsewhere: active ? brief(active) : "nothing" };
  }
  arm(element, KEY_EVENTS, (target) => target instanceof Node && (contains(element, target) || contains(active, target)), milliseconds);
  const kind = editableKind(active);
  return { kind, empty: !(kind === "value" ? active.value : textOf(active)), multiline: tagOf(active) !== "input" };
}

// Gives an element focus, where it does not have it, and lets only it have the first key. A key may move focus on: the
// keys after it go where focus is then.
function armFirstKey({ handle, focus, milliseconds }) {
  const element = handles.get(handle);
  if (!element || !isConnected(element)) return { gone: true };
  if (focus && !contains(element, focusedElement())) element.focus({ preventScroll: false });
  const active = focusedElement();
  if (focus && !(active && contains(element, active))) return { elsewhere: active ? brief(active) : "nothing" };
  const ours = (target) => target instanceof Node && (contains(element, target) || contains(active || element, target));
  arm(element, ["keydown"], (target) => armed.delivered.length > 0 || ours(target), milliseconds);
  return { kind: editableKind(element) };
}

// What the keys did so far; `end` ends the guard.
function typed({ handle, end }) {
  const element = handles.get(handle);
  const guard = end ? disarm() : { stopped: armed && armed.stopped, delivered: armed ? armed.delivered : [] };
  if (end) handles.delete(handle);
  if (!element) return { ...guard, value: "", connected: false, ...pageState() };
  const inner = contains(element, focusedElement()) ? focusedElement() : element;
  return {
    ...guard, value: valueOf(inner, roleOf(inner)).slice(0, 20000), connected: isConnected(element),
    ...pageState(),
  };
}
