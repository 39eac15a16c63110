// A view that shows one list of the API as a table and reads it again when events say that it changed.

import { read } from "./api.js";
import { make, table } from "./dom.js";

const SETTLE_MS = 200;

/** `path`, the list's `name` in the answer, `columns` as dom.table takes them, `roots` of the categories that matter. */
export function listing({ title, path, name, columns, roots, empty }) {
  return (section, { log }) => {
    const body = make("div");
    section.replaceChildren(make("h2", {}, title), body);
    let timer = 0;
    const refresh = async () => {
      try {
        const rows = (await read(path))[name];
        body.replaceChildren(rows.length > 0 ? table(columns, rows) : make("p", { class: "quiet" }, empty));
      } catch (error) {
        body.replaceChildren(make("p", { class: "bad", role: "alert" }, `${error.message} ${error.hint ?? ""}`));
      }
    };
    const unfollow = log.follow((events) => {
      if (events.some((event) => roots.includes(event.category.split(".")[0]))) {
        clearTimeout(timer);
        timer = setTimeout(refresh, SETTLE_MS);
      }
    });
    refresh();
    return () => {
      clearTimeout(timer);
      unfollow();
    };
  };
}
