// What the player is subscribed to, and the way to the payment provider's page on which it is cancelled.
import { Offline, Refused, call, session } from "../api.js";
import { h } from "../dom.js";
import { charged, loadUser, store } from "../store.js";
import { needsLogin } from "./content.js";

const day = (time) => new Date(time).toLocaleDateString("en", { dateStyle: "long" });
/** What the state of a subscription means to its buyer: a class, and a text. */
const STATES = {
  active: ["good", (one) => `Renews on ${day(one.renews_at)}`],
  past_due: ["bad", (one) => `The last payment failed, and is tried again. You keep it until ${day(one.ends_at)}.`],
  cancelled: ["soft", (one) => `Cancelled: you keep it until ${day(one.ends_at)}, and are not charged again.`],
};

export async function subscriptions(again) {
  await loadUser();
  if (!session.token || !store.user) return needsLogin(again, "");
  const all = store.user.subscriptions ?? [];
  const said = h("p", { class: "soft", role: "status" });
  const manage = h("button", { type: "button", class: "primary", onclick: () => open(manage, said) }, "Cancel, or change the card");
  const view = h("div", { class: "wrap stack" },
    h("h1", {}, "Your subscriptions"),
    all.length === 0
      ? h("p", { class: "soft" }, "You have no subscription.")
      : [h("ul", { class: "bought subscriptions panel narrow", "aria-label": "Your subscriptions" }, all.map(row)),
        h("section", { class: "panel narrow", "aria-labelledby": "manage" }, h("h2", { id: "manage" }, "Manage them"),
          h("p", {}, "The payment provider's page shows your payments and your card. What you cancel there you keep until the end of what is paid."),
          h("p", {}, manage), said)]);
  return { title: "Subscriptions", view };
}

function row(one) {
  const [kind, text] = STATES[one.state] ?? ["soft", () => one.state];
  return h("li", {}, h("span", {}, h("a", { href: `/item/${one.item_id}` }, h("strong", {}, one.name)), h("span", { class: "soft" }, `${charged(one.price)} per payment`),
    h("span", { class: `delivery ${kind}` }, text(one))));
}

/** Sends the buyer to the provider's page. */
async function open(button, said) {
  button.disabled = true;
  said.textContent = "";
  try {
    const { url } = await call("/payments/portal");
    location.assign(url);
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Offline)) throw error;
    said.textContent = error.message;
    button.disabled = false;
  }
}
