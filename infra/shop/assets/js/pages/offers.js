// Pages with items: what they cost this visitor, and the way into the cart.
import { call, session } from "../api.js";
import { byId, complain, h, hidden, t } from "../dom.js";
import { moment } from "../store.js";
import { add, badges, canBeGiven, choose, chooseAgain, countdown, forVisitor, hindrance, price, wanted, works } from "../parts.js";

const main = byId("main");

/** The items' boxes in the page, with what everyone sees. */
const boxes = [...main.querySelectorAll("[data-id]")].map((box) => {
  const { id, price: shown, regular, lowest, least, off, subs, gift, stepPrice } = box.dataset;
  return {
    box,
    item: { id: Number(id), name: box.querySelector("h1, h2, h3").textContent, is_subs: subs !== undefined },
    everyone: { price: Number(shown), regular: Number(regular), isLowest: lowest !== undefined, is_unavailable: off !== undefined, is_step: stepPrice !== undefined },
    // Which not every call of the API says.
    more: { custom_price: least !== undefined, min_price: Number(least), gifting: gift !== undefined },
  };
});

/** The items of the page as this visitor gets them. */
async function items() {
  const { page } = main.dataset;
  if (page === "home") return call("/items/getFeaturedDeals");
  if (page === "item") return [await call(`/items/get/${location.pathname.split("/")[2]}`)];
  const { items: own, subcategories } = await call(`/categories/get/${location.pathname.split("/").slice(2).join("/")}`);
  return [own, ...subcategories.map((sub) => sub.items)].flat();
}

export default async function offers() {
  for (const time of main.querySelectorAll("time")) time.textContent = moment(time.dateTime);
  countdown(main);
  if (!session.token) return null;
  // What only a login from within the game can spend.
  if (!session.isByName) for (const note of main.querySelectorAll("[data-by-name]")) note.remove();
  const own = new Map((await items()).map((item) => [item.id, item]));
  for (const { box, item, everyone, more } of boxes) if (own.has(item.id)) change(box, forVisitor({ ...more, ...own.get(item.id) }, everyone));
  await afterLogin();
  return null;
}

/** What was wanted before the login is put into the cart. */
async function afterLogin() {
  const wish = wanted.get();
  if (!wish?.hasLogin || wish.back !== location.pathname) return;
  wanted.clear();
  choose(wish.choices);
  const found = boxes.find(({ item }) => item.id === wish.id);
  // The item's own page shows a refusal at the field that it is about.
  const form = main.querySelector("form.choices");
  if (form) form.requestSubmit();
  else if (found) await add(found.item);
}

function bind({ box, item }) {
  box.dataset.bound = "";
  const action = box.querySelector("[data-action]");
  if (action.tagName === "BUTTON") works(action, () => add(item));
  else if (action.tagName === "FORM") works(action, () => submit(action, item));
  if (window.early !== action) return;
  window.early = null;
  if (action.tagName === "FORM") action.requestSubmit();
  else action.click();
}

function change(box, item) {
  const shownPrice = box.querySelector("[data-price]");
  shownPrice.replaceChildren(...price(item), ...shownPrice.querySelectorAll("[data-keep]"));
  // The visitor has the price that others are shown.
  for (const note of shownPrice.querySelectorAll("[data-owners]")) if (note.dataset.owners === item.running?.name) note.remove();
  box.querySelector("[data-badges]").replaceChildren(...badges(item));
  hinder(box, item, hindrance(item));
  const step = main.querySelector(`[data-step="${item.id}"]`);
  if (step && item.isOwned) {
    step.removeAttribute("data-money");
    step.textContent = t("badge.owned");
  }
}

/** Says why the visitor cannot buy an item, and leaves what can still be done: to give it to another player. */
function hinder(box, item, why) {
  const isItemPage = main.dataset.page === "item";
  const action = box.querySelector("[data-action]");
  const recipient = action.elements?.recipient;
  box.querySelector("[data-why]")?.remove();
  if (recipient) recipient.required = why !== "";
  if (!why) return;
  if (canBeGiven(item) && recipient) action.before(h("p", { class: "note", "data-why": true }, why, " ", t("gift.still")));
  else if (canBeGiven(item) && !isItemPage) action.replaceWith(h("a", { class: "button", "data-action": true, href: `/item/${item.id}` }, t("gift.give"), hidden(` ${item.name}`)));
  else action.replaceWith(h("p", { class: isItemPage ? "note" : "hindrance", "data-action": true }, why));
}

/** The field that a refusal is about, by its words. */
const ABOUT = { recipient: /gift|player/i, price: /price/i, server: /server/i, count: /quantity|count|left|unit|only one|at most/i };

function submit(form, item) {
  const fields = Object.fromEntries([...form.querySelectorAll("[data-field]")].map((box) => [box.dataset.field, box]));
  const { count, price: paid, server, recipient } = form.elements;
  const chosen = { count: Number(count.value) };
  if (paid) chosen.price = paid.value.replace(",", ".");
  if (server?.value) chosen.server_id = Number(server.value);
  const player = recipient?.value.trim();
  if (player) Object.assign(chosen, { payment_type: 2, gift_to: player });
  else if (recipient?.required) {
    complain(fields.recipient, t("missing.recipient"));
    return recipient.focus();
  }
  return add(item, chosen, (text) => {
    const place = Object.entries(ABOUT).find(([name, words]) => fields[name] && words.test(text))?.[0];
    for (const [name, box] of Object.entries(fields)) complain(box, name === place ? text : "");
    form.querySelector(":scope > .message").textContent = place ? "" : text;
    fields[place]?.querySelector("input, select").focus();
  });
}

// As soon as the script is there: a button does not wait for the calls that say what its item costs this visitor.
for (const one of boxes) bind(one);
chooseAgain();
