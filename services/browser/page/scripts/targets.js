// Which elements a target names. Elements that can be seen come before those that cannot: only when none can be seen
// are the others the answer, so that acting on them can say why it cannot.

const SEARCH_LIMIT = 100000;
const TEXT_SKIPPED = new Set(["script", "style", "noscript", "template", "head", "title"]);

class BadTarget extends Error {}

function findTargets(spec, { scope = null, milliseconds = 5000 } = {}) {
  const end = performance.now() + milliseconds;
  const root = scope || document;
  if (spec.ref) { const element = elementOf(spec.ref); return element ? [element] : []; }
  if (spec.point) { const element = deepestAt(spec.point.x, spec.point.y); return element ? [element] : []; }
  if (spec.selector) return seenFirst(bySelector(spec.selector, root));
  if (spec.role) return seenFirst(byRole(spec.role, spec.name || "", spec.exact, root, end));
  return seenFirst(byText(spec.text, spec.exact, root));
}

function seenFirst(elements) {
  if (elements.length < 2) return elements;
  const seen = elements.filter(isVisible);
  return seen.length ? seen : elements;
}

function bySelector(selector, root) {
  const found = [];
  try {
    queryAll(newFragment(), selector); // refuses a wrong one before any work
    for (const inside of allRoots(root)) found.push(...queryAll(inside, selector));
  } catch (error) {
    throw new BadTarget(String(error.message).replace(/^.*?: /, ""));
  }
  return found;
}

function* rendered(root) {
  const stack = [kindOf(root) === ELEMENT ? [root] : flatChildren(root).filter((node) => kindOf(node) === ELEMENT)];
  stack[0].reverse();
  let left = SEARCH_LIMIT * 5;
  while (stack.length && left-- > 0) {
    const nodes = stack[stack.length - 1];
    const element = nodes.pop();
    if (!element) { stack.pop(); continue; }
    if (SKIPPED.has(tagOf(element))) continue;
    yield element;
    const below = flatChildren(element).filter((node) => kindOf(node) === ELEMENT);
    if (below.length) stack.push(below.reverse());
  }
}

// Whole matches win over parts of names, unless only whole ones are asked for.
function best(candidates, wanted, exact) {
  const whole = candidates.filter(([, text]) => text === wanted);
  if (whole.length || exact) return whole.map(([element]) => element);
  const lower = wanted.toLowerCase();
  const same = candidates.filter(([, text]) => text.toLowerCase() === lower);
  return (same.length ? same : candidates.filter(([, text]) => text.toLowerCase().includes(lower))).map(([element]) => element);
}

function byRole(role, name, exact, root, end) {
  const wanted = collapse(name);
  const lower = wanted.toLowerCase();
  const found = [];
  let looked = 0;
  for (const element of rendered(root)) {
    if ((++looked & 511) === 0 && performance.now() > end) break;
    if (roleOf(element) !== role) continue;
    // Most names are text inside: a needle that is neither there nor in an attribute saves computing the name.
    if (lower && !mayBeNamed(element, lower)) continue;
    if (!lower) { found.push([element, ""]); continue; }
    const text = nameOf(element, role);
    if (text.toLowerCase().includes(lower)) found.push([element, text]);
  }
  const reachable = found.filter(([element]) => !closestFlat(element, (at) => attr(at, "aria-hidden") === "true"));
  return wanted ? best(reachable, wanted, exact) : reachable.map(([element]) => element);
}

function mayBeNamed(element, lower) {
  if (has(element, "aria-labelledby") || has(element, "aria-label") || has(element, "title") || shadowOf(element)) return true;
  const tag = tagOf(element);
  if (tag !== "button" && tag !== "a" && tag !== "option" && !/^h[1-6]$/.test(tag)) return true;
  const first = firstOf(element);
  if (!first || kindOf(first) !== TEXT || nextOf(first) !== null) return true;
  const text = collapse(dataOf(first)).toLowerCase();
  return text.includes(lower) || lower.includes(text); // the latter: generated content may add the rest
}

// The innermost elements that hold the text.
function byText(text, exact, root) {
  const wanted = collapse(text);
  const lower = wanted.toLowerCase();
  const holds = (element) => {
    const value = buttonValue(element);
    return value ? value.toLowerCase().includes(lower) : collapse(textOf(element)).toLowerCase().includes(lower);
  };
  const found = [];
  const visit = (element) => {
    if (found.length >= SEARCH_LIMIT || TEXT_SKIPPED.has(tagOf(element))) return false;
    const below = flatChildren(element).filter((node) => kindOf(node) === ELEMENT);
    const shadow = shadowOf(element);
    // A host's own text is not what it shows, so that the shadow is looked through whatever the host holds.
    if (!shadow && !holds(element) && !hasShadowBelow(element)) return false;
    let inside = false;
    for (const child of below) inside = visit(child) || inside;
    if (inside) return true;
    if (shadow || !holds(element)) return false;
    found.push([element, buttonValue(element) || collapse(textOf(element))]);
    return true;
  };
  const top = kindOf(root) === ELEMENT ? root : pageBody() || pageRoot();
  const shadowed = new Set();
  for (const inner of allRoots(document)) {
    if (inner === document) continue;
    for (let at = hostOf(inner); at; at = flatParent(at)) shadowed.add(at);
  }
  const hasShadowBelow = (element) => shadowed.has(element);
  if (top) visit(top);
  return best(found, wanted, exact);
}

const buttonValue = (element) =>
  tagOf(element) === "input" && /^(button|submit|reset)$/.test(element.type) ? collapse(element.value) : "";

// What is at a point of this frame's viewport, through open shadow roots.
function deepestAt(x, y) {
  let at = elementAt(x, y);
  while (at) {
    const shadow = shadowOf(at);
    const inner = shadow && shadow.elementFromPoint(x, y);
    if (!inner || inner === at) return at;
    at = inner;
  }
  return at;
}

const DESCRIBED = ["id", "href", "type", "placeholder", "name", "title", "alt", "for", "action", "data-testid"];

function describeElement(element) {
  const tag = tagOf(element);
  const role = roleOf(element, tag);
  const kind = actingKind(element, tag, role, getComputedStyle(element), false) || "e";
  const name = kind === "c" || role === "generic" ? practicalName(element) : nameOf(element, role);
  const box = boxOf(element);
  const attributes = {};
  for (const key of DESCRIBED) {
    const value = attr(element, key);
    if (value) attributes[key] = cut(value, 500);
  }
  return {
    ref: refOf(element, kind === "c", role, name), role, name: cut(name, 200), tag,
    text: cut(collapse(textOf(element).slice(0, 2000)), 200),
    value: cut(valueOf(element, role, tag), 2000), visible: isVisible(element), enabled: !isDisabled(element),
    box: { x: box.x, y: box.y, width: box.width, height: box.height }, attributes, states: statesOf(element, role, tag),
  };
}

// In one word for a refusal: `button "Save" [e4]`.
function brief(element) {
  const tag = tagOf(element);
  const role = roleOf(element, tag);
  const name = role === "generic" ? practicalName(element) : nameOf(element, role);
  const id = attr(element, "id");
  const what = role === "generic" || role === "none" ? `<${tag}${id ? ` id=${cut(id, 40)}` : ""}>` : role;
  return name ? `${what} ${quote(cut(name, 60))}` : what;
}

function query({ spec, scope, limit, milliseconds }) {
  const found = findTargets(spec, { scope: scope ? elementOf(scope) : null, milliseconds });
  const start = spec.nth ?? 0;
  const wanted = spec.nth === null || spec.nth === undefined ? found.slice(0, limit) : found.slice(start, start + 1);
  return { total: found.length, elements: wanted.map(describeElement), ...takeMinted() };
}

// What a ref was, and up to three present elements like it. Bounded in time: the answer must be quick.
function replacements({ role, name, milliseconds }) {
  const found = seenFirst(byRole(role, name, true, document, performance.now() + milliseconds)).slice(0, 3);
  return { elements: found.map((element) => ({ ref: refOf(element, false, role, name), role, name })), ...takeMinted() };
}
