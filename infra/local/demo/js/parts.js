// Parts that several pages show: prices, limits, cards, the login.
import { accepted, config, session } from "./api.js";
import { field, h, hidden, picture, say } from "./dom.js";
import { embers, loadUser, money, store } from "./store.js";

/** Whether an item is included in what the visitor has: it then has a price of 0, which is not an offer. */
export const isOwned = (item) => item.is_unavailable && item.price === 0 && item.original_price > 0;

/** What an item costs, with its regular price if there is a discount. */
export function price(item) {
  if (item.is_virtual_currency_only) return h("p", { class: "price" }, embers(item.virtual_price));
  const parts = [];
  if (item.custom_price) parts.push("from ", money(item.min_price));
  else {
    if (isOwned(item)) parts.push(h("strong", {}, money(item.original_price)));
    else if (item.discount > 0) parts.push(hidden("Regular price "), h("s", {}, money(item.original_price)), " ", hidden("now "), h("strong", {}, item.price === 0 ? "Free" : money(item.price)));
    else parts.push(h("strong", {}, item.price === 0 ? "Free" : money(item.price)));
  }
  if (item.virtual_price > 0) parts.push(h("small", {}, ` or ${embers(item.virtual_price)}`));
  return h("p", { class: "price" }, parts);
}

/** What is special about an item: discount, subscription, what is left of its limits. */
export function badges(item) {
  const list = [];
  const regular = item.original_price ?? item.price;
  if (item.discount > 0 && regular > 0 && !item.is_unavailable) list.push(["sale", `−${Math.round((item.discount / regular) * 100)} %`]);
  if (item.is_subs) list.push(["", "Subscription"]);
  if (item.gifting) list.push(["", "Can be a gift"]);
  const left = item.quantityGlobalLimit === null ? null : item.quantityGlobalLimit - item.quantityGlobalCurrentLimit;
  if (left !== null) list.push(left > 0 ? ["", `${left} of ${item.quantityGlobalLimit} left`] : ["off", "Sold out"]);
  if (item.quantityUserLimit !== null && item.quantityUserLimit !== undefined) {
    list.push(["", `You have ${item.quantityUserCurrentLimit} of ${item.quantityUserLimit}`]);
  }
  if (item.is_unavailable && left !== 0) list.push(["off", isOwned(item) ? "Yours already" : "Not available to you"]);
  if (item.in_cart) list.push(["", "In your cart"]);
  return h("p", { class: "badges" }, list.map(([kind, text]) => h("span", { class: `badge ${kind}` }, text)));
}

/** Adds an item to the cart and says what the API says. */
export async function add(item, choices = {}, complain) {
  const added = await accepted(`/cart/add/${item.id}`, { payment_type: item.is_subs ? 1 : 0, ...choices }, complain);
  if (!added) return false;
  say(added.message);
  await loadUser();
  return true;
}

export function card(item, level = "h3") {
  const button = h("button", { type: "button", class: item.is_unavailable ? null : "primary" }, "Add to cart", hidden(` ${item.name}`));
  button.addEventListener("click", async () => {
    button.disabled = true;
    await add(item);
    button.disabled = false;
  });
  // The price of an item that the visitor names is asked for on its own page.
  const action = item.custom_price ? h("a", { class: "button primary", href: `/item/${item.id}` }, "Choose a price") : button;
  return h("article", { class: "card" },
    h("a", { class: "card-picture", href: `/item/${item.id}`, tabindex: "-1", "aria-hidden": "true" }, picture(item.image, 320)),
    h("div", { class: "card-text" },
      h(level, {}, h("a", { href: `/item/${item.id}` }, item.name)),
      badges(item),
      h("p", { class: "soft" }, item.description),
      h("div", { class: "card-end" }, price(item), action)));
}

/** The login by name, with the sample players to choose from. */
export function login(after, message = "") {
  const name = h("input", { name: "username", autocomplete: "username", required: true, maxlength: 64, spellcheck: "false" });
  const box = field("Your name in the game", name);
  const enter = async (event) => {
    event?.preventDefault();
    const token = await accepted("/auth/username", { username: name.value }, box.complain);
    if (!token) return;
    session.set(token);
    await loadUser();
    if (store.user) say(`You are logged in as ${store.user.username}.`);
    after();
  };
  const player = (username) =>
    h("button", { type: "button", class: "chip", onclick: () => { name.value = username; enter(); } }, username);
  return h("section", { class: "panel narrow", "aria-labelledby": "login" },
    h("h2", { id: "login" }, "Log in"),
    message && h("p", { class: "note", role: "status" }, message),
    h("form", { onsubmit: enter }, box, h("button", { class: "primary wide" }, "Log in")),
    h("p", { class: "soft" }, "Players of this sample store:"),
    h("p", { class: "chips" }, config.players.map(player)));
}
