// Walks what a page shows and hands it to a writer (text.js, markdown.js, html.js). A walk keeps its place, so that a
// long page is read in parts; a frame's owner stops it, for the service to put the frame's content there.

const CONTENT_SKIPPED = new Set([...SKIPPED, "svg", "canvas", "audio", "video", "object", "embed", "select", "textarea"]);

function newPage(format) {
  return { text: "", breaks: 0, space: false, prefix: "", cell: 0, pre: 0, hidden: 0, base: 0, format };
}

function startReading(root, format) {
  const walk = {
    id: `w${++walkCount}`, page: newPage(format), writer: WRITERS[format], frame: null, pending: "",
    stack: [{ nodes: [root], at: 0, shown: true, opacity: 1, ground: WHITE, close: null }],
  };
  walks.set(walk.id, walk);
  if (walks.size > WALKS_KEPT) walks.delete(walks.keys().next().value);
  return walk;
}

const hasText = (element) => /\S/.test(textOf(element).slice(0, 2000));

function enter(walk, entry, element) {
  const tag = tagOf(element);
  const { page, writer } = walk;
  if (tag === "iframe" || tag === "frame") { walk.frame = isVisible(element) ? element : null; return null; }
  if (CONTENT_SKIPPED.has(tag) && !(writer.keeps && writer.keeps.has(tag))) return null;
  const style = getComputedStyle(element);
  const opacity = entry.opacity * parseFloat(style.opacity);
  if (hidesAll(element, style, opacity)) { if (hasText(element)) page.hidden++; return null; }
  const ground = backdrop(style, entry.ground);
  const close = writer.open(page, element, tag, style);
  if (close === false) return null;
  const nodes = tag === "details" && !has(element, "open") ? flatChildren(element).filter(isSummary) : flatChildren(element);
  return { nodes, at: 0, shown: !hidesText(style, ground), opacity, ground, close };
}

function readStep(walk) {
  const { stack, page, writer } = walk;
  const entry = stack[stack.length - 1];
  if (entry.at >= entry.nodes.length) {
    stack.pop();
    if (entry.close) entry.close();
    return;
  }
  const node = entry.nodes[entry.at++];
  const kind = kindOf(node);
  if (kind === TEXT) {
    const text = dataOf(node);
    if (entry.shown) writer.text(page, text);
    else if (/\S/.test(text)) page.hidden++;
  } else if (kind === ELEMENT && isConnected(node)) {
    const below = enter(walk, entry, node);
    if (below) stack.push(below);
  }
}

// Cut where a line ends when one ends near the limit, never inside a surrogate pair.
function takeText(page, limit) {
  if (page.text.length <= limit) { const all = page.text; page.text = ""; page.base += all.length; return all; }
  const line = page.text.lastIndexOf("\n", limit - 1) + 1;
  let at = line > limit * 0.7 ? line : limit;
  if (at === limit && /[\uD800-\uDBFF]/.test(page.text[at - 1]) && at > 1) at--;
  const taken = page.text.slice(0, at);
  page.text = page.text.slice(at);
  page.base += at;
  return taken;
}

function read({ walk: id, scope, format, limit, milliseconds }) {
  const root = scope ? elementOf(scope) : pageBody() || pageRoot();
  const walk = id ? walks.get(id) : root && startReading(root, format);
  if (!walk) return { gone: true, ...takeMinted() };
  const end = performance.now() + milliseconds;
  walk.page.hidden = 0;
  for (let steps = 0; walk.stack.length && !walk.pending && walk.page.text.length <= limit; steps++) {
    if ((steps & 127) === 127 && performance.now() > end) break;
    readStep(walk);
    if (walk.frame) { walk.pending = frames.get(walk.frame) || ""; walk.frame = null; }
  }
  const text = takeText(walk.page, limit);
  let frame = "";
  if (walk.pending && !walk.page.text.length) { frame = walk.pending; walk.pending = ""; }
  const more = walk.stack.length > 0 || walk.page.text.length > 0 || walk.pending;
  if (!more) walks.delete(walk.id);
  return { text, frame, walk: more ? walk.id : "", hidden: walk.page.hidden, ...takeMinted() };
}
