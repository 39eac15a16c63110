// Messages: sending, the conversations, and one of them in order.

import { post, read } from "../api.js";
import { button, make, refill, status, when } from "../dom.js";
import { field, form, refusal } from "../forms.js";
import { live, ofRoot } from "../live.js";
import { named } from "../log.js";
import { address, go } from "../route.js";

const PAGE = 200;
const MOST = 1_000;

export function messages(section, { log }, parameters) {
  let chosen = parameters;
  const list = make("ul", { class: "conversations", "aria-label": "Conversations" });
  const thread = make("ol", { class: "thread", "aria-label": "Messages, oldest first" });
  const heading = make("h3", {}, "Conversation");
  const told = make("div", { "aria-live": "polite" });
  const refresh = async () => {
    try {
      const recent = await read(`/api/messages?page_size=${PAGE}`);
      refill(list, ...conversations(recent.messages).map((each) => conversation(each, chosen.conversation_id)));
      const id = chosen.conversation_id;
      heading.textContent = id ? `Conversation ${id}` : "Choose a conversation, or send a message.";
      refill(thread, ...(id ? (await whole(id)).map((each) => entry(each, following.now, told)) : []));
    } catch (error) {
      told.replaceChildren(refusal(error));
    }
  };
  const following = live(log, ofRoot("message"), refresh);
  const send = sending(following);
  const show = () => {
    send.elements.namedItem("conversation_id").value = chosen.conversation_id ?? "";
    following.now();
  };
  section.replaceChildren(
    make("h2", {}, "Messages"),
    make(
      "div",
      { class: "columns" },
      make("div", {}, send, make("h3", {}, "Conversations"), list),
      make("div", { class: "detail" }, heading, thread, told),
    ),
  );
  show();
  return {
    change: (next) => {
      chosen = next;
      show();
    },
    leave: following.stop,
  };
}

function sending(following) {
  const contents = [
    field("To", "recipient", { required: true, placeholder: "agent_…, user:name or system" }),
    field("From", "sender", { placeholder: "yourself" }),
    field("Conversation", "conversation_id", { placeholder: "a new one" }),
    field("Text", "text", { kind: "textarea", rows: "3", wide: true, required: true }),
    button("Send", null, { type: "submit" }),
  ];
  return form("Send a message", contents, async (values, element) => {
    const optional = Object.entries({ sender: values.sender.trim(), conversation_id: values.conversation_id.trim() });
    const given = Object.fromEntries(optional.filter(([, value]) => value));
    const { result } = await post("/api/messages", { recipient: values.recipient.trim(), payload: { text: values.text }, ...given });
    element.elements.namedItem("text").value = "";
    go("messages", { conversation_id: result.conversation_id });
    following.now();
  });
}

/** The last message of each conversation, newest first. */
function conversations(all) {
  const last = new Map();
  for (const message of [...all].sort((one, other) => other.timestamp_ms - one.timestamp_ms)) {
    if (!last.has(message.conversation_id)) {
      last.set(message.conversation_id, message);
    }
  }
  return [...last.values()];
}

function conversation(message, chosen) {
  const id = message.conversation_id;
  return make(
    "li",
    { class: id === chosen && "current" },
    make("a", { href: address("messages", { conversation_id: id }), "aria-current": id === chosen && "true" }, id),
    make("span", { class: "quiet" }, ` ${message.sender} to ${message.recipient}, ${when(message.timestamp_ms)}`),
    make("p", {}, said(message).slice(0, 120)),
  );
}

/** A conversation in order, its last messages when it is long. */
async function whole(id) {
  let all = [];
  let token = "";
  do {
    const more = token ? `&page_token=${encodeURIComponent(token)}` : "";
    const page = await read(`/api/messages?conversation_id=${encodeURIComponent(id)}&page_size=${PAGE}${more}`);
    all = [...all, ...page.messages].slice(-MOST);
    token = page.next_page_token;
  } while (token);
  return all;
}

function said(message) {
  const { text, ...rest } = message.payload ?? {};
  return typeof text === "string" && Object.keys(rest).length === 0 ? text : JSON.stringify(message.payload);
}

function entry(message, refresh, told) {
  const read_ = async () => {
    try {
      await post(`/api/messages/${encodeURIComponent(message.message_id)}/read`);
      await refresh();
    } catch (error) {
      told.replaceChildren(refusal(error));
    }
  };
  const mark = button("Mark read", read_, { key: `read ${message.message_id}`, label: `Mark read: ${said(message).slice(0, 60)}` });
  return make(
    "li",
    { "data-message": message.message_id },
    make("p", { class: "quiet" }, named(message.sender), " to ", named(message.recipient), ` · ${when(message.timestamp_ms)} · `, status(message.status)),
    make("p", { class: "said" }, said(message)),
    message.status === "read" ? "" : mark,
  );
}
