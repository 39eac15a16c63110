// One session: its facts, its tabs as they change, reading and picturing them, closing.

import { post, read } from "../../api.js";
import { block, button, facts, make, refill, status, when } from "../../dom.js";
import { field, form, refusal } from "../../forms.js";
import { image } from "../../image.js";
import { live } from "../../live.js";
import { named } from "../../log.js";
import { address } from "../../route.js";

const OVER = ["closed", "crashed", "closing"];
// What a call changes by itself, and what it only reads: the latter needs no second look at the session.
const READS = /^browser\.(page\.read|element\.queried|screenshot\.captured|links\.extracted)$/;

/** Fills `side` with the session; returns {stop}. */
export function detail(side, log, id) {
  const path = `/api/browser/sessions/${encodeURIComponent(id)}`;
  const about = make("div");
  const tabs = make("ul", { class: "tabs", "aria-label": "Tabs" });
  const output = make("div", { class: "outcome", "aria-live": "polite" });
  const controls = make("div");
  const run = async (work) => {
    output.replaceChildren(make("p", { class: "quiet" }, "Running…"));
    try {
      output.replaceChildren(...(await work()));
    } catch (error) {
      output.replaceChildren(refusal(error));
    }
  };
  let open = null;
  const refresh = async () => {
    try {
      const session = await read(path);
      refill(about, ...describe(session));
      const isOpen = !OVER.includes(session.status);
      refill(tabs, ...session.tabs.map((tab) => tabEntry(path, tab, isOpen, run)));
      if (open !== isOpen) {
        open = isOpen;
        controls.replaceChildren(...(isOpen ? [openTab(path), closing(path, run)] : []));
      }
    } catch (error) {
      refill(about, refusal(error));
    }
  };
  const concerns = (event) => (event.session_id === id || event.subject === id) && !READS.test(event.category);
  const following = live(log, concerns, refresh);
  side.replaceChildren(make("h3", {}, "Session ", make("code", {}, id)), about, make("h4", {}, "Tabs"), tabs, controls, output);
  following.now();
  return { stop: following.stop };
}

function describe(session) {
  const policy = session.network_policy;
  return [
    facts([
      ["Status", status(session.status)],
      ["Owner", session.owner_agent_id ? named(session.owner_agent_id) : "a person"],
      ["Profile", session.profile],
      ["Browser", session.browser ? `${session.browser.name} ${session.browser.version}` : ""],
      ["Sandbox", session.sandbox],
      ["Egress", session.egress_isolation],
      ["Goes only to", policy?.allowed_domains.join(", ")],
      ["Requests", session.network_requests],
      ["Restarts", session.restart_count],
      ["Opened", when(session.created_at_ms)],
    ]),
    make("p", {}, make("a", { href: address("events", { subject: session.session_id }) }, "Its events")),
  ];
}

function tabEntry(path, tab, isOpen, run) {
  const at = `${path}/tabs/${encodeURIComponent(tab.tab_id)}`;
  const title = tab.title || "untitled";
  const act = (op, args) => post(`${at}/actions`, { op, args }).then((envelope) => envelope.result);
  const press = (text, work) => button(text, () => run(work), { key: `${text} ${tab.tab_id}`, label: `${text} ${title}` });
  const buttons = [
    press("Read", async () => {
      const page = await act("read_page", { format: "text" });
      return [make("h4", {}, "Text of the page"), make("p", { class: "quiet" }, page.url), block("Text of the page", page.content)];
    }),
    press("Screenshot", async () => {
      const shot = await act("screenshot", {});
      return [make("h4", {}, "Screenshot"), await image(shot, `Screenshot of ${title}`)];
    }),
    press("Close tab", async () => {
      await post(`${at}/close`);
      return [make("p", {}, "The tab is closed.")];
    }),
  ];
  return make(
    "li",
    { "data-tab": tab.tab_id },
    make("strong", {}, title),
    " ",
    status(tab.status),
    make("span", { class: "quiet url" }, tab.url),
    tab.dialog ? make("p", { class: "warning" }, `A ${tab.dialog.kind} is open: ${tab.dialog.message}`) : "",
    make("div", { class: "buttons" }, ...(isOpen ? buttons : [])),
  );
}

function openTab(path) {
  const contents = [
    field("URL", "url", { wide: true, inputmode: "url" }),
    button("Open tab", null, { type: "submit" }),
  ];
  return form("Open a tab", contents, async ({ url }, element) => {
    await post(`${path}/tabs`, { url: url.trim() });
    element.reset();
  });
}

function closing(path, run) {
  const close = async () => {
    await post(`${path}/close`);
    return [make("p", {}, "The session is closed.")];
  };
  return make("p", {}, button("Close session", () => run(close)));
}
