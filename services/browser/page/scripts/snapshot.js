// The accessibility tree of this frame as an outline. A walk keeps its place, so that a page too large for one answer
// is read on from where it was cut; a frame's owner element stops the walk, for the service to put the frame there.

const SNAPSHOT_NAME = 100;
const WALKS_KEPT = 8;
const walks = new Map();
let walkCount = 0;

const TRANSPARENT = new Set((
  "generic none presentation paragraph rowgroup strong emphasis time mark code subscript superscript deletion insertion " +
  "definition term document caption separator blockquote").split(" "));
const DISSOLVE = { cell: "cell", gridcell: "cell", columnheader: "cell", rowheader: "cell", listitem: "item", row: "" };
const ALWAYS = new Set(["dialog", "alertdialog", "alert", "status", "progressbar", "meter"]);
const CONTROLS = new Set(["textbox", "searchbox", "combobox", "spinbutton", "slider", "checkbox", "radio", "switch", "listbox"]);

// "e" for what is focusable or a widget, "c" for what is only clickable in practice, "" for neither.
function actingKind(element, tag, role, style, pointer) {
  if (WIDGET_ROLES.has(role)) return "e";
  const tabindex = attr(element, "tabindex");
  if (tabindex !== null ? Number(tabindex) >= 0 : tag !== "iframe" && isFocusable(element, tag)) return "e";
  if (tag === "html" || tag === "body" || style.pointerEvents === "none") return "";
  if (tag === "label" && element.control && isVisible(element.control)) return "";
  return (style.cursor === "pointer" && !pointer) || has(element, "onclick") ? "c" : "";
}

function startWalk(root, options) {
  const outline = newOutline();
  const top = newContainer(null, "");
  const walk = {
    id: `w${++walkCount}`, outline, refs: 0, hidden: 0, interactive: options.interactive, frame: null, pending: "", depth: 0,
    stack: [{ nodes: [root], at: 0, container: top, muted: false, shown: true, pointer: false, block: false }],
  };
  walks.set(walk.id, walk);
  if (walks.size > WALKS_KEPT) walks.delete(walks.keys().next().value);
  return walk;
}

function describeLeaf(walk, element, tag, role, kind, name) {
  const ref = kind ? refOf(element, kind === "c", role, name) : "";
  if (ref) walk.refs++;
  const parts = [];
  if (name) parts.push(nameText(cut(name, SNAPSHOT_NAME), ref));
  if (tag === "select") parts.push(optionList(element));
  else if (VALUED.has(role) || CONTROLS.has(role) || editableKind(element, tag)) {
    const value = valueOf(element, role, tag);
    if (value) parts.push(`=${quote(cut(collapse(value), SNAPSHOT_NAME))}`);
  }
  const states = statesOf(element, role, tag);
  if (role === "heading") states.unshift(`level=${attr(element, "aria-level") || (/^h[1-6]$/.test(tag) ? tag[1] : "2")}`);
  if (states.length) parts.push(`[${states.join(" ")}]`);
  return { role: role === "generic" && kind === "c" ? "clickable" : role, ref, rest: parts.join(" ") };
}

// The first options of a list, and those that are selected, which a star marks.
const OPTIONS_SHOWN = 8;
function optionList(select) {
  const { options } = select;
  const shown = [];
  for (let i = 0; i < options.length && i < 2000; i++) {
    if (i < OPTIONS_SHOWN || options[i].selected) {
      shown.push(nameText(cut(collapse(options[i].label), 40), true) + (options[i].selected ? "*" : ""));
    }
  }
  return `(${shown.join("|")}${options.length > shown.length ? `|… ${options.length} options` : ""})`;
}

// The element itself; returns the entry to walk below it, or null.
function visitElement(walk, entry, element) {
  const tag = tagOf(element);
  if (SKIPPED.has(tag)) return null;
  const style = getComputedStyle(element);
  if (isExcluded(element, style)) return null;
  const shown = style.visibility === "visible";
  const role = roleOf(element, tag);
  const kind = shown ? actingKind(element, tag, role, style, entry.pointer) : "";
  const block = !style.display.startsWith("inline") && style.display !== "contents";
  const below = {
    nodes: null, at: 0, container: entry.container, muted: entry.muted, mutedText: entry.mutedText,
    shown, pointer: style.cursor === "pointer", block, close: null,
  };
  if (block || tag === "br") entry.container.separate = true;
  if (tag === "iframe" || tag === "frame") { walk.frame = shown && boxesWithArea(element).length ? element : null; return null; }
  if (shown) describe(walk, entry, below, element, tag, role, kind);
  if (below.leaf) return null;
  // The text of a label is the name of its control, which is shown.
  if (tag === "label" && element.control && isVisible(element.control)) below.mutedText = true;
  below.nodes = tag === "details" && !has(element, "open") ? flatChildren(element).filter(isSummary) : flatChildren(element);
  return below;
}

const isSummary = (node) => kindOf(node) === ELEMENT && (tagOf(node) === "summary" || tagOf(node) === "slot");

function describe(walk, entry, below, element, tag, role, kind) {
  const container = entry.container;
  if (!kind && (TRANSPARENT.has(role) || entry.muted || (role === "group" && !hasAuthorName(element) && tag !== "fieldset"))) return;
  const fromContent = NAMED_BY_CONTENT.has(role) || (kind && role === "generic");
  let name = "";
  if (role !== "row" && DISSOLVE[role] === undefined) name = kind && role === "generic" ? practicalName(element) : nameOf(element, role);
  const long = fromContent && name.length > 150;
  const atom = CONTROLS.has(role) || tag === "select" || tag === "textarea";
  if (atom || (fromContent && DISSOLVE[role] === undefined && !long) || role === "img") {
    if (walk.interactive && !kind) { below.muted = role !== "heading"; return; }
    if (role === "img" && !kind && (!name || walk.interactive)) { below.leaf = true; return; }
    addLeaf(container, describeLeaf(walk, element, tag, role, kind, name));
    settleLong(walk.outline, container);
    below.leaf = atom || role === "img";
    below.muted = true;
    return;
  }
  if (walk.interactive && !kind) return;
  const leaf = describeLeaf(walk, element, tag, role, kind, long ? "" : name);
  const header = role === "listitem" && !kind && !leaf.rest ? "-" : [leaf.role, leaf.ref, leaf.rest].filter(Boolean).join(" ");
  const dissolve = kind || leaf.rest ? "" : DISSOLVE[role];
  below.container = newContainer(container, header, { dissolve, keep: !!kind || ALWAYS.has(role) });
  below.close = below.container;
}

// What a person would call something that has no role: its label, or the text in it.
function practicalName(element) {
  const walk = { visited: new Set(), left: NODE_LIMIT, referenced: false, inside: false, hidden: false };
  return collapse(named(element, "generic", walk) || contentText(element, walk)).slice(0, NAME_LIMIT);
}

function step(walk) {
  const { stack } = walk;
  const entry = stack[stack.length - 1];
  if (entry.at >= entry.nodes.length) {
    stack.pop();
    if (entry.close) closeContainer(walk.outline, entry.close);
    if (entry.block && stack.length) stack[stack.length - 1].container.separate = true;
    if (!stack.length) settle(walk.outline, entry.container);
    return;
  }
  const node = entry.nodes[entry.at++];
  const kind = kindOf(node);
  if (kind === TEXT) {
    if (entry.shown && !entry.muted && !entry.mutedText && !walk.interactive) addText(walk.outline, entry.container, dataOf(node));
  } else if (kind === ELEMENT) {
    if (!isConnected(node)) return;
    const below = visitElement(walk, entry, node);
    if (below) stack.push(below);
  }
}

// The lines so far that fit; the others stay for the next call.
function takeLines(outline, limit) {
  let length = 0;
  let count = 0;
  while (count < outline.lines.length && (length + outline.lines[count].length + 1 <= limit || count === 0)) {
    length += outline.lines[count++].length + 1;
  }
  const taken = outline.lines.splice(0, count);
  outline.length -= length;
  return taken.map((line) => line.slice(0, limit));
}

// Owner elements of this document's frames, as the service tells them.
const frames = new WeakMap();
const ownFrame = (element, id) => { frames.set(element, id); };

// A frame's owner was met: its line is printed, and the walk stops until the service has put the frame there.
function stopAtFrame(walk) {
  const { container } = walk.stack[walk.stack.length - 1];
  const name = nameOf(walk.frame, "frame");
  settle(walk.outline, container);
  if (!walk.interactive) print(walk.outline, container.depth + 1, name ? `frame ${quote(cut(name, SNAPSHOT_NAME))}` : "frame");
  walk.pending = frames.get(walk.frame) || "";
  walk.depth = container.depth + 2;
  walk.frame = null;
}

// One part: {lines, frame, depth, walk, refs}. `walk` says where to go on ("" at the end); `frame` is the id of the frame
// whose content belongs here, `depth` deep.
function snapshot({ walk: id, scope, interactive, limit, milliseconds }) {
  const root = scope ? elementOf(scope) : pageRoot();
  const walk = id ? walks.get(id) : root && startWalk(root, { interactive });
  if (!walk) return { gone: true, ...takeMinted() };
  const end = performance.now() + milliseconds;
  walk.refs = 0;
  for (let steps = 0; walk.stack.length && !walk.pending && walk.outline.length < limit && hasRefs(); steps++) {
    if ((steps & 127) === 127 && performance.now() > end) break;
    step(walk);
    if (walk.frame) stopAtFrame(walk);
  }
  const lines = takeLines(walk.outline, limit);
  let frame = "";
  if (walk.pending && !walk.outline.lines.length) { frame = walk.pending; walk.pending = ""; }
  const more = walk.stack.length > 0 || walk.outline.lines.length > 0 || walk.pending;
  if (!more) walks.delete(walk.id);
  return { lines, frame, depth: frame ? walk.depth : 0, walk: more ? walk.id : "", refs: walk.refs, ...takeMinted() };
}
