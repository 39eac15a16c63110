// Numbers of elements. A number comes from the service, is unique in its session and is never used again; an element
// keeps the one it has. Elements are held weakly: a ref keeps nothing alive.

const HELD_LIMIT = 20000;
const numbers = new WeakMap();
const held = new Map();

// Numbers the service lent for the call that is running, [next, end), and what was minted of them. A call that waits
// lends its own again afterwards.
let lent = { next: 0, end: 0, minted: [] };
const lend = (loan) => { lent = loan; };

// What the running call minted, for the service's table.
const takeMinted = () => ({ used: lent.next, minted: lent.minted });

// The ref of an element, minted when it has none; "" when the lent numbers are used up.
function refOf(element, practical, role, name) {
  const known = numbers.get(element);
  if (known) return known;
  if (lent.next >= lent.end) return "";
  const ref = (practical ? "c" : "e") + lent.next++;
  numbers.set(element, ref);
  if (held.size >= HELD_LIMIT) prune();
  const entry = { element: new WeakRef(element), role, name: cut(name, 200) };
  held.set(ref, entry);
  lent.minted.push([ref, entry.role, entry.name]);
  return ref;
}

function prune() {
  for (const [ref, entry] of held) {
    const element = entry.element.deref();
    if (!element || !isConnected(element)) held.delete(ref);
  }
  for (const ref of held.keys()) {
    if (held.size < HELD_LIMIT) break;
    held.delete(ref);
  }
}

// The present element of a ref, or null: gone, or never of this document.
function elementOf(ref) {
  const entry = held.get(ref);
  const element = entry && entry.element.deref();
  return element && isConnected(element) ? element : null;
}

const hasRefs = () => lent.next < lent.end;
