// The state of an order, asked again until it is final. The API allows 18 look-ups in a minute from one address.
import { Offline, call, isShown } from "../api.js";
import { decoded, field, h, parts, picture, t } from "../dom.js";
import { purchase, purchases } from "../purchases.js";
import { date, moneyIn, refreshUser, shop } from "../store.js";
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

/** The page of an order, to which a buyer also comes back from the payment page. Without an id: the orders of this browser. */
export default function order(again) {
  const [, kind, last = ""] = location.pathname.split("/");
  const query = new URLSearchParams(location.search);
  const isReturn = kind === "payment";
  const [id, checkoutId] = isReturn ? [query.get("order_id"), query.get("checkout_id")] : [decoded(last), null];
  const title = h("h1", {}, t(id ? "order" : "orders.title"));
  const state = h("div", { class: "order", "aria-live": "polite", "aria-busy": id ? "true" : null });
  // What is announced, and a countdown, which is not.
  const refusal = h("p", { class: "soft", role: "status" });
  const limit = h("p", { class: "soft" });
  const view = [title, state, h("div", {}, refusal, limit), !isReturn && lookup(id)];
  let timer;
  let deliveryTimer;
  let shown;
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
  const later = (seconds, why = "") => {
    const left = (remaining) => {
      limit.textContent = t("order.next_look_up", why, remaining).trim();
      timer = setTimeout(() => (remaining > 1 ? left(remaining - 1) : ask()), 1000);
    };
    left(seconds);
  };
  /** Shows the delivery as it goes on. A page that nobody looks at asks nothing. */
  const follow = (details, last, seconds) => {
    deliveryTimer = setTimeout(async () => {
      const next = document.hidden ? last : await delivered(details).catch(() => last);
      if (next.key !== last.key) {
        state.querySelector(".bought")?.replaceWith(bought(next));
        state.querySelector(".next")?.replaceWith(whatIsNext(next, details));
      }
      if (next.isOpen) follow(details, next, Math.min(seconds * 1.5, DELIVERY.most));
    }, seconds * 1000);
  };
  const ask = async () => {
    let remaining = null;
    try {
      const seen = (left) => { remaining = left; };
      const found = await call("/payments/checkStatus", { order_id: id, ...(checkoutId && { checkout_id: checkoutId }) }, { seen });
      const details = found.order_data;
      if (details?.status === "PAID" && isReturn) title.textContent = t("order.thanks");
      const delivery = ["PAID", "REFUNDED"].includes(details?.status) ? await delivered(details).catch(() => UNKNOWN) : NOTHING;
      const key = JSON.stringify([details?.status, found.message, delivery.key]);
      display(key, () => (details ? summary(found, details, delivery, isReturn) : [note(found.message)]));
      clearTimeout(deliveryTimer);
      if (delivery.isOpen) follow(details, delivery, DELIVERY.first);
      limit.textContent = "";
      refusal.textContent = "";
      if (details?.status === "PENDING") {
        const spare = remaining === null ? "" : t("order.spare", remaining);
        later(remaining === "0" ? 60 : PAUSE, spare);
      } else if (details) {
        await refreshUser();
        // What was bought is taken out of the cart right after the order is paid, which can be a moment later.
        if (details.status === "PAID") timer = setTimeout(refreshUser, 2500);
      }
    } catch (error) {
      if (!isShown(error)) throw error;
      if (error.status === 429) {
        refusal.textContent = error.message;
        later(error.retrySeconds || 60);
      } else {
        limit.textContent = "";
        refusal.textContent = "";
        display(error.message, () => [error.status === 401 ? needsLogin(again, t("order.login")).view[1] : note(error.message)]);
        if (error instanceof Offline || error.status >= 500) later(error.retrySeconds || PAUSE);
      }
    } finally {
      state.removeAttribute("aria-busy");
    }
  };
  if (id) ask();
  else state.append(...listed());
  return { view, leave: stop };
}

const NOTHING = { rows: [], key: "", isOpen: false };
/** The delivery could not be looked up, and is asked for again. */
const UNKNOWN = { ...NOTHING, isOpen: true };

const note = (text) => h("p", { class: "note" }, text);

/** How far the lines of an order are, with what this browser knows of them. */
async function delivered({ internal_id: id, status }) {
  const { lines = [] } = await call("/payments/delivery", { order_id: id }, { isOptional: true });
  const known = [...(purchase(id)?.lines ?? [])];
  const rows = lines.map(({ name, state, player, servers }) => {
    const at = known.findIndex((one) => one.name === name);
    return { name, state, player, servers, ...(at >= 0 && known.splice(at, 1)[0]) };
  });
  const states = rows.map(({ state }) => state);
  return { rows, isRefunded: status === "REFUNDED", key: states.join(), isOpen: states.some((state) => state === "waiting" || state === "join") };
}

/** What was bought, and how far its delivery is. It is hidden until something is known of it. */
const bought = ({ rows, isRefunded }) =>
  h("ul", { class: "bought panel narrow", "aria-label": t("bought"), hidden: rows.length === 0 }, rows.map(({ name, state, count = 1, image, giftTo, ...waits }) => {
    const [mark, kind, text] = DELIVERIES[state] ?? [];
    return h("li", {}, picture(image, 48),
      h("span", {}, h("strong", {}, count > 1 ? `${count} × ${name}` : name), giftTo && h("span", { class: "soft" }, t("cart.gift", giftTo)),
        text && h("span", { class: `delivery ${kind}` }, h("span", { "aria-hidden": "true" }, mark), text(waits, isRefunded))));
  }));

function summary(found, order, delivery, isReturn) {
  const isPaid = order.status === "PAID";
  return [
    h("p", { class: `state ${order.status.toLowerCase()}` }, h("span", { "aria-hidden": "true" }, { PAID: "✓", PENDING: "…" }[order.status] ?? "✕"), h("strong", {}, t(`order.state.${order.status}`))),
    h("p", { class: "lead" }, found.message),
    bought(delivery),
    isPaid && whatIsNext(delivery, order),
    h("dl", { class: "sums panel narrow" }, [
      [t("order.number"), t("order.number_of", order.id)],
      [t("order.id"), order.internal_id],
      [t("order.method"), order.gateway],
      [t("order.date"), order.created_at],
      [t("order.amount"), moneyIn(order.price, order.currency)],
    ].map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
    isPaid && h("p", { class: "chips" }, h("a", { class: "button primary", href: "/" }, t("back")), isReturn && h("a", { class: "button", href: `/orders/${encodeURIComponent(order.internal_id)}` }, t("order.own_page"))),
    ["FAILED", "CANCELLED"].includes(order.status) && h("p", {}, h("a", { class: "button", href: "/cart" }, t("cart.back"))),
  ].filter(Boolean);
}

/** What happens after a payment. */
function whatIsNext({ rows }, order) {
  const { server } = shop;
  const waits = (state) => rows.some((row) => row.state === state);
  const address = server.ip && [": ", h("code", {}, server.ip)];
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

/** The orders that were made in this browser. */
export function listed() {
  const all = purchases();
  if (all.length === 0) return [h("p", { class: "soft" }, t("orders.none"))];
  const names = (lines) => lines.map((line) => (line.count > 1 ? `${line.count} × ${line.name}` : line.name)).join(", ");
  return [h("ul", { class: "ranking panel orders" }, all.map((one) =>
    h("li", {}, h("a", { href: `/orders/${encodeURIComponent(one.order)}` }, names(one.lines) || one.order), h("span", { class: "soft" }, date(one.at, "medium")))))];
}

function lookup(id) {
  const control = h("input", { type: "text", value: id ?? "", autocomplete: "off", spellcheck: "false" });
  return h("form", { class: "code narrow", onsubmit: (event) => {
    event.preventDefault();
    if (control.value.trim()) location.assign(`/orders/${encodeURIComponent(control.value.trim())}`);
  } }, field(t(id ? "order.look_up_other" : "order.look_up_by"), control), h("button", {}, t("order.look_up")));
}
