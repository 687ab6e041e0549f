// Parts that several pages show: prices, limits, adding to the cart.
import { Offline, accepted, session } from "./api.js";
import { byId, h, hidden, kept, picture, say, sayNext, t, tab } from "./dom.js";
import { charged, moment, money, refreshUser, utc, virtual } from "./store.js";

/** Who gets what is bought: the player's head and name. */
export const who = ({ username, avatar }) => h("p", { class: "who" }, picture(avatar, 48), h("span", {}, h("span", { class: "soft" }, t("who")), " ", h("strong", {}, username)));

const isFull = (limit, now) => limit !== null && limit !== undefined && now >= limit;

/**
 * An item with what the visitor's purchases change. The API has one price for all of that; of a step, the difference to what the page
 * shows to everyone is the credit for a lower one. An item that only the visitor cannot buy, without having reached a limit, is one
 * that they have already.
 */
export function forVisitor(item, everyone) {
  const isOwned = item.is_unavailable && !everyone.is_unavailable && item.active !== false && left(item) !== 0 && !isFull(item.quantityUserLimit, item.quantityUserCurrentLimit);
  const credit = everyone.is_step && everyone.price > item.price ? everyone.price - item.price : 0;
  const { price } = credit > 0 ? everyone : item;
  // What a price is reduced from is the same for everyone: the page says it.
  const { regular, isLowest } = everyone;
  return { ...item, isOwned, credit, running: item.sale, sale: { price, discount: regular - price, regular, isLowest } };
}

const left = (item) => (item.quantityGlobalLimit === null ? null : Math.max(0, item.quantityGlobalLimit - item.quantityGlobalCurrentLimit));

/** Why an item cannot be put into the cart; empty if it can. */
export function hindrance(item) {
  if (!item.is_unavailable) return "";
  if (item.unavailable_because) return item.unavailable_because;
  if (item.isOwned) return t("hindrance.owned");
  if (item.available_again_at) {
    const isBought = left(item) === 0 || isFull(item.quantityUserLimit, item.quantityUserCurrentLimit);
    return t(isBought ? "hindrance.again" : "hindrance.not_yet", moment(utc(item.available_again_at)));
  }
  if (!item.active) return t("hindrance.inactive");
  return left(item) === 0 ? t("hindrance.sold_out") : t("hindrance.limit");
}

/** Whether another player can still get what the visitor cannot buy: a gift does not count for its buyer. */
export const canBeGiven = (item) =>
  item.gifting && item.active !== false && left(item) !== 0 && (!item.available_again_at || isFull(item.quantityUserLimit, item.quantityUserCurrentLimit));

/** A time with what is left until then, which `countdown` keeps up to date. */
const ending = (time) => h("time", { datetime: time, "data-countdown": true }, moment(time));

const SECOND = 1000;
const DAY = 86400;
/** When the page was loaded, by the visitor's clock. */
const LOADED = Date.now();

/** What is chosen on an item's page, which `choose` puts into the next one. */
const chosen = () => [...document.querySelectorAll("form.choices [name]")].map((one) => [one.name, one.value]);

export function choose(choices) {
  for (const [name, value] of choices) {
    const control = document.querySelector(`form.choices [name="${name}"]`);
    if (control) control.value = value;
  }
}

/** A sale is over: the page is loaded again with the prices of now, and with what is chosen on it. A browser that would forget that is only told. */
function saleIsOver() {
  if (!kept.isLasting || !tab.isLasting) return say(t("sale.load"), "bad");
  tab.write("chosen", { path: location.pathname, choices: chosen(), focus: document.activeElement.name });
  sayNext(t("sale.over"));
  return location.reload();
}

/** What was chosen before a sale was over. */
export function chooseAgain() {
  const was = tab.read("chosen");
  tab.remove("chosen");
  if (was?.path !== location.pathname) return;
  choose(was.choices);
  if (was.focus) document.querySelector(`form.choices [name="${was.focus}"]`)?.focus();
}

/**
 * Shows how long each sale of a page still runs, and what it costs once one is over. What was over when the page came is so only by a clock
 * that is ahead, and would be again.
 */
export function countdown(main) {
  const tick = () => {
    for (const time of main.querySelectorAll("time[data-countdown]")) {
      if (new Date(time.dateTime) <= LOADED) continue;
      const left = Math.ceil((new Date(time.dateTime) - Date.now()) / SECOND);
      if (left <= 0) {
        // What is being put into the cart is finished first, and a browser that is offline has no page to load.
        if (document.querySelector("[aria-busy=true]") || !navigator.onLine) return;
        clearInterval(timer);
        saleIsOver();
        return;
      }
      const parts = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60].map((part) => String(part).padStart(2, "0"));
      time.textContent = `${moment(time.dateTime)}${left < DAY ? ` (${t("sale.left", parts.join(":"))})` : ""}`;
    }
  };
  const timer = setInterval(tick, SECOND);
  tick();
}

const amount = (tag, sum) => h(tag, { "data-money": sum }, money(sum));

/** What an item costs: what it is reduced from if there is a sale, and the credit for what the visitor has. */
export function price(item) {
  if (item.is_virtual_currency_only) return [virtual(item.virtual_price)];
  const { sale, credit } = item;
  const parts = [];
  if (item.custom_price) parts.push(`${t("price.from")} `, amount("span", item.min_price));
  else {
    if (sale.discount > 0) parts.push(hidden(`${t(sale.isLowest ? "price.lowest" : "price.regular")} `), amount("s", sale.regular), " ", hidden(`${t("price.now")} `));
    parts.push(item.price === 0 ? h("strong", {}, t("price.free")) : amount("strong", item.price));
  }
  if (credit > 0) parts.push(h("small", {}, t("price.less", charged(sale.price), charged(credit))));
  if (item.running) parts.push(" ", h("small", {}, item.running.name, item.running.until ? [` · ${t("sale.until")} `, ending(utc(item.running.until))] : null));
  return parts;
}

/** What is special about an item: discount, subscription, what is left of its limits. */
export function badges(item) {
  const list = [];
  const { discount, regular } = item.sale;
  if (discount > 0 && regular > 0 && !item.is_unavailable) list.push(["sale", `−${Math.round((discount / regular) * 100)} %`]);
  if (item.is_subs) list.push(["", t("badge.subscription")]);
  if (item.gifting) list.push(["", t("badge.gift")]);
  const units = left(item);
  if (units !== null) list.push(units > 0 ? ["", t("badge.left", units, item.quantityGlobalLimit)] : ["off", t("badge.sold_out")]);
  if (item.quantityUserLimit !== null && item.quantityUserLimit !== undefined) {
    list.push(["", t("badge.user", item.quantityUserCurrentLimit, item.quantityUserLimit)]);
  }
  if (item.isOwned) list.push(["off", t("badge.owned")]);
  else if (item.is_unavailable && units !== 0 && !item.available_again_at) list.push(["off", t("badge.unavailable")]);
  if (item.in_cart) list.push(["", t("badge.in_cart")]);
  return list.map(([kind, text]) => h("span", { class: `badge ${kind}` }, text));
}

/** The address of the login that puts into the cart what is wanted. By any other way to the login, the visitor has thought better of it. */
const LOGIN = "/login#add";

/** What a visitor wanted to put into the cart before the login, and where. */
export const wanted = {
  isAsked: () => location.pathname + location.hash === LOGIN,
  get: () => tab.read("wanted"),
  set: (wish) => tab.write("wanted", wish),
  clear: () => tab.remove("wanted"),
};

/** Puts an item into the cart and says what the API says. Without a response no one knows whether it is there, and it is not sent twice. */
export async function put(item, choices, complain = (text) => text && say(text, "bad")) {
  const told = (text, error) => {
    if (error instanceof Offline) complain(t("add.unsure", item.name));
    else complain(error?.status >= 500 ? t("add.not", item.name) : text);
  };
  const added = await accepted(`/cart/add/${item.id}`, { payment_type: item.is_subs ? 1 : 0, ...choices }, told);
  if (!added) return false;
  say(added.message);
  await refreshUser();
  return true;
}

/** Adds an item to the cart. A guest logs in first, as does a visitor whose login is over. */
export async function add(item, choices = {}, complain) {
  if (session.token && ((await put(item, choices, complain)) || session.token)) return;
  if (!kept.isLasting || !tab.isLasting) return loginHere(item, () => put(item, choices, complain));
  wanted.set({ id: item.id, name: item.name, choices: chosen(), back: location.pathname });
  location.assign(LOGIN);
}

/** The login above the page, in a browser that would forget it, and what was wanted, on the next one. */
async function loginHere(item, then) {
  const { needsLogin } = await import("./pages/login.js");
  const main = byId("main");
  main.querySelector(":scope > .login-here")?.remove();
  const done = async () => {
    box.remove();
    dispatchEvent(new Event("login"));
    await then();
  };
  const box = h("div", { class: "wrap login-here" }, needsLogin(done, t("login.wanted", item.name)).view[1]);
  main.prepend(box);
  box.querySelector("input").focus();
}

/** Lets a button, or that of a form, keep the focus while it works, and work once at a time. */
export function works(control, work) {
  const isForm = control.tagName === "FORM";
  const button = isForm ? control.querySelector("button:not([type=button])") : control;
  control.addEventListener(isForm ? "submit" : "click", async (event) => {
    event.preventDefault();
    if (button.ariaBusy === "true") return;
    button.ariaBusy = "true";
    try {
      await work(event);
    } finally {
      button.ariaBusy = null;
    }
  });
  return control;
}
