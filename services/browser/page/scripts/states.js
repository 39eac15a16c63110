// What state a control is in, as a person would see it.

const CHECKABLE = new Set(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio", "option", "treeitem"]);
const SELECTABLE = new Set(["option", "tab", "row", "gridcell", "columnheader", "rowheader", "treeitem"]);
const VALUED = new Set(["textbox", "searchbox", "combobox", "spinbutton", "slider", "scrollbar", "progressbar", "meter"]);

function checkedState(element, tag) {
  if (tag === "input" && (element.type === "checkbox" || element.type === "radio")) {
    return element.indeterminate ? "mixed" : element.checked ? "checked" : "";
  }
  const given = attr(element, "aria-checked");
  return given === "true" ? "checked" : given === "mixed" ? "mixed" : "";
}

function expandedState(element, tag) {
  const given = attr(element, "aria-expanded");
  if (given === "true") return "expanded";
  if (given === "false") return "collapsed";
  if (tag === "summary") {
    const parent = parentOf(element);
    if (parent && kindOf(parent) === ELEMENT && tagOf(parent) === "details") return has(parent, "open") ? "expanded" : "collapsed";
  }
  return "";
}

function statesOf(element, role, tag = tagOf(element)) {
  const states = [];
  const add = (state) => { if (state) states.push(state); };
  if (CHECKABLE.has(role)) add(checkedState(element, tag));
  add(expandedState(element, tag));
  if (role === "button") {
    const pressed = attr(element, "aria-pressed");
    add(pressed === "true" ? "pressed" : pressed === "mixed" ? "mixed" : "");
  }
  const selected = attr(element, "aria-selected") === "true" || (tag === "option" && element.selected);
  if (selected && SELECTABLE.has(role)) states.push("selected");
  const current = attr(element, "aria-current");
  if (current && current !== "false") states.push("current");
  if (matches(element, ":disabled") || attr(element, "aria-disabled") === "true") states.push("disabled");
  if (matches(element, ":required") || attr(element, "aria-required") === "true") states.push("required");
  const invalid = attr(element, "aria-invalid");
  if ((invalid && invalid !== "false") || matches(element, ":user-invalid")) states.push("invalid");
  if ((tag === "input" || tag === "textarea") && VALUED.has(role) && element.readOnly) states.push("readonly");
  if (element === focusedIn(rootOf(element))) states.push("focused");
  return states;
}

function focusedIn(root) {
  const active = activeIn(root);
  return active && active !== pageBody() ? active : null;
}

// The element that has focus, through open shadow roots; null when it is the body.
function focusedElement() {
  let focused = focusedIn(document);
  while (focused && shadowOf(focused) && shadowOf(focused).activeElement) focused = shadowOf(focused).activeElement;
  return focused;
}

const EDITABLE_INPUTS = /^(text|search|url|tel|email|password|number|date|time|datetime-local|month|week)$/;

// What can take text: "value" (an input or textarea), "content" (an editing host), or "".
function editableKind(element, tag = tagOf(element)) {
  if (tag === "textarea") return "value";
  if (tag === "input") return EDITABLE_INPUTS.test(element.type) ? "value" : "";
  return isEditable(element) ? "content" : "";
}

// The value as it may leave the page: never a password.
function valueOf(element, role, tag = tagOf(element)) {
  if (tag === "input") {
    if (/^(checkbox|radio|button|submit|reset|image|hidden)$/.test(element.type)) return "";
    if (element.type === "file") return [...element.files].map((file) => file.name).join(", ");
    return element.type === "password" ? "•".repeat(element.value.length) : element.value;
  }
  if (tag === "textarea") return element.value;
  if (tag === "select") return [...element.selectedOptions].map((option) => collapse(option.label)).join(", ");
  if (tag === "progress" || tag === "meter") return has(element, "value") ? String(element.value) : "";
  if (isEditable(element)) return textOf(element).slice(0, 20000);
  return VALUED.has(role) ? attr(element, "aria-valuetext") || attr(element, "aria-valuenow") || "" : "";
}
