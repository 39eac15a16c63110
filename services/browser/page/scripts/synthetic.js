// What no input device can do through this browser (SPEC §4, "Acting"): options of native selects, whose popup is outside
// the page, and values of controls with pickers of the browser's own. Results say `synthetic: true`.

function tellChanged(element) {
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
}

const valueSetter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
const selectedSetter = Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected").set;
const optionsOf = (select) => [...queryAll(select, "option")];

// Selects options of a native select, once they are all there: {selected}, or what is `missing`, `disabled` or too many.
async function pickOptions({ handle, values, labels, indexes, milliseconds }) {
  const select = handles.get(handle);
  const end = performance.now() + milliseconds;
  for (;;) {
    if (!select || !isConnected(select)) return { gone: true };
    const options = optionsOf(select);
    const there = { labels: options.slice(0, 50).map((option) => cut(collapse(option.label), 100)) };
    const wanted = [
      ...values.map((value) => [value, options.find((option) => option.value === value)]),
      ...labels.map((label) => [label, options.find((option) => collapse(option.label) === collapse(label))]),
      ...indexes.map((index) => [String(index), options[index]]),
    ];
    const missing = wanted.find(([, option]) => !option);
    if (!missing) {
      const chosen = new Set(wanted.map(([, option]) => option));
      if (chosen.size > 1 && !select.multiple) return { many: true, ...there };
      const disabled = wanted.find(([, option]) => matches(option, ":disabled"));
      if (disabled) return { disabled: disabled[0], ...there };
      return pick(select, options, chosen);
    }
    if (performance.now() >= end) return { missing: missing[0], ...there };
    await nextFrame();
  }
}

function pick(select, options, chosen) {
  const before = options.map((option) => option.selected);
  if (select.multiple) for (const option of options) selectedSetter.call(option, chosen.has(option));
  else for (const option of chosen) selectedSetter.call(option, true);
  if (options.some((option, i) => option.selected !== before[i])) tellChanged(select);
  return { selected: [...select.selectedOptions].map((option) => option.value), changed: true, ...pageState() };
}

// Sets the value of a control that has a picker: {value}, as it is afterwards.
function setValue({ handle, value }) {
  const element = handles.get(handle);
  if (!element || !isConnected(element)) return { gone: true };
  const before = element.value;
  valueSetter.call(element, value);
  const now = element.value;
  const taken = now.toLowerCase() === value.toLowerCase() || (element.type === "range" && now !== before);
  if (!taken) { valueSetter.call(element, before); return { refused: true, value: before, type: element.type }; }
  if (now !== before) tellChanged(element);
  return { value: now, type: element.type };
}
