// Accessible names, by the steps of Accessible Name and Description Computation 1.2 (letters as there).

const NAME_LIMIT = 1000;
const NODE_LIMIT = 2000;
const BUTTON_VALUES = { submit: "Submit", reset: "Reset" };

function nameOf(element, role = roleOf(element)) {
  return collapse(named(element, role, { visited: new Set(), left: NODE_LIMIT, referenced: false, inside: false, hidden: false }))
    .slice(0, NAME_LIMIT);
}

// `walk.referenced`: reached through aria-labelledby (2B is not followed twice); `walk.inside`: part of another's name;
// `walk.hidden`: the text referred to is itself hidden, so hidden parts count.
function named(element, role, walk) {
  if (walk.visited.has(element) || walk.left-- <= 0) return "";
  const tag = tagOf(element);
  if (!walk.hidden && walk.inside && isHiddenPart(element)) return "";           // 2A
  walk.visited.add(element);
  if (!walk.referenced) {
    const labelled = byReference(element, walk);                                 // 2B
    if (labelled) return labelled;
  }
  if (walk.inside) {
    const embedded = embeddedValue(element, role);                               // 2C
    if (embedded !== null) return embedded;
  }
  const label = attr(element, "aria-label");                                     // 2D
  if (label && label.trim()) return label;
  const native = role === "none" ? "" : nativeName(element, tag, walk);          // 2E
  if (native) return native;
  if (walk.inside || NAMED_BY_CONTENT.has(role)) {                               // 2F
    const content = contentText(element, walk);
    if (content.trim()) return content;
  }
  const title = attr(element, "title");                                          // 2I
  if (title && title.trim()) return title;
  return placeholderOf(element, tag);
}

function isHiddenPart(element) {
  if (attr(element, "aria-hidden") === "true") return true;
  const style = getComputedStyle(element);
  return style.display === "none" || style.visibility !== "visible";
}

function byReference(element, walk) {
  const ids = attr(element, "aria-labelledby");
  if (!ids) return "";
  const root = rootOf(element);
  const parts = [];
  for (const id of ids.split(/\s+/)) {
    const target = id ? byId(root, id) : null;
    if (!target) continue;
    // An element may refer to itself (aria-labelledby="me other"), so the guard against loops starts anew.
    const visited = target === element ? new Set() : new Set(walk.visited);
    const hidden = isHiddenPart(target) || !isShown(target);
    const part = named(target, roleOf(target), { ...walk, visited, referenced: true, inside: true, hidden });
    if (part.trim()) parts.push(part);
  }
  return parts.join(" ");
}

function embeddedValue(element, role) {
  const tag = tagOf(element);
  switch (role) {
    case "textbox": case "searchbox":
      return tag === "input" || tag === "textarea" ? valueOf(element, role, tag) : null;
    case "combobox": case "listbox":
      if (tag === "select") return [...element.selectedOptions].map((option) => option.label).join(" ");
      return tag === "input" ? valueOf(element, role, tag) : null;
    case "slider": case "spinbutton": case "scrollbar":
      return attr(element, "aria-valuetext") || attr(element, "aria-valuenow") || (tag === "input" ? valueOf(element, role, tag) : null);
    default: return null;
  }
}

function nativeName(element, tag, walk) {
  switch (tag) {
    case "input": {
      if (/^(button|submit|reset)$/.test(element.type)) {
        return element.value || (has(element, "value") ? "" : BUTTON_VALUES[element.type] || "");
      }
      if (element.type === "image") return attr(element, "alt") || attr(element, "value") || attr(element, "title") || "Submit";
      return byLabels(element, walk);
    }
    case "select": case "textarea": case "button": case "meter": case "output": case "progress": return byLabels(element, walk);
    case "fieldset": return childText(element, "legend", walk);
    case "table": return childText(element, "caption", walk);
    case "figure": return childText(element, "figcaption", walk);
    case "img": case "area": return attr(element, "alt") || "";
    case "svg": { const title = element.querySelector(":scope > title"); return title ? textOf(title) : ""; }
    case "optgroup": return attr(element, "label") || "";
    case "option": return attr(element, "label") || textOf(element);
    default: return "";
  }
}

function byLabels(element, walk) {
  const labels = element.labels;
  if (!labels || !labels.length || walk.inside) return "";
  const parts = [];
  for (const label of labels) parts.push(named(label, "generic", { ...walk, inside: true }));
  return parts.filter((part) => part.trim()).join(" ");
}

function childText(element, tag, walk) {
  for (let child = firstOf(element); child; child = nextOf(child)) {
    if (kindOf(child) === ELEMENT && tagOf(child) === tag) return contentText(child, { ...walk, inside: true });
  }
  return "";
}

function placeholderOf(element, tag) {
  if (tag !== "input" && tag !== "textarea") return "";
  return attr(element, "placeholder") || attr(element, "aria-placeholder") || "";
}

// 2F with 2G: the text inside, generated content included; blocks are set apart by spaces.
function contentText(element, walk) {
  const inner = { ...walk, inside: true };
  let text = generated(element, "::before");
  for (const child of flatChildren(element)) {
    if (walk.left <= 0 || text.length > NAME_LIMIT) break;
    const kind = kindOf(child);
    if (kind === TEXT) { walk.left--; text += dataOf(child); }
    else if (kind === ELEMENT && !SKIPPED.has(tagOf(child))) {
      const part = named(child, roleOf(child), inner);
      walk.left = inner.left;
      text += tagOf(child) === "br" ? " " : part && getComputedStyle(child).display.startsWith("inline") ? part : ` ${part} `;
    }
  }
  return text + generated(element, "::after");
}

function generated(element, pseudo) {
  const content = getComputedStyle(element, pseudo).content;
  if (content === "none" || content === "normal" || content === "") return "";
  const alternative = content.match(/\/\s*"((?:[^"\\]|\\.)*)"\s*$/);
  if (alternative) return alternative[1];
  return [...content.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1].replace(/\\(.)/g, "$1")).join("");
}
