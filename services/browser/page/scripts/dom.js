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
const revealElement = method(Element.prototype, "scrollIntoView");
const attributesOf = reader(Element.prototype, "attributes");
const [scrollLeftOf, scrollTopOf, scrollWidthOf, scrollHeightOf, clientWidthOf, clientHeightOf] =
  ["scrollLeft", "scrollTop", "scrollWidth", "scrollHeight", "clientWidth", "clientHeight"].map((name) => reader(Element.prototype, name));
const editableOf = reader(HTMLElement.prototype, "isContentEditable");
const isEditable = (element) => element instanceof HTMLElement && editableOf(element);

const ELEMENT = 1;
const TEXT = 3;
const DOCUMENT = 9;

// The same of the document, whose properties elements with a name shadow too.
const documentReader = (name) => { const read = reader(Document.prototype, name); return () => read(document); };
const documentMethod = (name) => method(Document.prototype, name);
const pageTitle = documentReader("title");
const pageRoot = documentReader("documentElement");
const pageBody = documentReader("body");
const pageScroller = documentReader("scrollingElement");
const activeOfDocument = documentReader("activeElement");
const pageState = () => ({ url: location.href, title: pageTitle() });
const pageAnimations = () => documentMethod("getAnimations")(document);
const newFragment = () => documentMethod("createDocumentFragment")(document);
const elementAt = (x, y) => documentMethod("elementFromPoint")(document, x, y);

const inDocument = documentMethod("querySelectorAll");
const inElement = method(Element.prototype, "querySelectorAll");
const inFragment = method(DocumentFragment.prototype, "querySelectorAll");
const queryAll = (root, selector) => {
  const kind = kindOf(root);
  return (kind === DOCUMENT ? inDocument : kind === ELEMENT ? inElement : inFragment)(root, selector);
};
const idInDocument = documentMethod("getElementById");
const idInFragment = method(DocumentFragment.prototype, "getElementById");
const byId = (root, id) => {
  const kind = kindOf(root);
  return kind === DOCUMENT ? idInDocument(root, id) : kind === ELEMENT ? null : idInFragment(root, id);
};
const activeIn = (root) => (kindOf(root) === DOCUMENT ? activeOfDocument() : root instanceof ShadowRoot ? root.activeElement : null);

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
    for (const element of queryAll(roots[i], "*")) {
      const shadow = shadowOf(element);
      if (shadow) roots.push(shadow);
    }
  }
  return roots;
}

const collapse = (text) => text.replace(/\s+/g, " ").trim();
const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
