// Reads of the DOM that a page cannot redirect.
// A form's controls shadow the form's own properties (HTML, "named access"), in every world; getters taken from the
// prototypes of this world are not shadowed, and the page cannot replace them.
const reader = (prototype, name) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name);
  return (node) => get.call(node);
};
const method = (prototype, name) => {
  const { value } = Object.getOwnPropertyDescriptor(prototype, name);
  return (node, ...args) => value.apply(node, args);
};

const tagOf = reader(Element.prototype, "localName");
const kindOf = reader(Node.prototype, "nodeType");
const parentOf = reader(Node.prototype, "parentNode");
const firstOf = reader(Node.prototype, "firstChild");
const nextOf = reader(Node.prototype, "nextSibling");
const textOf = reader(Node.prototype, "textContent");
const isConnected = reader(Node.prototype, "isConnected");
const shadowOf = reader(Element.prototype, "shadowRoot");
const hostOf = reader(ShadowRoot.prototype, "host");
const elementSlot = reader(Element.prototype, "assignedSlot");
const textSlot = reader(Text.prototype, "assignedSlot");
const dataOf = reader(CharacterData.prototype, "data");
const attr = method(Element.prototype, "getAttribute");
const has = method(Element.prototype, "hasAttribute");
const matches = method(Element.prototype, "matches");
const boxOf = method(Element.prototype, "getBoundingClientRect");
const boxesOf = method(Element.prototype, "getClientRects");
const checkShown = method(Element.prototype, "checkVisibility");
const rootOf = method(Node.prototype, "getRootNode");

const ELEMENT = 1;
const TEXT = 3;

// The children as they are rendered: a host shows its open shadow root, a slot what is assigned to it.
function flatChildren(node) {
  if (kindOf(node) === ELEMENT) {
    const shadow = shadowOf(node);
    if (shadow) node = shadow;
    else if (tagOf(node) === "slot") {
      const assigned = node.assignedNodes();
      if (assigned.length) return assigned;
    }
  }
  const children = [];
  for (let child = firstOf(node); child; child = nextOf(child)) children.push(child);
  return children;
}

// The parent in the rendered tree; null at the document.
function flatParent(node) {
  const kind = kindOf(node);
  const slot = kind === ELEMENT ? elementSlot(node) : kind === TEXT ? textSlot(node) : null;
  if (slot) return slot;
  const parent = parentOf(node);
  if (!parent) return null;
  if (kindOf(parent) === ELEMENT) return parent;
  return parent instanceof ShadowRoot ? hostOf(parent) : null;
}

function contains(ancestor, node) {
  for (let at = node; at; at = flatParent(at)) if (at === ancestor) return true;
  return false;
}

// Every open shadow root below `root`, itself included, in document order.
function allRoots(root = document) {
  const roots = [root];
  for (let i = 0; i < roots.length && roots.length < 5000; i++) {
    for (const element of roots[i].querySelectorAll("*")) {
      const shadow = shadowOf(element);
      if (shadow) roots.push(shadow);
    }
  }
  return roots;
}

const collapse = (text) => text.replace(/\s+/g, " ").trim();
const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
