// Text with headings, lists, tables, code, emphasis, pictures and links, as CommonMark with tables.

const EMPHASIS = { b: "**", strong: "**", i: "*", em: "*", del: "~~", s: "~~" };

// A mark before and after; taken back when nothing came between.
function wrap(page, before, after) {
  put(page, before);
  const start = page.base + page.text.length;
  return () => {
    const written = page.text.slice(Math.max(0, start - page.base));
    if (!written.trim() && start - page.base - before.length >= 0) page.text = page.text.slice(0, start - page.base - before.length);
    else page.text = page.text.replace(/[ \t]+$/, "") + after;
  };
}

function listMarker(element) {
  const list = flatParent(element);
  if (!list || tagOf(list) !== "ol") return "- ";
  let number = Number(attr(list, "start")) || 1;
  for (let at = element.previousElementSibling; at; at = at.previousElementSibling) if (tagOf(at) === "li") number++;
  return `${number}. `;
}

// Everything until the end stands behind `added`; its first line behind `marker`.
function indent(page, marker, added) {
  const before = page.prefix;
  put(page, marker);
  page.prefix += added;
  return () => { page.prefix = before; breakLine(page, 1); };
}

function tableRow(page, element) {
  breakLine(page, 1);
  put(page, "|");
  page.cell++;
  return () => {
    page.cell--;
    page.space = false;
    const cells = [...element.children].filter((child) => /^t[dh]$/.test(tagOf(child)));
    if (!isLaterRow(element) && cells.length) page.text += `\n${page.prefix}|${" --- |".repeat(cells.length)}`;
    breakLine(page, 1);
  };
}

function isLaterRow(row) {
  const table = row.closest("table");
  return !!table && table.querySelector("tr") !== row;
}

const codeFence = (page) => {
  put(page, "```\n" + page.prefix);
  page.pre++;
  return () => { page.pre--; page.text = page.text.replace(/\n?$/, `\n${page.prefix}\`\`\``); breakLine(page, 2); };
};

function inlineMark(page, element, tag) {
  if (EMPHASIS[tag]) return wrap(page, EMPHASIS[tag], EMPHASIS[tag]);
  if (tag === "code" && !page.pre) return wrap(page, "`", "`");
  if (tag === "a" && has(element, "href") && !/^\s*javascript:/i.test(attr(element, "href"))) return wrap(page, "[", `](${element.href})`);
  return null;
}

function blockMark(page, element, tag) {
  if (/^h[1-6]$/.test(tag)) { put(page, `${"#".repeat(Number(tag[1]))} `); return null; }
  if (tag === "li") { const marker = listMarker(element); return indent(page, marker, " ".repeat(marker.length)); }
  if (tag === "blockquote") return indent(page, "> ", "> ");
  if (tag === "pre") return codeFence(page);
  if (tag === "tr") return tableRow(page, element);
  return null;
}

const markdownWriter = {
  text: putText,
  open(page, element, tag, style) {
    if (tag === "br") { breakLine(page, 1); return false; }
    if (tag === "hr") { breakLine(page, 2); put(page, "---"); breakLine(page, 2); return false; }
    if (tag === "img") {
      const alt = collapse(attr(element, "alt") || "");
      if (alt) put(page, `![${alt}](${/^data:/i.test(element.src) ? "data:" : element.src})`);
      return false;
    }
    if (tag === "td" || tag === "th") { page.space = true; put(page, ""); return () => { page.space = true; put(page, "|"); }; }
    const breaks = isBlock(style) ? (SPACED.has(tag) && !page.prefix ? 2 : 1) : 0;
    if (breaks) breakLine(page, breaks);
    const close = inlineMark(page, element, tag) || blockMark(page, element, tag);
    return () => { if (close) close(); if (breaks) breakLine(page, breaks); };
  },
};

const WRITERS = { text: textWriter, markdown: markdownWriter, html: htmlWriter };
