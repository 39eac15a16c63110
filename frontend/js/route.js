// The address: `#/view?key=value`. Filters and what is chosen live there, so that a view can be linked to and gone back to.

/** The view that the address names, and its parameters. */
export function current() {
  const [name, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { name, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a view with parameters; empty ones are left out. */
export function address(name, parameters = {}) {
  return `#/${withQuery(name, parameters)}`;
}

/** A path with query parameters; empty ones are left out. */
export function withQuery(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value)).toString();
  return query ? `${path}?${query}` : path;
}

/** Goes to a view with parameters. */
export function go(name, parameters = {}) {
  location.hash = address(name, parameters);
}

const PLACES = { agent: "agents", sess: "sessions", job: "search", op: "audit" };

/** Where an id is looked at; null when no view shows such a thing. */
export function placeOf(id) {
  const view = PLACES[id.split("_", 1)[0]];
  return view && id.includes("_") ? address(view, { id }) : null;
}
