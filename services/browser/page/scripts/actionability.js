// Waits, by looking at every frame, until an element can be acted on: attached, visible, enabled, stable, reached by events.

const handles = new Map();
let handleCount = 0;

function handleOf(element) {
  const handle = ++handleCount;
  handles.set(handle, element);
  if (handles.size > 64) handles.delete(handles.keys().next().value);
  return handle;
}

const elementOfHandle = (handle) => handles.get(handle);

// The next animation frame; a frame that does not come (hidden page) is not waited for longer than 50 ms.
const nextFrame = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, 50);
  requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
});

// Why an element cannot take input now: {reason, message}, or null.
function obstacle(element, need) {
  if (!isConnected(element)) return { reason: "detached", message: "it is no longer in the document" };
  if (need.visible !== false && tagOf(element) === "option" && isInClosedList(element)) {
    return { reason: "option_of_select", message: "it is an option of a closed list, which select_option chooses", final: true };
  }
  if (need.visible !== false && !isVisible(element)) return { reason: "not_visible", message: whyInvisible(element) };
  if (need.enabled !== false && isDisabled(element)) return { reason: "disabled", message: "it is disabled" };
  if (need.editable) {
    const tag = tagOf(element);
    const control = tag === "input" || tag === "select";
    if (control && !editableKind(element, tag)) return { reason: "not_editable", message: "it does not take text" };
    if (element.readOnly || attr(element, "aria-readonly") === "true") return { reason: "read_only", message: "it is read-only" };
  }
  return null;
}

function isInClosedList(option) {
  const select = closestFlat(option, (at) => tagOf(at) === "select");
  return !!select && !select.multiple && select.size <= 1;
}

function whyInvisible(element) {
  const hidden = closestFlat(element, (at) => getComputedStyle(at).display === "none");
  if (hidden) return hidden === element ? "its display is none" : `${brief(hidden)} around it has display: none`;
  if (getComputedStyle(element).visibility !== "visible") return "its visibility is hidden";
  return isShown(element) ? "it has no size" : "it is in a part of the page that is not rendered";
}

// Finds the one element of a target and waits until it is visible and enabled. Changes nothing.
async function locate({ spec, need, milliseconds, wait, loan }) {
  const end = performance.now() + milliseconds;
  for (;;) {
    const found = findTargets(spec, { milliseconds: Math.min(5000, milliseconds) });
    if (spec.ref && !found.length) return { gone: true, ...takeMinted() };
    const nth = spec.nth ?? null;
    if (nth === null && found.length > 1) return { total: found.length, elements: found.slice(0, 5).map(describeElement), ...takeMinted() };
    const element = found[nth ?? 0];
    const problem = element ? obstacle(element, need) : null;
    if (element && !problem) {
      const described = describeElement(element);
      return { total: found.length, handle: handleOf(element), quad: quadOf(element), element: described, ...takeMinted() };
    }
    if (!wait || (problem && problem.final) || performance.now() >= end) {
      return { total: found.length, problem, element: element ? describeElement(element) : null, ...takeMinted() };
    }
    await nextFrame();
    lend(loan);
  }
}

// Frames in which an element that is being animated must stand still; one that is not: the look before this one.
const STILL_ANIMATING = 3;

// Brings the element into view, waits until it is stable and reached, arms the guard: {x, y}, or why not.
async function aim({ handle, quad, need, position, guard, milliseconds }) {
  const element = handles.get(handle);
  const end = performance.now() + milliseconds;
  let before = quad;
  let still = 0;
  let scrolls = 0;
  for (;;) {
    if (!element || !isConnected(element)) return { gone: true };
    let problem = obstacle(element, need);
    if (!problem) {
      const now = quadOf(element);
      still = sameQuad(before, now) ? still + 1 : 0;
      before = now;
      problem = still < (isAnimating(element) ? STILL_ANIMATING : 1) ? { reason: "moving", message: "it keeps moving" } : null;
    }
    if (!problem) {
      const point = reachablePoint(element, position);
      if (point.x !== undefined) {
        if (guard) armPointer(element, point, guard);
        return { x: point.x, y: point.y, quad: before };
      }
      problem = unreached(element, point);
      if (scrolls < ALIGNMENTS.length) {
        bringIntoView(element, scrolls++);
        before = quadOf(element);
        still = 0;
        continue;
      }
    }
    if (performance.now() >= end) return { problem };
    await nextFrame();
  }
}

function unreached(element, point) {
  if (point.by) return { reason: "obscured", message: `${brief(point.by)} is in the way`, by: brief(point.by) };
  return { reason: "out_of_viewport", message: "no part of it can be brought into the viewport" };
}
