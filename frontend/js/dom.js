// Building elements. Text is always text: nothing here takes markup (pages, events and names are not to be trusted).

/** An element with attributes and children; a string child becomes a text node. An attribute that is false is left out. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** A table from rows; columns are [heading, function of the row, "short" when its words are not to be broken]. `current` says which row is the chosen one. */
export function table(label, columns, rows, current = () => false) {
  const head = make("tr", {}, ...columns.map(([heading]) => make("th", { scope: "col" }, heading)));
  const body = rows.map((row) =>
    make(
      "tr",
      { class: current(row) && "current" },
      ...columns.map(([heading, cell, kind]) => make("td", { "data-label": heading, class: kind }, cell(row))),
    ),
  );
  return make("table", { "aria-label": label }, make("thead", {}, head), make("tbody", {}, ...body));
}

/** Terms and what they are; entries whose value is empty are left out. */
export function facts(entries) {
  const shown = entries.filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return make("dl", { class: "facts" }, ...shown.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]));
}

/** A button; `key` finds it again after its surroundings were built anew. */
export function button(text, press, { key = text, label, type = "button" } = {}) {
  const element = make("button", { type, "data-key": key, "aria-label": label }, text);
  if (press) {
    element.addEventListener("click", press);
  }
  return element;
}

/** Puts children in place of an element's own; what had the focus has it again when it is still there. */
export function refill(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const key = focused?.dataset.key ?? focused?.getAttribute("href");
  element.replaceChildren(...children);
  if (key) {
    const again = [...element.querySelectorAll("[data-key], a[href]")].find(
      (each) => (each.dataset.key ?? each.getAttribute("href")) === key,
    );
    again?.focus({ preventScroll: true });
  }
}

/** Milliseconds UTC as a person reads them; empty for 0. */
export function when(milliseconds) {
  return milliseconds ? new Date(milliseconds).toLocaleString() : "";
}

/** A state's name, coloured by what it means; the name stays, so that colour is not all. */
export function status(name) {
  const good = ["healthy", "ready", "idle", "done", "completed", "succeeded", "read", "ok", "delivered"];
  const bad = ["unhealthy", "degraded", "failed", "crashed", "terminated"];
  const kind = good.includes(name) ? "good" : bad.includes(name) ? "bad" : "busy";
  return make("span", { class: `status ${kind}` }, name);
}

/** Long text that scrolls in itself and takes the focus for that. */
export function block(label, text) {
  return make("pre", { tabindex: "0", role: "region", "aria-label": label }, text);
}
