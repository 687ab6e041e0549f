// The login: by name, or confirmed by the player in the game, as the store's `auth_type` says.
import { Offline, Refused, accepted, call, config, session } from "./api.js";
import { field, h, say } from "./dom.js";
import { loadUser, store } from "./store.js";

/** Milliseconds between two questions whether the player has confirmed. */
const PAUSE = 5000;
/** Milliseconds in which a login can be confirmed. */
const TIME = 300_000;

/** The login that this tab waits for. A reload keeps it: a phone often drops the page while its owner is in the game. */
const begun = {
  get() {
    const login = JSON.parse(sessionStorage.getItem("login"));
    return login?.until > Date.now() ? login : null;
  },
  set(login) {
    sessionStorage.setItem("login", JSON.stringify(login));
  },
  clear() {
    sessionStorage.removeItem("login");
  },
};

const gameAuth = (step, name) => `/game_auth/${step}/${encodeURIComponent(name)}`;
const command = () => h("code", {}, "/ms auth");

/** The login as a panel, with the sample players to choose from; `leave` ends its timers. */
export function login(after, message = "") {
  const isInGame = store.settings.auth_type === "ingame";
  const panel = h("section", { class: "panel narrow", "aria-labelledby": "login" });
  const show = (...parts) => panel.replaceChildren(...parts.filter(Boolean));
  let timers = [];
  const leave = () => timers.forEach(clearInterval);

  const enter = async (token) => {
    session.set(token);
    await loadUser();
    if (store.user) say(`You are logged in as ${store.user.username}.`);
    after();
  };

  const ask = (username = "", problem = "") => {
    const name = h("input", { name: "username", autocomplete: "username", required: true, maxlength: 64, spellcheck: "false", value: username });
    const box = field("Your name in the game", name, problem);
    const submit = async (event) => {
      event?.preventDefault();
      if (!isInGame) {
        const token = await accepted("/auth/username", { username: name.value }, box.complain);
        if (token) await enter(token);
      } else if (await accepted(gameAuth("init", name.value), undefined, box.complain)) {
        begun.set({ name: name.value, until: Date.now() + TIME });
        if (!panel.isConnected) return;
        wait(begun.get());
        panel.querySelector("h2").focus();
      }
    };
    const player = (username) =>
      h("button", { type: "button", class: "chip", onclick: () => { name.value = username; submit(); } }, username);
    show(h("h2", { id: "login" }, "Log in"),
      message && h("p", { class: "note", role: "status" }, message),
      isInGame && h("p", {}, "You confirm in the game that it is you: join the server and type ", command(), "."),
      h("form", { onsubmit: submit }, box, h("button", { class: "primary wide" }, "Log in")),
      h("p", { class: "soft" }, "Players of this sample store:"),
      h("p", { class: "chips" }, config.players.map(player)));
  };

  /** Waits until the player confirms in the game, the time is over, or the visitor cancels. */
  const wait = ({ name, until }) => {
    leave();
    const left = h("span", {});
    const trouble = h("p", { class: "message", role: "status" });
    const end = (problem) => {
      leave();
      begun.clear();
      ask(name, problem);
      panel.querySelector("input").focus();
    };
    const tick = () => {
      const seconds = Math.ceil((until - Date.now()) / 1000);
      if (seconds <= 0) return end("This login was not confirmed within 5 minutes. Log in again to get 5 more.");
      left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    };
    const check = async () => {
      try {
        const { token } = await call(gameAuth("check", name));
        trouble.textContent = "";
        // A login that was cancelled meanwhile does not count.
        if (!token || begun.get()?.until !== until) return;
        leave();
        begun.clear();
        await enter(token);
      } catch (error) {
        if (!(error instanceof Refused || error instanceof Offline)) throw error;
        trouble.textContent = error.message;
      }
    };
    const { ip } = store.settings.server;
    show(h("h2", { id: "login", tabindex: "-1" }, "Join the server and type ", command()),
      message && h("p", { class: "note", role: "status" }, message),
      h("p", { class: "state", role: "status" }, h("span", { "aria-hidden": "true" }, "…"), h("strong", {}, `Waiting for ${name}`)),
      h("ol", { class: "steps" },
        h("li", {}, "Join the server", ip && [" ", h("code", {}, ip)], " as ", h("strong", {}, name), "."),
        h("li", {}, "Type ", command(), " in the game's chat. If there is nothing to confirm yet, type it again after half a minute."),
        h("li", {}, "Come back to this page. It logs you in by itself.")),
      trouble,
      h("p", { class: "soft" }, "Time left: ", left),
      config.console && h("p", { class: "soft" }, "In this demo, players join on the page of the ", h("a", { href: "/console", target: "_blank" }, "game servers"), "."),
      h("button", { type: "button", onclick: () => end("") }, "Cancel"));
    timers = [setInterval(tick, 1000), setInterval(check, PAUSE)];
    tick();
    check();
  };

  const waiting = isInGame && begun.get();
  if (waiting) wait(waiting);
  else ask();
  return { panel, leave };
}
