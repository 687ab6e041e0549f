// The state of an order, asked again until it is final. The API allows 18 look-ups in a minute from one address.
import { Offline, call, isShown, session } from "../api.js";
import { AS_TYPED, decoded, field, h, parts, picture, say, t } from "../dom.js";
import { who, works } from "../parts.js";
import { purchase, purchases } from "../purchases.js";
import { date, methodName, moment, moneyIn, refreshUser, serverAddress, shop, store, utc } from "../store.js";
import { needsLogin } from "./login.js";

/** Seconds between two look-ups: 15 in a minute. */
const PAUSE = 4;
/** Seconds until a delivery is looked up again: at first, and at most. Each time it takes half as long again. */
const DELIVERY = { first: 4, most: 60 };
/** What the delivery of a line means to its buyer: a mark, a class, and a text. */
const DELIVERIES = {
  waiting: ["→", "soft", () => t("delivery.waiting")],
  join: ["…", "soft", ({ player, servers }) => t("delivery.join", player, servers.join(", "))],
  delivered: ["✓", "good", () => t("delivery.delivered")],
  refused: ["!", "bad", () => t("delivery.refused")],
  unknown: ["?", "bad", () => t("delivery.unknown")],
  withdrawn: ["✕", "soft", (_, isRefunded) => t(isRefunded ? "delivery.taken_back" : "delivery.not")],
};

/** The page of an order, to which a buyer also comes back from the payment page. Without an id: the visitor's orders. */
export default async function order(again) {
  const [, kind, last = ""] = location.pathname.split("/");
  const query = new URLSearchParams(location.search);
  const isReturn = kind === "payment";
  const [id, checkoutId] = isReturn ? [query.get("order_id"), query.get("checkout_id")] : [decoded(last), null];
  const title = h("h1", {}, t(id ? "order" : "orders.title"));
  const state = h("div", { class: "order", "aria-live": "polite", "aria-busy": id ? "true" : null });
  const waits = h("p", { class: "soft", role: "status" });
  const view = [title, state, waits, !isReturn && lookup(id)];
  let timer;
  let deliveryTimer;
  let shown;
  let known;
  const stop = () => {
    clearTimeout(timer);
    clearTimeout(deliveryTimer);
  };
  /** Announced by screen readers, and therefore replaced only if it differs. */
  const display = (key, children) => {
    if (key === shown) return;
    shown = key;
    state.replaceChildren(...children());
  };
  const wait = (text) => {
    if (waits.textContent !== text) waits.textContent = text;
  };
  /** Asks again later. A page that no one looks at asks nothing. */
  const later = (seconds, text) => {
    wait(text);
    timer = setTimeout(() => (document.hidden ? later(seconds, text) : ask()), seconds * 1000);
  };
  /** Shows the delivery as it goes on. */
  const follow = (found, details, last, seconds) => {
    deliveryTimer = setTimeout(async () => {
      const next = document.hidden ? last : await delivered(details).catch(() => last);
      if (next.key !== last.key && last.key === "") display(next.key, () => summary(found, details, next, isReturn));
      else if (next.key !== last.key) {
        state.querySelector(".bought")?.replaceWith(bought(next, details));
        state.querySelector(".next")?.replaceWith(whatIsNext(next, details));
      }
      if (next.isOpen) follow(found, details, next, Math.min(seconds * 1.5, DELIVERY.most));
    }, seconds * 1000);
  };
  const ask = async () => {
    let remaining = null;
    try {
      const seen = (left) => { remaining = left; };
      const found = await call("/payments/checkStatus", { order_id: id, ...(checkoutId && { checkout_id: checkoutId }) }, { seen });
      const details = found.order_data;
      if (details?.status === "PAID" && isReturn) title.textContent = t("order.thanks");
      // Of a payment that goes on, nothing else changes.
      if (details && details.status !== known?.status) known = await delivered(details).catch(() => null);
      const delivery = known ?? UNKNOWN;
      const key = JSON.stringify([details?.status, found.message, delivery.key]);
      display(key, () => (details ? summary(found, details, delivery, isReturn) : [note(found.message)]));
      clearTimeout(deliveryTimer);
      if (delivery.isOpen && details) follow(found, details, delivery, DELIVERY.first);
      if (details?.status !== "PENDING") wait("");
      if (details?.status === "PENDING") later(remaining === "0" ? 60 : PAUSE, t("order.looks_again"));
      else if (details) {
        await refreshUser();
        // What was bought is taken out of the cart right after the order is paid, which can be a moment later.
        if (details.status === "PAID") timer = setTimeout(refreshUser, 2500);
      }
    } catch (error) {
      if (!isShown(error)) throw error;
      if (error.status === 429) {
        later(error.retrySeconds || 60, t("order.looks_later"));
      } else {
        wait("");
        display(error.message, () => [error.status === 401 ? needsLogin(again, t("order.login")).view[1] : note(error.message)]);
        if (error instanceof Offline || error.status >= 500) later(error.retrySeconds || PAUSE, "");
      }
    } finally {
      state.removeAttribute("aria-busy");
    }
  };
  if (id) ask();
  else state.append(...(await listed()));
  return { view, leave: stop };
}

/** The delivery could not be looked up, and is asked for again. */
const UNKNOWN = { rows: [], key: "", isOpen: true };

const note = (text) => h("p", { class: "note" }, text);

/** What was bought and how far it is, with the pictures that this browser knows. */
async function delivered({ internal_id: id, status }) {
  const { lines = [], ...found } = await call("/payments/delivery", { order_id: id }, { isOptional: true });
  const known = [...(purchase(id)?.lines ?? [])];
  const rows = lines.map((line) => {
    const at = known.findIndex((one) => one.name === line.name);
    return { ...line, image: at >= 0 ? known.splice(at, 1)[0].image : "" };
  });
  const states = rows.map(({ state }) => state);
  const isPaid = ["PAID", "REFUNDED"].includes(status);
  const isOpen = isPaid && states.some((state) => state === "waiting" || state === "join");
  return { ...found, rows, status, key: JSON.stringify([states, found.refunded]), isOpen };
}

/** What was bought, and how far its delivery is. It is hidden until something is known of it. */
const bought = ({ rows, status }, { currency }) =>
  h("ul", { class: "bought panel narrow", "aria-label": t("bought"), hidden: rows.length === 0 }, rows.map(({ name, state, count, total, image, gift_to: giftTo, ...waits }) => {
    const [mark, kind, text] = DELIVERIES[state] ?? [];
    return h("li", {}, picture(image, 48),
      h("span", {}, h("strong", {}, count > 1 ? `${count} × ${name}` : name), giftTo && h("span", { class: "soft" }, t("cart.gift", giftTo)),
        text && h("span", { class: `delivery ${kind}` }, h("span", { "aria-hidden": "true" }, mark), text(waits, status === "REFUNDED"))),
      h("span", { class: "price" }, moneyIn(total, currency)));
  }));

/** What is said of the money besides the amount: what came back, when, and that nothing was taken. */
function refund({ refunded, refunded_at: at, is_uncharged: isUncharged }, order) {
  if (isUncharged) return [t("order.charged"), t("order.nothing_charged")];
  if (!(refunded > 0)) return null;
  const sum = moneyIn(refunded, order.currency);
  return [t(refunded < order.price ? "order.refunded_part" : "order.refunded"), at ? t("order.refunded_on", sum, date(utc(at), "medium")) : sum];
}

function summary(found, order, delivery, isReturn) {
  const isPaid = order.status === "PAID";
  const { player, own } = delivery;
  const avatar = player && store.user?.username === player ? store.user.avatar : "";
  return [
    h("p", { class: `state ${order.status.toLowerCase()}` }, h("span", { "aria-hidden": "true" }, { PAID: "✓", PENDING: "…" }[order.status] ?? "✕"), h("strong", {}, t(`order.state.${order.status}`))),
    h("p", { class: "lead" }, found.message),
    own?.pay_url && h("p", { class: "chips" }, h("a", { class: "button primary", href: own.pay_url }, t("order.pay")), h("a", { class: "button", href: "/cart" }, t("cart.back"))),
    player && who({ username: player, avatar }),
    bought(delivery, order),
    isPaid && whatIsNext(delivery, order),
    h("dl", { class: "sums panel narrow" }, [
      [t("order.number"), t("order.number_of", order.id)],
      [t("order.id"), order.internal_id],
      [t("order.method"), methodName(order.gateway)],
      [t("order.date"), moment(utc(order.created_at))],
      own?.coupon && [t("code.coupon"), own.coupon],
      own?.gift_card && [t("code.gift"), own.gift_card],
      [t("order.amount"), moneyIn(order.price, order.currency)],
      delivery.tax > 0 && [t("order.tax"), moneyIn(delivery.tax, order.currency)],
      refund(delivery, order),
    ].filter(Boolean).map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
    own?.has_receipt && receipt(order),
    isPaid && own?.is_subscription && h("p", {}, h("a", { href: "/subscriptions" }, t("subscriptions.change"))),
    isPaid && h("p", { class: "chips" }, h("a", { class: "button primary", href: "/" }, t("back")), isReturn && h("a", { class: "button", href: `/orders/${encodeURIComponent(order.internal_id)}` }, t("order.own_page"))),
    ["FAILED", "CANCELLED"].includes(order.status) && h("p", {}, h("a", { class: "button", href: "/cart" }, t("cart.back"))),
  ].filter(Boolean);
}

/** A button that leads to the provider's receipt. Its address is asked for when it is wanted. */
function receipt({ internal_id: id }) {
  const said = h("span", { role: "status" });
  const open = works(h("button", { type: "button" }, t("order.receipt")), async () => {
    try {
      const { url, message } = await call("/payments/receipt", { order_id: id });
      if (url) location.assign(url);
      else said.textContent = message;
    } catch (error) {
      refusal(error, (text) => { said.textContent = text; });
    }
  });
  return h("p", { class: "chips" }, open, said);
}

/** What happens after a payment. */
function whatIsNext({ rows }, order) {
  const waits = (state) => rows.some((row) => row.state === state);
  const address = serverAddress && [": ", h("code", {}, serverAddress)];
  const now = () => {
    if (waits("join")) return [t("order.joins"), address, "."];
    if (waits("waiting")) return t("order.coming");
    const hasArrived = rows.some((row) => row.state === "delivered") && rows.every((row) => ["delivered", "none"].includes(row.state));
    return hasArrived ? [t("order.arrived"), address, "."] : null;
  };
  const text = now();
  return h("section", { class: "note next", "aria-labelledby": "next" },
    h("h2", { id: "next" }, t("order.next")),
    text && h("p", {}, text),
    h("p", {}, parts("order.help", h("code", {}, order.internal_id)), " ", shop.refunds && h("a", { href: shop.refunds }, t("order.refunds"))));
}

/** A list of orders: what was bought, by its order, and when. */
const list = (orders) => orders.map(({ order, lines, at, state }) => {
  const names = lines.map(({ count, name }) => (count > 1 ? `${count} × ${name}` : name)).join(", ");
  return h("li", {}, h("a", { href: `/orders/${encodeURIComponent(order)}` }, names || order), h("span", { class: "soft" }, [state && t(`order.state.${state}`), date(at, "medium")].filter(Boolean).join(", ")));
});

/** Says why there is no list, or lets the login be shown. */
function refusal(error, complain) {
  if (!isShown(error) || error.status === 401) throw error;
  return complain(error.message);
}

/** The orders of the account, of a login that proves it; otherwise those that this login made in this browser. */
export async function listed() {
  if (!store.user) return [h("p", { class: "soft" }, t("orders.login"))];
  if (session.isByName) {
    const own = purchases();
    return [own.length > 0 && h("ul", { class: "ranking panel orders" }, list(own)), h("p", { class: "soft" }, t(own.length > 0 ? "orders.here" : "orders.none"))].filter(Boolean);
  }
  const found = h("ul", { class: "ranking panel orders" });
  const more = works(h("button", { type: "button" }, t("orders.more")), () => load().catch((error) => refusal(error, (text) => say(text, "bad"))));
  let cursor = null;
  const load = async () => {
    const page = await call("/payments/orders", { cursor });
    cursor = page.next;
    more.hidden = !cursor;
    found.append(...list(page.orders.map((one) => ({ order: one.internal_id, lines: one.lines, at: utc(one.created_at), state: one.status }))));
  };
  const trouble = await load().then(() => "", (error) => refusal(error, (text) => text));
  if (trouble) return [note(trouble)];
  return found.children.length > 0 ? [found, more] : [h("p", { class: "soft" }, t("orders.none_yet"))];
}

function lookup(id) {
  const control = h("input", { type: "text", value: id ?? "", ...AS_TYPED });
  return h("form", { class: "code narrow", onsubmit: (event) => {
    event.preventDefault();
    if (control.value.trim()) location.assign(`/orders/${encodeURIComponent(control.value.trim())}`);
  } }, field(t(id ? "order.look_up_other" : "order.look_up_by"), control), h("button", {}, t("order.look_up")));
}
