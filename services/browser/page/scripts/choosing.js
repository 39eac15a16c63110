// What can be chosen in a control, and what is chosen: looks only.

const TOGGLES = /^(checkbox|radio|switch|menuitemcheckbox|menuitemradio|option|treeitem|button)$/;

// Whether an element has an on and an off: {kind, checked, mixed}; kind is "" for one that has not.
function checkable({ handle, ref }) {
  const element = handle ? handles.get(handle) : elementOf(ref);
  if (!element || !isConnected(element)) return { gone: true };
  return toggleState(element);
}

function toggleState(element) {
  const role = roleOf(element);
  if (!TOGGLES.test(role)) return { kind: "" };
  if (role === "button" && !has(element, "aria-pressed")) return { kind: "" };
  if ((role === "option" || role === "treeitem") && !has(element, "aria-checked")) return { kind: "" };
  const pressed = { true: "checked", mixed: "mixed" }[attr(element, "aria-pressed")] || "";
  const state = role === "button" ? pressed : checkedState(element, tagOf(element));
  return { kind: role, checked: state === "checked", mixed: state === "mixed" };
}

// Waits, for frames, until an element is in the state that is wanted.
async function checkRest({ ref, wanted, milliseconds }) {
  const end = performance.now() + milliseconds;
  for (;;) {
    const element = elementOf(ref);
    if (!element) return { gone: true };
    const state = toggleState(element);
    if ((state.checked === wanted && !state.mixed) || performance.now() >= end) return state;
    await nextFrame();
  }
}

// What kind of list an element is: "select", "listbox", "combobox", or "".
function listKind(element) {
  if (tagOf(element) === "select") return "select";
  const role = roleOf(element);
  if (/^(listbox|menu|tree|radiogroup)$/.test(role)) return "listbox";
  return role === "combobox" || /^(listbox|true|menu)$/.test(attr(element, "aria-haspopup") || "") ? "combobox" : "";
}

const CHOICES = /^(option|menuitem|menuitemradio|menuitemcheckbox|treeitem|radio)$/;

// The choices of an ARIA list, in it or in what it controls; of an open combobox without such a link, those in view.
function ariaOptions(element) {
  const inside = [element];
  for (const name of ["aria-controls", "aria-owns", "aria-activedescendant"]) {
    for (const id of (attr(element, name) || "").split(/\s+/)) {
      const found = id && byId(rootOf(element), id);
      if (found) inside.push(name === "aria-activedescendant" ? parentOf(found) : found);
    }
  }
  const options = [];
  for (const root of inside) {
    if (!root || kindOf(root) !== ELEMENT) continue;
    for (const at of rendered(root)) if (at !== root && CHOICES.test(roleOf(at)) && !options.includes(at)) options.push(at);
  }
  if (options.length || listKind(element) !== "combobox") return options;
  for (const at of rendered(document)) {
    if (tagOf(at) !== "option" && roleOf(at) === "option" && isVisible(at)) options.push(at);
  }
  return options;
}

const isChosen = (option) => statesOf(option, roleOf(option)).some((state) => state === "selected" || state === "checked");
const ariaValue = (option) => attr(option, "data-value") ?? attr(option, "value") ?? nameOf(option, roleOf(option));

function placeOf(options, labels, by, wanted) {
  if (by === "index") return wanted;
  return by === "value" ? options.findIndex((option) => ariaValue(option) === wanted) : labels.indexOf(collapse(wanted));
}

// The ref of one choice of an ARIA list, waited for; with what there is when there is no such.
async function choices({ ref, by, wanted, milliseconds, loan }) {
  const end = performance.now() + milliseconds;
  for (;;) {
    const element = elementOf(ref);
    if (!element) return { gone: true, ...takeMinted() };
    const kind = listKind(element);
    const options = kind === "select" ? [] : ariaOptions(element);
    const labels = options.map((option) => collapse(nameOf(option, roleOf(option))));
    const option = by === "" ? undefined : options[placeOf(options, labels, by, wanted)];
    const result = {
      kind, expanded: expandedState(element, tagOf(element)) === "expanded",
      options: labels.slice(0, 50).map((label) => cut(label, 100)), chosen: options.filter(isChosen).map(ariaValue).slice(0, 100),
      value: cut(valueOf(element, roleOf(element)) || collapse(textOf(element)), 500),
    };
    if (option && isVisible(option)) {
      const role = roleOf(option);
      const ref = refOf(option, false, role, nameOf(option, role));
      return { ...result, option: ref, isChosen: isChosen(option), ...takeMinted() };
    }
    if (performance.now() >= end) return { ...result, ...takeMinted() };
    await nextFrame();
    lend(loan);
  }
}

// Where a form is sent from: {ref} of its first button that submits, when one can be clicked.
function submitter({ ref }) {
  const element = elementOf(ref);
  const form = element && (element.form || closestFlat(element, (at) => tagOf(at) === "form"));
  if (!form) return { option: "", ...takeMinted() };
  const buttons = queryAll(rootOf(form), "button, input[type=submit], input[type=image]");
  for (const button of buttons) {
    if (button.form !== form || (tagOf(button) === "button" && button.type !== "submit")) continue;
    if (!isVisible(button) || isDisabled(button)) continue;
    return { option: refOf(button, false, "button", nameOf(button, "button")), ...takeMinted() };
  }
  return { option: "", ...takeMinted() };
}

// What a control holds now, described anew.
function describeAgain({ ref }) {
  const element = elementOf(ref);
  return element ? { elements: [describeElement(element)], total: 1, ...takeMinted() } : { gone: true, ...takeMinted() };
}

// The file input that an element is, labels or holds: {handle, multiple, names}; `input` is false where there is none.
function fileInput({ handle }) {
  const element = handles.get(handle);
  if (!element || !isConnected(element)) return { gone: true };
  const isFile = (at) => !!at && tagOf(at) === "input" && at.type === "file";
  const inside = () => { const all = queryAll(element, "input[type=file]"); return all.length === 1 ? all[0] : null; };
  const input = [element, tagOf(element) === "label" ? element.control : null, inside()].find(isFile);
  if (!input) return { input: false };
  const names = [...input.files].map((file) => cut(file.name, 256));
  return { input: true, handle: handleOf(input), multiple: input.multiple, names };
}
