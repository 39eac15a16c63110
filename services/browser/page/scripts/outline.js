// Writes a tree as compact indented lines. Leaves of one container share lines, those of one block of the page a line of
// their own; within a line a leaf without a role has the role of the one before it; a container with little in it takes
// one line, or dissolves into its parent. Text and names are quoted, but for plain names behind a ref.

const LINE_WIDTH = 120;
const quote = (text) => JSON.stringify(text.toWellFormed()); // which would escape lone surrogates
const PLAIN = /^[\p{L}\p{N}](?:[\p{L}\p{N} .+&'’/@%_-]*[\p{L}\p{N}.%])?$/u;
const REF_LIKE = /(?:^| )[ec]\d/;
const nameText = (name, ref) => (ref && PLAIN.test(name) && !REF_LIKE.test(name) ? name : quote(name));

function newOutline() {
  return { lines: [], length: 0, base: 0 };
}

function newContainer(parent, header, options = {}) {
  return {
    parent, header, printed: !parent, run: [], last: null, dissolve: options.dissolve || "", keep: options.keep || false,
    depth: parent ? parent.depth + 1 : -1, separate: false,
  };
}

function print(outline, depth, text) {
  const line = " ".repeat(Math.max(0, depth)) + text;
  outline.lines.push(line);
  outline.length += line.length + 1;
}

// Leaves: {role, ref, rest} for elements, {text} for text, {group} for a dissolved cell.
function addLeaf(container, leaf) {
  leaf.block = container.separate;
  container.run.push(leaf);
  container.separate = false;
}

function addText(outline, container, text) {
  const words = collapse(text);
  const last = container.run[container.run.length - 1];
  if (!words) { if (last && text) last.space = true; return; }
  if (last && last.text !== undefined && !container.separate && last.text.length < 300) {
    last.text += (last.space || /^\s/.test(text) ? " " : "") + words;
    last.space = /\s$/.test(text);
  } else {
    addLeaf(container, { text: words, space: /\s$/.test(text) });
  }
}

function leafText(leaf, previous) {
  if (leaf.group !== undefined) return leaf.group;
  if (leaf.text !== undefined) return quote(cut(leaf.text, 300));
  const role = previous && previous.ref && leaf.ref && previous.role === leaf.role ? "" : leaf.role;
  return [role, leaf.ref, leaf.rest].filter(Boolean).join(" ");
}

// The run in pieces that belong together: a block with several leaves is one, blocks of one control are put together.
function segments(run) {
  const found = [];
  for (const leaf of run) {
    if (leaf.block || !found.length) found.push([]);
    found[found.length - 1].push(leaf);
  }
  const joined = [];
  let singles = null;
  for (const segment of found) {
    if (segment.length > 1 || !segment[0].ref) { joined.push(segment); singles = null; }
    else if (singles) singles.push(segment[0]);
    else joined.push(singles = [...segment]);
  }
  return joined;
}

// The run as lines of at most LINE_WIDTH characters where leaves allow it.
function runLines(run) {
  const lines = [];
  for (const segment of segments(run)) {
    let line = "";
    let previous = null;
    for (const leaf of segment) {
      const text = leafText(leaf, previous);
      const separator = leaf.group !== undefined || (previous && previous.group !== undefined) ? " | " : ", ";
      if (line && line.length + text.length > LINE_WIDTH) {
        lines.push(line);
        line = leafText(leaf, null);
      } else line = line ? line + separator + text : text;
      previous = leaf;
    }
    if (line) lines.push(line);
  }
  return lines;
}

// Everything that stands above and before what will be printed in `container`.
function settle(outline, container) {
  if (container.parent) settle(outline, container.parent);
  if (!container.printed) {
    print(outline, container.depth, container.header);
    container.printed = true;
  }
  if (container.run.length) {
    for (const line of runLines(container.run)) print(outline, container.depth + 1, line);
    container.run = [];
  }
}

// So that one container with endless leaves does not grow without bound.
function settleLong(outline, container) {
  if (container.run.length >= 200 && !container.dissolve) settle(outline, container);
}

function closeContainer(outline, container) {
  if (container.printed) return settle(outline, container);
  const { parent, run, dissolve, header } = container;
  if (!run.length) {
    if (container.keep) { settle(outline, parent); print(outline, container.depth, header); }
    return;
  }
  if (dissolve === "cell") { parent.separate = false; addLeaf(parent, { group: runLines(run).join(", ") }); return; }
  if (dissolve === "item" && run.length === 1) { parent.separate = true; addLeaf(parent, run[0]); parent.separate = true; return; }
  const lines = runLines(run);
  settle(outline, parent);
  if (lines.length === 1 && header.length + lines[0].length < LINE_WIDTH * 1.5) {
    print(outline, container.depth, header === "-" ? `- ${lines[0]}` : `${header}: ${lines[0]}`);
  } else {
    print(outline, container.depth, header);
    for (const line of lines) print(outline, container.depth + 1, line);
  }
}
