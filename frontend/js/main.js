// The page: login, the view that the address names, one event stream for all views.

import { read, useToken } from "./api.js";
import { Log } from "./log.js";
import { current } from "./route.js";
import { EventStream } from "./stream.js";
import { agents } from "./views/agents.js";
import { audit } from "./views/audit.js";
import { dashboard } from "./views/dashboard.js";
import { events } from "./views/events.js";
import { messages } from "./views/messages.js";
import { search } from "./views/search.js";
import { sessions } from "./views/sessions.js";

const VIEWS = { dashboard, agents, sessions, search, messages, events, audit };
const LOADED = 100;

const login = document.getElementById("login");
const loginError = document.getElementById("login-error");
const section = document.getElementById("view");
const connection = document.getElementById("connection");

const state = { log: new Log(), gaps: new Log(), beats: new Log(), stream: null, view: null, name: "" };

function showConnection(name, text) {
  connection.dataset.state = name;
  connection.textContent = text;
}

function showView() {
  const wanted = current();
  const name = Object.hasOwn(VIEWS, wanted.name) ? wanted.name : "dashboard";
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link.getAttribute("href") === `#/${name}`;
    if (isCurrent) {
      link.setAttribute("aria-current", "page");
      document.title = `${link.textContent} · HyperKitty`;
    } else {
      link.removeAttribute("aria-current");
    }
  }
  if (!state.stream) {
    return;
  }
  if (state.view && state.name === name) {
    state.view.change?.(wanted.parameters);
    return;
  }
  state.view?.leave();
  state.name = name;
  state.view = VIEWS[name](section, state, wanted.parameters);
}

function logOut(reason) {
  useToken("");
  state.stream?.stop();
  state.view?.leave();
  state.stream = null;
  state.view = null;
  section.hidden = true;
  section.replaceChildren();
  login.hidden = false;
  loginError.textContent = reason;
  showConnection("lost", "Not connected");
}

async function logIn(token) {
  useToken(token);
  const recent = (await read(`/api/events/recent?limit=${LOADED}`)).events;
  state.log = new Log();
  state.log.add([...recent].reverse());
  state.stream = new EventStream({
    events: (fresh) => state.log.add(fresh),
    gap: (gap) => state.gaps.add([gap]),
    beat: () => state.beats.add([]),
    state: (name, reason) => {
      if (name === "refused") {
        logOut(reason);
      } else {
        if (name === "live") {
          // What was missed while away may have left no event.
          state.beats.add([]);
        }
        showConnection(name, name === "live" ? "Live" : `Reconnecting… ${reason}`);
      }
    },
  });
  // After the newest event that is shown: nothing between the list and the stream is lost.
  state.stream.start(recent.length > 0 ? recent[0].sequence : 0);
  login.hidden = true;
  section.hidden = false;
  showView();
}

login.addEventListener("submit", async (submission) => {
  submission.preventDefault();
  const field = login.elements.namedItem("token");
  const token = field.value.trim();
  field.value = "";
  loginError.textContent = "";
  try {
    await logIn(token);
    document.getElementById("main").focus();
  } catch (error) {
    logOut(`${error.message}. ${error.hint ?? ""}`);
  }
});
addEventListener("hashchange", showView);
showView();
