// Brings a page to life: header, currency, theme, and the script of the page's kind.
import { accepted, connection, isShown, session } from "./api.js";
import { byId, count, h, hidden, kept, picture, say, sayNext, t, tab } from "./dom.js";
import { convert, currency, loadUser, refreshUser, shop, store, virtual } from "./store.js";

const main = byId("main");
/** The scripts of the kinds of pages. Those that fill their page return a view; other pages are complete without. */
const SCRIPTS = { home: "offers", category: "offers", item: "offers", login: "login", cart: "cart", checkout: "cart", orders: "order", payment: "order", account: "account", subscriptions: "subscriptions" };

/** The kinds of pages for those who are logged in. */
const PRIVATE = ["cart", "checkout", "account", "subscriptions"];
/** Seconds until a page that failed is shown again: at first, and at most. Each time it takes twice as long. */
const RETRY = { first: 2, most: 60 };

let leave;
let isFailure = false;
let hasView = false;
let visits = 0;
let pause = RETRY.first;
let retry;

/** Runs the page's script. What was typed and not sent, and the focus, stay when a page is shown again. */
async function show() {
  const name = SCRIPTS[main.dataset.page];
  const visit = ++visits;
  clearTimeout(retry);
  main.ariaBusy = "true";
  let next = null;
  let problem = null;
  try {
    const script = name ? import(`./pages/${name}.js`) : Promise.resolve();
    script.then(isReady, isBroken);
    await loadUser();
    next = name ? await (await script).default(show) : null;
  } catch (error) {
    problem = error;
    next = await failed(error);
  }
  // The page was begun to be shown again meanwhile.
  if (visit !== visits) return next?.leave?.();
  isFailure = problem !== null;
  if (!isFailure) {
    pause = RETRY.first;
    connection.calm();
  } else if (problem.status === 429 || problem.status >= 500) showLater(problem.retrySeconds);
  if (next) {
    leave?.();
    leave = next.leave;
    hasView = !isFailure;
    const was = focused();
    const restore = takeTyped();
    main.replaceChildren(h("div", { class: "wrap stack" }, next.view));
    const restored = restore();
    if (was) refocus(was);
    // What was typed in a control that has the focus no more is sent, as if it had been left.
    for (const control of restored) if (control !== document.activeElement || control.dataset.typed === "left") control.dispatchEvent(new Event("blur"));
  }
  main.ariaBusy = "false";
  shell();
  if (currency.isConverted) convert();
  dispatchEvent(new Event("shown"));
}

/** The page's buttons work. */
function isReady() {
  document.documentElement.dataset.ready = "";
  delete document.documentElement.dataset.broken;
}

function isBroken() {
  document.documentElement.dataset.broken = "";
}

/** Not all browsers that were refused come again at once. */
function showLater(seconds) {
  retry = setTimeout(show, Math.max(seconds, pause) * (1 + Math.random() / 2) * 1000);
  pause = Math.min(pause * 2, RETRY.most);
}

const named = (name) => main.querySelector(`[name="${CSS.escape(name)}"]`);

/** Takes what was typed out of the page, without what is chosen among several, which its script keeps. Returns what puts it back, and then returns the controls whose value is still to be sent. */
function takeTyped() {
  const typed = [...main.querySelectorAll("input[name]:not([type=radio]), select[name]")].filter((one) => one.dataset.typed !== "no").map((one) => {
    const property = one.type === "checkbox" ? "checked" : "value";
    return { name: one.name, property, value: one[property], state: one.dataset.typed, one };
  });
  // A browser that reports a change of a control that is removed sends nothing.
  for (const { state, one } of typed) if (state) one.dataset.typed = "no";
  return () => typed.flatMap(({ name, property, value, state, one }) => {
    const control = named(name);
    // What waits to be sent, while a login is in the place of the cart, is sent from where it was.
    if (!control && state) one.dataset.typed = state;
    if (!control) return [];
    control[property] = value;
    if (!state) return [];
    control.dataset.typed = state;
    return [control];
  });
}

const controls = () => [...main.querySelectorAll("a, button, input, select")];

/** Where the focus is: a control's name, or its place if it has none, what is selected in it, and the heading of its section. */
function focused() {
  const element = document.activeElement;
  if (!main.contains(element) || element === main) return null;
  return { name: element.type !== "radio" && element.name, place: controls().indexOf(element), select: selection(element), heading: element.closest("section[aria-labelledby]")?.getAttribute("aria-labelledby") };
}

/**
 * What selects in a field what is selected in another. A field of numbers does not say what that is: all of it, as after the Tab that leads
 * there, unless it is typed into.
 */
function selection({ type, dataset, selectionStart, selectionEnd }) {
  const isUntouched = type === "number" && dataset.typed === "no";
  return (field) => (isUntouched ? field.select() : typeof selectionStart === "number" && field.setSelectionRange(selectionStart, selectionEnd));
}

/** After a change in the cart, the focus stays where it was; in the section, if what had it is gone. */
function refocus({ name, place, select, heading }) {
  const control = name ? named(name) : controls()[place];
  const target = control ?? byId(heading) ?? main.querySelector("h1");
  if (!control) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  if (control) select(control);
}

async function failed(error) {
  if (error.status === 401) {
    const { needsLogin } = await import("./pages/login.js");
    return needsLogin(show);
  }
  if (!isShown(error)) {
    console.error(error);
    isBroken();
  }
  const text = isShown(error) ? error.message : t("broken");
  // Such a page is complete without its script, or is kept with what was typed into it. It is tried again, which is not said each time.
  if (hasView || [undefined, "offers"].includes(SCRIPTS[main.dataset.page])) {
    if (!isFailure && isShown(error)) say(text, "bad");
    return null;
  }
  return { view: [h("h1", {}, t("trouble")), h("p", { class: "note" }, text), h("p", {}, h("button", { type: "button", onclick: show }, t("again")))] };
}

/** The header, as far as it depends on the visitor. */
function shell() {
  const units = count("cart.units", store.inCart);
  byId("count").textContent = store.inCart;
  byId("count").hidden = store.inCart === 0;
  document.querySelector(".cart-link").ariaLabel = t("cart.with", units);
  byId("account").replaceChildren(...(store.user ? account() : [h("a", { class: "button", href: "/login" }, t("login"))]));
}

function account() {
  const { username, avatar, virtual_currency: balance } = store.user;
  const leaves = () => {
    session.clear();
    sayNext(t("logout.done"));
    location.reload();
  };
  return [
    h("a", { class: "player", href: "/account", title: t("account") }, picture(avatar, 32),
      h("span", { class: "player-name" }, username, balance !== undefined && h("small", {}, virtual(balance)))),
    h("button", { type: "button", class: "link", onclick: leaves }, t("logout"), hidden(` ${username}`)),
  ];
}

addEventListener("session", shell);
// Another tab has logged in or out: this one shows, and would change, what is another account's. All of the storage has no key.
addEventListener("storage", ({ key }) => (key === "token" || key === null) && location.reload());
addEventListener("expired", () => {
  Object.assign(store, { user: null, inCart: 0 });
  shell();
  say(t("login.over"), "bad");
  // It shows the login, after which the visitor is back.
  if (PRIVATE.includes(main.dataset.page)) show();
});
// A page with something typed into it is not changed.
connection.restored = () => (isFailure ? show() : refreshUser());
// A login on a page that would be lost with it.
addEventListener("login", show);

const chooser = byId("currency");
// What was chosen before this script ran.
if (chooser.querySelector("[selected]:not(:checked)")) currency.choose(chooser.value);
chooser.value = currency.shown.name;
chooser.addEventListener("change", () => {
  currency.choose(chooser.value);
  convert();
  if (["cart", "checkout"].includes(main.dataset.page)) show();
});

for (const button of document.querySelectorAll("#theme, [data-switch]")) button.addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  kept.set("theme", root.dataset.theme);
});

for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", async () => {
  // A page without TLS has no clipboard.
  const isCopied = await navigator.clipboard?.writeText(button.dataset.copy).then(() => true, () => false);
  say(t(isCopied ? "copied" : "copied.not", button.dataset.copy), isCopied ? "good" : "bad");
});

// A sign is in the place of a picture that is not there, such as that of a player whom no one has drawn.
const replaced = (image) => image.replaceWith(picture("", image.width));
document.addEventListener("error", ({ target }) => target.tagName === "IMG" && replaced(target), true);
for (const image of [...document.images]) if (image.complete && image.naturalWidth === 0) replaced(image);

// The hint at a wide table is shown while there is more.
for (const box of document.querySelectorAll(".scroll-box")) {
  const table = box.querySelector(".scroll");
  const measure = () => box.classList.toggle("has-more", table.scrollLeft + table.clientWidth < table.scrollWidth - 4);
  table.addEventListener("scroll", measure, { passive: true });
  new ResizeObserver(measure).observe(table);
}

// On a phone the menu is wider than the screen: its current entry is in sight.
const here = document.querySelector("#menu [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;

// A page that a browser kept is from before a logout, or before what was bought.
addEventListener("pageshow", ({ persisted }) => persisted && location.reload());

/** A link with `?ref=CODE` applies the referral code. The visitor did not enter it, and is not notified of a refusal. */
async function captureReferral() {
  const address = new URL(location);
  const code = address.searchParams.get("ref");
  if (!code || !shop.is_ref) return;
  const captured = await accepted("/capture-referral", { ref: code }, () => {}, { isOptional: true });
  address.searchParams.delete("ref");
  history.replaceState(history.state, "", address);
  if (!captured) return;
  say(captured.message);
  // The cart may have been shown without it.
  if (PRIVATE.includes(main.dataset.page)) show();
}

const said = tab.get("says");
tab.remove("says");
if (said) say(said);
show();
captureReferral();
