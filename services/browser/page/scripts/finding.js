// Text as people see it, searched across the elements it is spread over; and elements that must be gone.

const FIND_NODES = 300000;
const CONTEXT = 60;
const INLINE = /^(inline|contents|ruby)/;

// The visible text of the document as one string, with where each element's part of it begins. Blocks end with a line feed.
function visibleText(end) {
  const starts = [];
  const pieces = [];
  let length = 0;
  let looked = 0;
  const walk = (node, shown, depth) => {
    if (++looked > FIND_NODES || depth > 400 || ((looked & 1023) === 0 && performance.now() > end)) return;
    if (kindOf(node) === TEXT) {
      if (!shown) return;
      const text = dataOf(node).replace(/\s+/g, " ");
      if (!text || (text === " " && (!pieces.length || /\s$/.test(pieces[pieces.length - 1])))) return;
      starts.push([length, flatParent(node)]);
      pieces.push(text);
      length += text.length;
      return;
    }
    if (kindOf(node) !== ELEMENT || SKIPPED.has(tagOf(node))) return;
    const style = getComputedStyle(node);
    if (hidesAll(node, style, parseFloat(style.opacity))) return;
    const inside = !hidesText(style, null);
    for (const child of flatChildren(node)) walk(child, inside, depth + 1);
    if (INLINE.test(style.display) || !pieces.length || pieces[pieces.length - 1].endsWith("\n")) return;
    pieces.push("\n");
    length++;
  };
  if (pageRoot()) walk(pageRoot(), true, 0);
  return { text: pieces.join(""), starts };
}

// The part of the page that begins at or before a position: the last start not behind it.
function ownerAt(starts, position) {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle][0] <= position) low = middle; else high = middle - 1;
  }
  return starts[low] && starts[low][1];
}

function findText({ text, matchCase, limit, milliseconds }) {
  const { text: whole, starts } = visibleText(performance.now() + milliseconds);
  const wanted = text.replace(/\s+/g, " ");
  const [haystack, needle] = matchCase ? [whole, wanted] : [whole.toLowerCase(), wanted.toLowerCase()];
  const sameLength = haystack.length === whole.length;
  const found = [];
  let total = 0;
  for (let at = haystack.indexOf(needle); at >= 0 && total < 100000; at = haystack.indexOf(needle, at + needle.length)) {
    total++;
    const owner = found.length < limit && ownerAt(starts, at);
    if (!owner) continue;
    const source = sameLength ? whole : haystack;
    const context = source.slice(Math.max(0, at - CONTEXT), at + needle.length + CONTEXT).replace(/\s+/g, " ").trim();
    found.push({ context, element: describeElement(owner) });
  }
  return { total, matches: found, ...takeMinted() };
}

// Waits until the text is on the page.
async function textRest({ text, milliseconds }) {
  const end = performance.now() + milliseconds;
  const wanted = text.replace(/\s+/g, " ").toLowerCase();
  for (;;) {
    if (visibleText(end).text.toLowerCase().includes(wanted)) return { holds: true };
    if (performance.now() >= end) return { holds: false };
    await nextFrame();
  }
}

// Waits until nothing that the target names can be seen, or, for `gone`, until there is nothing.
async function absentRest({ spec, gone, milliseconds }) {
  const end = performance.now() + milliseconds;
  for (;;) {
    const found = findTargets(spec, { milliseconds: Math.min(5000, Math.max(1, milliseconds)) });
    if (gone ? !found.length : !found.some(isVisible)) return { holds: true };
    if (performance.now() >= end) return { holds: false };
    await nextFrame();
  }
}
