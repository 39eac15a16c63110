// Where an element is and which of its points an event would reach. Coordinates are CSS pixels of this frame's viewport.

const quadOf = (element) => { const box = boxOf(element); return [box.x, box.y, box.width, box.height]; };
const sameQuad = (one, other) => one.every((value, i) => Math.abs(value - other[i]) < 0.01);

// The part of a box inside the viewport and inside every ancestor that clips, or null.
function clippedBox(element, box) {
  const size = { width: innerWidth, height: innerHeight };
  let [left, top] = [Math.max(0, box.left), Math.max(0, box.top)];
  let [right, bottom] = [Math.min(size.width, box.right), Math.min(size.height, box.bottom)];
  for (let at = flatParent(element); at && right > left && bottom > top; at = flatParent(at)) {
    if (at === pageBody() || at === pageRoot()) continue;
    const { overflowX, overflowY } = getComputedStyle(at);
    if (overflowX === "visible" && overflowY === "visible") continue;
    const clip = boxOf(at);
    if (overflowX !== "visible") { left = Math.max(left, clip.left); right = Math.min(right, clip.right); }
    if (overflowY !== "visible") { top = Math.max(top, clip.top); bottom = Math.min(bottom, clip.bottom); }
  }
  return right - left >= 1 && bottom - top >= 1 ? { left, top, right, bottom } : null;
}

// Points worth trying, best first: the middle of each visible part, then a grid over it. With `position` only that point.
function* candidatePoints(element, position) {
  if (position) {
    const box = boxOf(element);
    yield [box.x + position.x, box.y + position.y];
    return;
  }
  const parts = boxesWithArea(element).slice(0, 20).map((box) => clippedBox(element, box)).filter(Boolean);
  for (const part of parts) yield [(part.left + part.right) / 2, (part.top + part.bottom) / 2];
  for (const part of parts) {
    for (const y of [0.5, 0.2, 0.8, 0.05, 0.95]) {
      for (const x of [0.5, 0.2, 0.8, 0.05, 0.95]) {
        yield [part.left + (part.right - part.left) * x, part.top + (part.bottom - part.top) * y];
      }
    }
  }
}

const CARRIERS = new Set(["button", "a", "label", "summary"]);
const CARRIER_ROLES = /^(button|link|tab|menuitem|option|checkbox|radio|switch|treeitem)$/;

// Whether an event at `hit` counts as reaching `element`: it is in it, or is a label of it, or is the control that
// `element` is a part of (an icon in a button that takes no pointer events).
function reaches(hit, element) {
  if (!hit) return false;
  if (contains(element, hit)) return true;
  const label = closestFlat(hit, (at) => tagOf(at) === "label");
  if (label && label.control === element) return true;
  const carrier = closestFlat(element, (at) => CARRIERS.has(tagOf(at)) || CARRIER_ROLES.test(attr(at, "role") || ""));
  return !!carrier && carrier !== element && hit === carrier;
}

// {x, y} of a point of the element that events reach, or {by} what is in the way, or {} when no part is in view.
function reachablePoint(element, position) {
  let first = null;
  for (const [x, y] of candidatePoints(element, position)) {
    const hit = deepestAt(x, y);
    if (reaches(hit, element)) return { x, y };
    first = first || hit;
  }
  return first ? { by: first } : {};
}

// Scrolled by script, all at once; smooth scrolling of the page does not apply.
const ALIGNMENTS = ["center", "start", "end", "nearest"];
function bringIntoView(element, attempt) {
  const block = ALIGNMENTS[attempt % ALIGNMENTS.length];
  revealElement(element, { block, inline: "center", behavior: "instant" });
}

// Something above or at the element moves by itself: only then a further frame is worth waiting for.
function isAnimating(element) {
  for (const animation of pageAnimations()) {
    if (animation.playState !== "running" || !animation.effect) continue;
    const target = animation.effect.target;
    if (target && contains(target, element)) return true;
  }
  return false;
}

// Where a point of a frame inside `element`, its owner, is in this frame; with what is in the way, if anything is.
function throughOwner(element, x, y) {
  const box = boxOf(element);
  const style = getComputedStyle(element);
  const scaleX = box.width / (element.offsetWidth || box.width || 1);
  const scaleY = box.height / (element.offsetHeight || box.height || 1);
  const left = box.x + (element.clientLeft + parseFloat(style.paddingLeft)) * scaleX;
  const top = box.y + (element.clientTop + parseFloat(style.paddingTop)) * scaleY;
  const at = { x: left + x * scaleX, y: top + y * scaleY };
  const hit = deepestAt(at.x, at.y);
  return hit === element ? at : { ...at, by: hit ? brief(hit) : "nothing: it is outside the viewport" };
}
