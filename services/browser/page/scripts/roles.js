// ARIA roles: the role attribute, else what HTML-AAM maps the element to.

const KNOWN_ROLES = new Set((
  "alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox " +
  "complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid " +
  "gridcell group heading img insertion link list listbox listitem log main marquee math menu menubar menuitem " +
  "menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar radio " +
  "radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong " +
  "subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid " +
  "treeitem mark image").split(" "));

// Roles that a person operates: such an element always has a ref.
const WIDGET_ROLES = new Set((
  "button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox " +
  "slider spinbutton switch tab textbox treeitem").split(" "));

// Roles whose name is the text inside them (ARIA 1.2, 5.2.8.6).
const NAMED_BY_CONTENT = new Set((
  "button checkbox columnheader gridcell cell heading link menuitem menuitemcheckbox menuitemradio option radio row " +
  "rowheader switch tab tooltip treeitem").split(" "));

const TAG_ROLES = {
  article: "article", aside: "complementary", blockquote: "blockquote", button: "button", caption: "caption",
  code: "code", dd: "definition", del: "deletion", details: "group", dfn: "term", dialog: "dialog", dt: "term",
  em: "emphasis", fieldset: "group", figure: "figure", h1: "heading", h2: "heading", h3: "heading", h4: "heading",
  h5: "heading", h6: "heading", hr: "separator", html: "document", ins: "insertion", main: "main", mark: "mark",
  math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list", optgroup: "group", option: "option",
  output: "status", p: "paragraph", progress: "progressbar", search: "search", strong: "strong", sub: "subscript",
  summary: "button", sup: "superscript", table: "table", tbody: "rowgroup", textarea: "textbox", tfoot: "rowgroup",
  thead: "rowgroup", time: "time", ul: "list", address: "group", hgroup: "group",
};

const INPUT_ROLES = {
  button: "button", checkbox: "checkbox", color: "button", email: "textbox", file: "button", image: "button",
  number: "spinbutton", password: "textbox", radio: "radio", range: "slider", reset: "button", search: "searchbox",
  submit: "button", tel: "textbox", text: "textbox", url: "textbox", date: "textbox", time: "textbox",
  "datetime-local": "textbox", month: "textbox", week: "textbox",
};

const GLOBAL_ARIA = ["aria-label", "aria-labelledby", "aria-describedby", "aria-live", "aria-controls", "aria-owns",
  "aria-haspopup", "aria-busy", "aria-current"];

const FOCUSABLE_TAGS = new Set(["button", "select", "textarea", "summary", "iframe"]);

function isFocusable(element, tag) {
  if (has(element, "tabindex")) return !matches(element, ":disabled");
  if (tag === "a" || tag === "area") return has(element, "href");
  if (tag === "input") return element.type !== "hidden" && !matches(element, ":disabled");
  if (FOCUSABLE_TAGS.has(tag)) return !matches(element, ":disabled");
  if (tag === "audio" || tag === "video") return has(element, "controls");
  const editable = attr(element, "contenteditable");
  return editable !== null && editable !== "false";
}

function isInside(element, tags) {
  for (let at = flatParent(element); at; at = flatParent(at)) if (tags.has(tagOf(at))) return true;
  return false;
}

const SECTIONING = new Set(["article", "aside", "main", "nav", "section"]);
const GRIDS = new Set(["grid", "treegrid"]);

function inputRole(element) {
  const listed = attr(element, "list") !== null;
  const role = INPUT_ROLES[element.type];
  if (listed && (role === "textbox" || role === "searchbox")) return "combobox";
  if (element.type === "checkbox" && has(element, "switch")) return "switch";
  return role || "textbox";
}

// What belongs to a table or list that is there for layout alone is nothing itself (ARIA, presentational children).
const isLayout = (element) => /^(none|presentation)$/.test(attr(element, "role") || "");

function tableOf(element) {
  let table = flatParent(element);
  while (table && tagOf(table) !== "table") table = flatParent(table);
  return table;
}

function cellRole(element, tag) {
  const table = tableOf(element);
  if (table && isLayout(table)) return "generic";
  if (tag === "tr") return "row";
  if (tag === "td") return table && GRIDS.has(attr(table, "role")) ? "gridcell" : "cell";
  return attr(element, "scope") === "row" || attr(element, "scope") === "rowgroup" ? "rowheader" : "columnheader";
}

function itemRole(element) {
  const list = flatParent(element);
  return list && /^(ul|ol|menu)$/.test(tagOf(list)) && !isLayout(list) ? "listitem" : "generic";
}

function implicitRole(element, tag) {
  switch (tag) {
    case "a": case "area": return has(element, "href") ? "link" : "generic";
    case "input": return inputRole(element);
    case "select": return element.multiple || element.size > 1 ? "listbox" : "combobox";
    case "img": return attr(element, "alt") === "" && !attr(element, "aria-label") ? "none" : "img";
    case "svg": return attr(element, "aria-label") || element.querySelector(":scope > title") ? "img" : "none";
    case "header": return isInside(element, SECTIONING) ? "generic" : "banner";
    case "footer": return isInside(element, SECTIONING) ? "generic" : "contentinfo";
    case "section": return hasAuthorName(element) ? "region" : "generic";
    case "form": return hasAuthorName(element) ? "form" : "generic";
    case "li": return itemRole(element);
    case "tr": case "td": case "th": return cellRole(element, tag);
    default: return Object.hasOwn(TAG_ROLES, tag) ? TAG_ROLES[tag] : "generic";
  }
}

const hasAuthorName = (element) =>
  !!(attr(element, "aria-label") || "").trim() || has(element, "aria-labelledby") || !!(attr(element, "title") || "").trim();

function roleOf(element, tag = tagOf(element)) {
  const given = attr(element, "role");
  if (given) {
    for (const token of given.toLowerCase().split(/\s+/)) {
      if (!KNOWN_ROLES.has(token)) continue;
      if (token !== "none" && token !== "presentation") return token === "image" ? "img" : token;
      // Presentational roles are ignored on what can be focused or has a global ARIA attribute (ARIA, conflict resolution).
      if (isFocusable(element, tag) || GLOBAL_ARIA.some((name) => has(element, name))) break;
      return "none";
    }
  }
  return implicitRole(element, tag);
}
