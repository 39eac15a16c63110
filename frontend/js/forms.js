// Forms: labelled fields, one request at a time, its refusal shown where it was asked.

import { make } from "./dom.js";

let fields = 0;

/** A label with its control. `kind` is input, textarea or select; `options` are [value, text] of a select. */
export function field(label, name, { kind = "input", options = [], hint, wide = false, ...attributes } = {}) {
  const id = `field-${(fields += 1)}`;
  const described = hint ? { "aria-describedby": `${id}-hint` } : {};
  const control = make(kind, { id, name, autocomplete: "off", spellcheck: "false", ...described, ...attributes });
  control.append(...options.map(([value, text]) => make("option", { value }, text)));
  const parts = [make("label", { for: id }, label), control];
  if (hint) {
    parts.push(make("small", { id: `${id}-hint`, class: "quiet" }, hint));
  }
  return make("div", { class: wide ? "field wide" : "field" }, ...parts);
}

/** A form that runs `submit(values, form)` once at a time. What it throws is shown as a refusal below it. */
export function form(label, contents, submit) {
  const told = make("div", { "aria-live": "polite" });
  const element = make("form", { "aria-label": label }, ...contents, told);
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (element.getAttribute("aria-busy") === "true") {
      return;
    }
    element.setAttribute("aria-busy", "true");
    told.replaceChildren();
    try {
      await submit(Object.fromEntries(new FormData(element)), element);
    } catch (error) {
      told.replaceChildren(refusal(error));
    } finally {
      element.removeAttribute("aria-busy");
    }
  });
  return element;
}

/** Comma- or space-separated words. */
export function words(text) {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

/** Why a call was refused: its code, message, what is wrong with which field, and what to do next. */
export function refusal(error) {
  const wrong = Array.isArray(error.details?.fields) ? error.details.fields : [];
  return make(
    "div",
    { class: "refusal", role: "alert" },
    make("strong", { class: "code" }, error.code ?? "error"),
    make("p", {}, error.message),
    make("ul", {}, ...wrong.map((each) => make("li", {}, `${each.field}: ${each.problem}`))),
    make("p", { class: "quiet" }, error.hint ?? ""),
  );
}
