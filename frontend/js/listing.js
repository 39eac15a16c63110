// A list of the API as a table whose rows lead to one entity; live, and longer on request.

import { read } from "./api.js";
import { button, make, refill, table } from "./dom.js";
import { refusal } from "./forms.js";
import { live } from "./live.js";
import { withQuery } from "./route.js";

const PAGE = 50;
const LONGEST = 1_000;

/**
 * `name`: the list's name in the answer; `path` and `filters()` of its call; `columns` as dom.table takes them; `concerns(event)`;
 * `chosen(row)`. Returns {element, now, stop}.
 */
export function listing({ log, label, name, path, filters = () => ({}), columns, concerns, empty, chosen }) {
  const element = make("div", { class: "list" });
  let wanted = PAGE;
  const refresh = async () => {
    try {
      const { rows, more } = await pages(path, filters(), name, wanted);
      const parts = rows.length > 0 ? [table(label, columns, rows, chosen)] : [make("p", { class: "quiet" }, empty)];
      if (more && wanted < LONGEST) {
        parts.push(button("Load older", () => ((wanted += PAGE), list.now())));
      }
      refill(element, ...parts);
    } catch (error) {
      refill(element, refusal(error));
    }
  };
  const list = live(log, concerns, refresh);
  list.now();
  return { element, now: list.now, stop: list.stop };
}

async function pages(path, filters, name, wanted) {
  const rows = [];
  let token = "";
  do {
    const page = await read(withQuery(path, { ...filters, page_size: PAGE, page_token: token }));
    rows.push(...page[name]);
    token = page.next_page_token;
  } while (token && rows.length < wanted);
  return { rows, more: token !== "" };
}
