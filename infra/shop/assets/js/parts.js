// Parts that several pages show: prices, limits, cards.
import { accepted, session } from "./api.js";
import { h, hidden, picture, say } from "./dom.js";
import { embers, loadUser, money } from "./store.js";

/**
 * An item with what the visitor's purchases change. The API has one price for all of that; the difference to what a guest
 * sees is the credit for a lower step. An item that only the visitor cannot buy is one that they have already.
 */
export function forVisitor(item, guest) {
  const isOwned = Boolean(guest && item.is_unavailable && !guest.is_unavailable);
  const credit = guest && guest.price > item.price ? guest.price - item.price : 0;
  const { price, discount, original_price } = credit > 0 ? guest : item;
  return { ...item, isOwned, credit, sale: { price, discount, regular: original_price ?? price } };
}

/** The same for a list; `guests` is null if nothing is known of what guests see. */
export const allForVisitor = (items, guests) => items.map((item) => forVisitor(item, guests?.find((one) => one.id === item.id)));

const left = (item) => (item.quantityGlobalLimit === null ? null : Math.max(0, item.quantityGlobalLimit - item.quantityGlobalCurrentLimit));

/** Why an item cannot be put into the cart; empty if it can. */
export function hindrance(item) {
  if (!item.is_unavailable) return "";
  if (item.isOwned) return "You have this, or something that includes it.";
  if (!item.active) return "Not on sale now.";
  return left(item) === 0 ? "Sold out." : "You have as many of these as one player may have.";
}

/** What an item costs: its regular price if there is a sale, and the credit for what the visitor has. */
export function price(item) {
  if (item.is_virtual_currency_only) return h("p", { class: "price" }, embers(item.virtual_price));
  const { sale, credit } = item;
  const amount = (sum) => h("strong", {}, sum === 0 ? "Free" : money(sum));
  const parts = [];
  if (item.custom_price) parts.push("from ", money(item.min_price));
  else if (sale.discount > 0) parts.push(hidden("Regular price "), h("s", {}, money(sale.regular)), " ", hidden("now "), amount(item.price));
  else parts.push(amount(item.price));
  if (credit > 0) parts.push(h("small", {}, `${money(sale.price)} less ${money(credit)} for what you have`));
  if (item.virtual_price > 0) parts.push(h("small", {}, ` or ${embers(item.virtual_price)}`));
  return h("p", { class: "price" }, parts);
}

/** What is special about an item: discount, subscription, what is left of its limits. */
export function badges(item) {
  const list = [];
  const { discount, regular } = item.sale;
  if (discount > 0 && regular > 0 && !item.is_unavailable) list.push(["sale", `−${Math.round((discount / regular) * 100)} %`]);
  if (item.is_subs) list.push(["", "Subscription"]);
  if (item.gifting) list.push(["", "Can be a gift"]);
  const units = left(item);
  if (units !== null) list.push(units > 0 ? ["", `${units} of ${item.quantityGlobalLimit} left`] : ["off", "Sold out"]);
  if (item.quantityUserLimit !== null && item.quantityUserLimit !== undefined) {
    list.push(["", `You have ${item.quantityUserCurrentLimit} of ${item.quantityUserLimit}`]);
  }
  if (item.isOwned) list.push(["off", "Yours already"]);
  else if (item.is_unavailable && units !== 0) list.push(["off", "Not available to you"]);
  if (item.in_cart) list.push(["", "In your cart"]);
  return h("p", { class: "badges" }, list.map(([kind, text]) => h("span", { class: `badge ${kind}` }, text)));
}

/** Adds an item to the cart and says what the API says. A guest logs in first. */
export async function add(item, choices = {}, complain) {
  if (!session.token) {
    dispatchEvent(new CustomEvent("wanted", { detail: { item, choices } }));
    return false;
  }
  const added = await accepted(`/cart/add/${item.id}`, { payment_type: item.is_subs ? 1 : 0, ...choices }, complain);
  if (!added) return false;
  say(added.message);
  await loadUser();
  return true;
}

/** A button that keeps the focus while it works, and works once at a time. */
export function worker(properties, work, ...children) {
  const button = h("button", properties, ...children);
  button.addEventListener("click", async () => {
    if (button.ariaBusy === "true") return;
    button.ariaBusy = "true";
    try {
      await work();
    } finally {
      button.ariaBusy = null;
    }
  });
  return button;
}

export function card(item, level = "h3") {
  const why = hindrance(item);
  const action = () => {
    if (why) return h("p", { class: "hindrance" }, why);
    // The price of an item that the visitor names is asked for on its own page.
    if (item.custom_price) return h("a", { class: "button primary", href: `/item/${item.id}` }, "Choose a price");
    return worker({ type: "button", class: "primary" }, () => add(item), "Add to cart", hidden(` ${item.name}`));
  };
  return h("article", { class: "card" },
    h("a", { class: "card-picture", href: `/item/${item.id}`, tabindex: "-1", "aria-hidden": "true" }, picture(item.image, 320)),
    h("div", { class: "card-text" },
      h(level, {}, h("a", { href: `/item/${item.id}` }, item.name)),
      badges(item),
      h("p", { class: "soft" }, item.description),
      h("div", { class: "card-end" }, price(item), action())));
}
