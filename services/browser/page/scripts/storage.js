// Local and session storage of a document's origin. Documents without an origin have none.

const STORAGE_LIMIT = 8 * 1024 * 1024;

function itemsOf(storage) {
  const items = [];
  let size = 0;
  for (let i = 0; i < storage.length; i++) {
    const key = storage.key(i);
    const value = storage.getItem(key);
    size += key.length + value.length;
    if (size > STORAGE_LIMIT) break;
    items.push([key, value]);
  }
  return items;
}

function keptHere() {
  if (!/^https?:/.test(origin)) return {};
  try {
    return { origin, local: itemsOf(localStorage), session: itemsOf(sessionStorage) };
  } catch {
    return {}; // a sandboxed document, or one whose site data is blocked
  }
}

function putBack({ origin: wanted, local }) {
  if (origin !== wanted) return { done: false };
  try {
    for (const [key, value] of local) localStorage.setItem(key, value);
    return { done: true };
  } catch {
    return { done: false };
  }
}
