// What the three forms of a page's content have in common: white space, line breaks, prefixes of nested blocks.

// Asks for `count` line breaks before the next text; inside a table cell a space stands for them.
function breakLine(page, count) {
  if (page.cell) page.space = true;
  else page.breaks = Math.max(page.breaks, count);
}

function put(page, text) {
  if (page.breaks) {
    if (page.text || page.base) {
      page.text = page.text.replace(/[ \t]+$/, "");
      for (let i = 0; i < page.breaks; i++) page.text += i < page.breaks - 1 ? `\n${page.prefix.trimEnd()}` : `\n${page.prefix}`;
    } else page.text += page.prefix;
    page.breaks = 0;
    page.space = false;
  }
  if (page.space) {
    if (page.text && !/\s$/.test(page.text)) page.text += " ";
    page.space = false;
  }
  page.text += text;
}

function putText(page, text) {
  if (page.pre) { put(page, text.replace(/\n/g, `\n${page.prefix}`)); return; }
  const words = collapse(text);
  if (!words) { if (text && !page.breaks) page.space = true; return; }
  if (/^\s/.test(text) && !page.breaks) page.space = true;
  put(page, words);
  page.space = /\s$/.test(text);
}

const isBlock = (style) => !style.display.startsWith("inline") && style.display !== "contents" && style.display !== "table-cell";
const SPACED = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote", "figure", "dl"]);

// Text as a person would copy it.
const textWriter = {
  text: putText,
  open(page, element, tag, style) {
    if (tag === "br") { breakLine(page, 1); return false; }
    if (tag === "td" || tag === "th") {
      if (isLaterCell(element)) put(page, "\t");
      return null;
    }
    if (tag === "pre") page.pre++;
    const breaks = isBlock(style) ? (SPACED.has(tag) ? 2 : 1) : 0;
    if (breaks) breakLine(page, breaks);
    return () => { if (tag === "pre") page.pre--; if (breaks) breakLine(page, breaks); };
  },
};

function isLaterCell(element) {
  for (let at = element.previousElementSibling; at; at = at.previousElementSibling) if (/^t[dh]$/.test(tagOf(at))) return true;
  return false;
}

const DROPPED_ATTRIBUTES = /^(on.*|style|nonce|srcdoc|integrity)$/;
const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);
const escapeHtml = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// Markup without scripts, styles, handlers and what cannot be seen.
const htmlWriter = {
  keeps: new Set(["select", "textarea"]),
  text(page, text) { page.text += escapeHtml(/^\s*$/.test(text) ? (text.includes("\n") ? "\n" : " ") : text); },
  open(page, element, tag) {
    let opening = `<${tag}`;
    for (const { name, value } of attributesOf(element)) {
      if (DROPPED_ATTRIBUTES.test(name) || /^\s*javascript:/i.test(value) || (name === "value" && element.type === "password")) continue;
      opening += ` ${name}="${escapeHtml(cut(value, 2000)).replace(/"/g, "&quot;")}"`;
    }
    page.text += `${opening}>`;
    if (VOID.has(tag)) return false;
    return () => { page.text += `</${tag}>`; };
  },
};
