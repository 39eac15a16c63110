// Whether an element can be seen, as far as its own box and style say.

const SKIPPED = new Set(["script", "style", "template", "noscript", "head", "meta", "link", "title", "base", "param",
  "source", "track", "col", "colgroup", "datalist", "object-params"]);

// Rendered with a box: no display:none or content-visibility:hidden above it, its own visibility visible.
const isShown = (element) => checkShown(element, { visibilityProperty: true, contentVisibilityAuto: false });

// The boxes of an element that have an area; those of its children where its own have none (a link around a float,
// display:contents).
function boxesWithArea(element, depth = 0) {
  const boxes = [];
  for (const box of boxesOf(element)) if (box.width > 0 && box.height > 0) boxes.push(box);
  if (boxes.length || depth > 3) return boxes;
  for (const child of flatChildren(element)) {
    if (kindOf(child) === ELEMENT && isShown(child)) boxes.push(...boxesWithArea(child, depth + 1));
    if (boxes.length > 50) break;
  }
  return boxes;
}

function isVisible(element) {
  if (!isShown(element) && getComputedStyle(element).display !== "contents") return false;
  return boxesWithArea(element).length > 0;
}

const isDisabled = (element) =>
  matches(element, ":disabled") || !!closestFlat(element, (at) => attr(at, "aria-disabled") === "true" || has(at, "inert"));

function closestFlat(element, test) {
  for (let at = element; at; at = flatParent(at)) if (kindOf(at) === ELEMENT && test(at)) return at;
  return null;
}

// Left out of the accessibility tree with everything below it.
const isExcluded = (element, style) =>
  style.display === "none" || style.contentVisibility === "hidden" ||
  attr(element, "aria-hidden") === "true" || has(element, "inert");
