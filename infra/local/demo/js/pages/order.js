// The state of an order, asked again until it is final. The API allows 18 look-ups in a minute from one address.
import { Offline, Refused, call } from "../api.js";
import { field, h } from "../dom.js";
import { loadUser, moneyIn } from "../store.js";

/** Seconds between two look-ups: 15 in a minute. */
const PAUSE = 4;

export function order(id, checkoutId, go) {
  const state = h("div", { class: "order", "aria-live": "polite", "aria-busy": id ? "true" : null });
  const limit = h("p", { class: "soft" });
  const view = h("div", { class: "wrap stack" }, h("h1", {}, "Your order"), state, limit, lookup(id, go));
  let timer;
  const stop = () => clearTimeout(timer);
  const later = (seconds, why) => {
    const left = (remaining) => {
      limit.textContent = `${why} Next look-up in ${remaining} s.`;
      timer = setTimeout(() => (remaining > 1 ? left(remaining - 1) : ask()), 1000);
    };
    left(seconds);
  };
  const ask = async () => {
    let remaining = null;
    try {
      const seen = (left) => { remaining = left; };
      const found = await call("/payments/checkStatus", { order_id: id, ...(checkoutId && { checkout_id: checkoutId }) }, { seen });
      const details = found.order_data;
      state.replaceChildren(...(details ? summary(found, details) : [h("p", { class: "note" }, found.message)]));
      limit.textContent = "";
      if (details?.status === "PENDING") {
        const spare = remaining === null ? "" : `${remaining} of 18 look-ups left in this minute.`;
        later(remaining === "0" ? 60 : PAUSE, spare);
      } else if (details) {
        await loadUser();
        // What was bought is taken out of the cart right after the order is paid, which can be a moment later.
        if (details.status === "PAID") timer = setTimeout(() => loadUser().catch(() => {}), 2500);
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 429) {
        limit.setAttribute("role", "status");
        if (!state.firstChild) state.append(h("p", { class: "note" }, error.message));
        later(error.retrySeconds || 60, error.message);
      } else if (error instanceof Refused || error instanceof Offline) {
        state.replaceChildren(h("p", { class: "note" }, error.message));
        if (error instanceof Offline) later(PAUSE, "");
      } else throw error;
    } finally {
      state.removeAttribute("aria-busy");
    }
  };
  if (id) ask();
  else state.append(h("p", { class: "soft" }, "Enter the order's id to see how far it is."));
  return { title: "Order", view, leave: stop };
}

const summary = (found, order) => [
  h("p", { class: `state ${order.status.toLowerCase()}` }, h("span", { "aria-hidden": "true" }, { PAID: "✓", PENDING: "…" }[order.status] ?? "✕"), h("strong", {}, order.status)),
  h("p", { class: "lead" }, found.message),
  h("dl", { class: "sums panel narrow" }, [
    ["Order", `no. ${order.id}`],
    ["Id", order.internal_id],
    ["Paid with", order.gateway],
    ["Date (UTC)", order.created_at],
    ["Amount", moneyIn(order.price, order.currency)],
  ].map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
  order.status === "PAID" && h("p", {}, h("a", { class: "button primary", href: "/" }, "Back to the store")),
  ["FAILED", "CANCELLED"].includes(order.status) && h("p", {}, h("a", { class: "button", href: "/cart" }, "Back to the cart")),
].filter(Boolean);

function lookup(id, go) {
  const control = h("input", { type: "text", value: id ?? "", autocomplete: "off", spellcheck: "false" });
  return h("form", { class: "code narrow", onsubmit: (event) => {
    event.preventDefault();
    if (control.value.trim()) go(`/orders/${encodeURIComponent(control.value.trim())}`);
  } }, field(id ? "Look up another order by its id" : "The order's id", control), h("button", {}, "Look up"));
}
