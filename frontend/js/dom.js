// Building elements. Text is always text: nothing here takes markup (pages, events and names are not to be trusted).

/** An element with attributes and children; a string child becomes a text node. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** A table from rows; columns are [heading, function of the row]. */
export function table(columns, rows) {
  const head = make("tr", {}, ...columns.map(([heading]) => make("th", { scope: "col" }, heading)));
  const body = rows.map((row) =>
    make("tr", {}, ...columns.map(([heading, cell]) => make("td", { "data-label": heading }, cell(row)))),
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

/** Milliseconds UTC as a person reads them; empty for 0. */
export function when(milliseconds) {
  return milliseconds ? new Date(milliseconds).toLocaleString() : "";
}
