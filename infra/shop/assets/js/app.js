// The frame of every page: routes, header and footer, currency, theme, and what happens when a page cannot be shown.
import { Offline, Refused, call, config, connection, session } from "./api.js";
import { byId, decoded, h, hidden, picture, say } from "./dom.js";
import { cart } from "./pages/cart.js";
import { category } from "./pages/category.js";
import { gameServers } from "./pages/console.js";
import { closed, loginPage, missing, needsLogin, page, patrons, staff } from "./pages/content.js";
import { home } from "./pages/home.js";
import { item } from "./pages/item.js";
import { order } from "./pages/order.js";
import { subscriptions } from "./pages/subscriptions.js";
import { add } from "./parts.js";
import { currency, embers, loadStore, loadUser, store } from "./store.js";

const main = byId("main");
let leave;
let visit = 0;
let isShown = false;
/** What a visitor wanted to put into the cart before the login, and where. */
let wanted = null;

function match(path, query) {
  const [first, ...rest] = path.split("/").filter(Boolean).map(decoded);
  const below = rest.join("/");
  switch (first) {
    case undefined: return home;
    case "category": return () => category(below);
    case "item": return () => item(below);
    case "pages": return () => page(below);
    case "staff": return staff;
    case "patrons": return patrons;
    case "login": return () => loginPage(entered, wanted && `Log in, and ${wanted.item.name} is put into your cart.`);
    // A buyer who leaves the payment provider's page comes back to /checkout.
    case "checkout":
    case "cart": return () => cart(show);
    case "orders": return () => order(below, null, go, false);
    case "subscriptions": return () => subscriptions(() => show({ isNew: true }));
    case "console": return gameServers;
    case "payment": return () => order(query.get("order_id"), query.get("checkout_id"), go, true);
    default: return missing;
  }
}

/** Shows the page of the address. The present page stays until the next one is complete, so that nothing jumps. */
async function show({ isNew = false } = {}) {
  const mine = (visit += 1);
  main.setAttribute("aria-busy", "true");
  const wasLoggedIn = Boolean(session.token);
  let next;
  try {
    if (!store.settings) {
      await loadStore();
      await loadUser();
    }
    next = (await gate()) ?? (await match(location.pathname, new URLSearchParams(location.search))());
  } catch (error) {
    next = failed(error, wasLoggedIn);
  }
  if (mine !== visit) return next?.leave?.();
  leave?.();
  leave = next.leave;
  const focused = isNew ? null : placeOf(document.activeElement);
  const typed = isNew ? [] : [...main.querySelectorAll("[name]")].map((one) => [one.name, one.type === "checkbox" ? "checked" : "value", one]);
  main.replaceChildren(...[next.view].flat().filter(Boolean));
  // What was typed and not sent yet is not lost when the page is shown again.
  for (const [field, property, old] of typed) {
    const control = main.querySelector(`[name="${field}"]`);
    if (control) control[property] = old[property];
  }
  main.setAttribute("aria-busy", "false");
  const name = store.settings?.website_name;
  document.title = name && name !== next.title ? `${next.title} – ${name}` : next.title;
  isShown = !next.isFailure;
  shell();
  if (isNew) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  } else if (focused !== null) controls()[focused]?.focus({ preventScroll: true });
  return undefined;
}

// After a change in the cart, the focus stays where it was.
const controls = () => [...main.querySelectorAll("a, button, input, select")];
const placeOf = (element) => (main.contains(element) && element !== main ? controls().indexOf(element) : null);

/** After a login: back to where the visitor wanted something, which is put into the cart. */
async function entered() {
  const { item, choices, back, typed } = wanted ?? { back: "/", typed: [] };
  wanted = null;
  await go(back);
  for (const [name, value] of typed) {
    const control = main.querySelector(`[name="${name}"]`);
    if (control) control.value = value;
  }
  // The item's own page shows a refusal at the field that it is about.
  if (typed.length > 0) main.querySelector("form.choices")?.requestSubmit();
  else if (item) await add(item, choices);
}

/** A page instead of the wanted one, if the store is closed to this visitor. */
async function gate() {
  const access = await call("/checkAccessibility", undefined, { method: "GET", credentials: "include" });
  return access.success || access.status === "invalid_token" ? null : closed(access.message);
}

function failed(error, wasLoggedIn) {
  if (error instanceof Refused && error.status === 401) return needsLogin(() => show({ isNew: true }), wasLoggedIn ? error.message : "");
  if (error instanceof Refused && error.status === 404) return missing(error.message);
  if (!(error instanceof Refused || error instanceof Offline)) console.error(error);
  const note = h("p", { class: "note" }, error.message);
  return { title: "Store", isFailure: true, view: h("div", { class: "wrap stack" }, h("h1", {}, "One moment"), note) };
}

export function go(path) {
  if (path !== "/login") wanted = null;
  history.pushState(null, "", path);
  return show({ isNew: true });
}

function shell() {
  if (!store.settings) return;
  const { website_name: name, header, footer, currencies, is_patrons_enabled: hasPatrons, socials } = store.settings;
  byId("brand").textContent = name;
  const here = decoded(location.pathname);
  const link = (text, url, inside = here === url) => {
    const isOutside = /^[a-z]+:/i.test(url);
    return h("a", { href: url, rel: isOutside ? "noopener" : null, "aria-current": inside ? "page" : null }, text);
  };
  byId("menu").replaceChildren(...store.categories.map((one) => link(one.name, `/category${one.url}`, here === `/category${one.url}` || here.startsWith(`/category${one.url}/`))));
  const more = [["Staff", "/staff"], ...(hasPatrons ? [["Patrons", "/patrons"]] : []), ["Orders", "/orders"], ["Subscriptions", "/subscriptions"], ...(config.console ? [["Game servers", "/console"]] : [])];
  byId("footer").replaceChildren(
    h("nav", { "aria-label": "Pages" }, header.map((one) => link(one.name, one.url)), more.map(([text, url]) => link(text, url)), footer.map((one) => link(one.name, one.url))),
    h("nav", { "aria-label": "Elsewhere" }, Object.entries(socials).map(([text, url]) => h("a", { href: url, rel: "noopener", class: "capital" }, text))),
    h("button", { type: "button", class: "only-phone", onclick: switchTheme }, "Switch between light and dark"),
    h("p", { class: "soft" }, `${name} is shown by the local server, with a stand-in for the payment provider. Nothing here costs anything.`));
  byId("currency").replaceChildren(...currencies.map((one) => h("option", { value: one.name, selected: one.name === currency.shown.name }, one.name)));
  const count = byId("count");
  count.textContent = store.inCart;
  count.hidden = store.inCart === 0;
  document.querySelector(".cart-link").setAttribute("aria-label", `Cart, ${store.inCart} ${store.inCart === 1 ? "unit" : "units"}`);
  byId("account").replaceChildren(...(store.user ? account() : [h("a", { class: "button", href: "/login" }, "Log in")]));
}

const account = () => [
  h("a", { class: "player", href: "/subscriptions", title: "Your subscriptions" }, picture(store.user.avatar || "/img/avatars/player.svg", 32),
    h("span", { class: "player-name" }, store.user.username, store.user.virtual_currency !== undefined && h("small", {}, embers(store.user.virtual_currency)))),
  h("button", { type: "button", class: "link", onclick: () => { session.clear(); store.user = null; store.inCart = 0; say("You are logged out."); show({ isNew: true }); } }, "Log out", hidden(` ${store.user.username}`)),
];

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || link.target || url.hash) return;
  event.preventDefault();
  go(url.pathname + url.search);
});
addEventListener("popstate", () => show({ isNew: true }));
addEventListener("shell", shell);
addEventListener("wanted", ({ detail }) => {
  const typed = [...main.querySelectorAll("form.choices [name]")].map((one) => [one.name, one.value]);
  wanted = { ...detail, typed, back: location.pathname + location.search };
  go("/login");
});
addEventListener("session", () => { store.user = null; store.inCart = 0; shell(); });
connection.restored = async () => {
  try {
    await loadStore();
    await loadUser();
  } catch (error) {
    // It was lost again, which is noticed and shown where the call was made.
    if (!(error instanceof Offline)) throw error;
    return;
  }
  // A page with something typed into it is not changed.
  if (!isShown) show();
};
byId("currency").addEventListener("change", (event) => {
  currency.choose(event.target.value);
  show();
});
byId("theme").addEventListener("click", switchTheme);

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

show();
