// The login: by name, or confirmed by the player in the game, as the store's `auth_type` says.
import { accepted, call, isShown, session } from "../api.js";
import { AS_TYPED, field, h, kept, parts, sayNext, t, tab } from "../dom.js";
import { wanted, works } from "../parts.js";
import { refreshUser, serverAddress, shop, store } from "../store.js";

/** Milliseconds between two questions whether the player has confirmed. */
const PAUSE = 5000;
/** Milliseconds in which a login can be confirmed. */
const TIME = 300_000;

/** The login that this tab waits for. A reload keeps it: a phone often drops the page while its owner is in the game. */
const begun = {
  get() {
    const login = tab.read("login");
    return login?.until > Date.now() ? login : null;
  },
  set: (login) => tab.write("login", login),
  clear: () => tab.remove("login"),
};

/** A refusal at the field of the name, which says what a name is. */
const refused = (box) => (text) => box.complain(/^Incorrect username/.test(text) ? t("login.name_is") : text);

/**
 * The secret by which the API knows this browser. A phone may begin a login in one network and end it in another, and others behind
 * its address cannot end it. It is made here: a browser that was given one, and lost the response, would be a second caller.
 */
function secret() {
  if (!/^[0-9a-f]{32}$/.test(kept.get("login_secret"))) {
    kept.set("login_secret", [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  }
  return kept.get("login_secret");
}

const gameAuth = (step, name) => `/game_auth/${step}/${encodeURIComponent(name)}`;
const command = () => h("code", {}, "/ms auth");

/** The page of the login: after it, back to where the visitor wanted something. */
export default function login() {
  if (!wanted.isAsked()) wanted.clear();
  const wish = wanted.get();
  const after = () => {
    if (wish) wanted.set({ ...wish, hasLogin: true });
    location.assign(wish?.back ?? "/");
  };
  const { panel, leave } = form(after, wish && t("login.wanted", wish.name));
  return { view: [h("h1", {}, t("login.title")), panel], leave };
}

/** The login in the place of a page that is for those who are logged in. */
export function needsLogin(again, message = "") {
  wanted.clear();
  const { panel, leave } = form(again, message);
  return { view: [h("h1", {}, t("login.needed")), panel], leave };
}

/** The question whether a player plays Java or Bedrock. Nothing is chosen at first: a wrong name is another user's, or no one's. */
function editions(username) {
  const known = username ? (username.startsWith(shop.bedrock) ? "bedrock" : "java") : kept.get("edition");
  const one = (value) => h("label", { class: "tick" },
    h("input", { type: "radio", name: "edition", value, required: true, checked: known === value, onchange: () => kept.set("edition", value) }),
    h("span", {}, t(`login.${value}`)));
  const box = h("fieldset", { class: "editions" }, h("legend", {}, t("login.edition")), one("java"), one("bedrock"));
  box.isBedrock = () => box.querySelector("input:checked")?.value === "bedrock";
  return box;
}

function form(after, message) {
  const isInGame = shop.auth_type === "ingame";
  const panel = h("section", { class: "panel narrow", id: "login-panel", "aria-labelledby": "login" });
  const show = (...children) => {
    panel.replaceChildren(...children.filter(Boolean));
    dispatchEvent(new Event("shown"));
  };
  let timers = [];
  const leave = () => timers.forEach(clearInterval);

  const enter = async (token) => {
    session.set(token);
    await refreshUser();
    if (store.user) sayNext(t("login.as", store.user.username));
    after();
  };

  const ask = (username = "", problem = "") => {
    const name = h("input", { ...AS_TYPED, name: "username", autocomplete: "username", required: true, maxlength: 64, value: username });
    const box = field(t("login.name"), name, problem);
    const edition = shop.bedrock && editions(username);
    const submit = async () => {
      // The keyboard of a phone adds a space to a word that it completes.
      const typed = name.value.trim();
      const player = edition && edition.isBedrock() && !typed.startsWith(shop.bedrock) ? shop.bedrock + typed : typed;
      if (!isInGame) {
        const token = await accepted("/auth/username", { username: player }, refused(box));
        if (token) await enter(token);
      } else {
        const login = await accepted(gameAuth("init", player), { secret: secret() }, refused(box));
        if (!login) return;
        begun.set({ name: player, until: Date.now() + TIME });
        if (!panel.isConnected) return;
        wait(begun.get());
        panel.querySelector("h2").focus();
      }
    };
    show(h("h2", { id: "login" }, t("login")),
      message && h("p", { class: "note", role: "status" }, message),
      isInGame && h("p", {}, parts("login.confirm", command())),
      works(h("form", {}, box, edition, shop.bedrock === "" && h("p", { class: "soft" }, t("login.bedrock_name")), h("button", { class: "primary wide" }, t("login"))), submit));
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
      if (seconds <= 0) return end(t("login.late"));
      left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    };
    const check = async () => {
      try {
        const { token } = await call(gameAuth("check", name), { secret: secret() });
        trouble.textContent = "";
        // A login that was cancelled meanwhile does not count.
        if (!token || begun.get()?.until !== until) return;
        leave();
        begun.clear();
        await enter(token);
      } catch (error) {
        if (!isShown(error)) throw error;
        trouble.textContent = error.message;
      }
    };
    show(h("h2", { id: "login", tabindex: "-1" }, parts("login.wait_title", command())),
      message && h("p", { class: "note", role: "status" }, message),
      h("p", { class: "state", role: "status" }, h("span", { "aria-hidden": "true" }, "…"), h("strong", {}, t("login.waiting", name))),
      h("ol", { class: "steps" },
        h("li", {}, parts("login.join", h("code", {}, serverAddress), h("strong", {}, name))),
        h("li", {}, parts("login.type", command())),
        h("li", {}, t("login.back"))),
      trouble,
      h("p", { class: "soft" }, parts("login.left", left)),
      h("button", { type: "button", onclick: () => end("") }, t("cancel")));
    timers = [setInterval(tick, 1000), setInterval(check, PAUSE)];
    tick();
    check();
  };

  const waiting = isInGame && begun.get();
  if (waiting) wait(waiting);
  else ask();
  return { panel, leave };
}
