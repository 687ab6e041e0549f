// What the player is subscribed to, and the way to the payment provider's page on which it is cancelled.
import { call, isShown, session } from "../api.js";
import { h, t } from "../dom.js";
import { charged, date, store } from "../store.js";
import { needsLogin } from "./login.js";

/** How the states of a subscription look. */
const STATES = { active: "good", trialing: "good", past_due: "bad", unpaid: "bad" };
/** The states that have a sentence of their own once they give no access. */
const OVER = ["past_due", "paused", "unpaid"];

/** What the state of a subscription means to its buyer, with the time that matters. */
function meaning({ state, has_access, renews_at, ends_at }) {
  if (!has_access) return ends_at ? t(OVER.includes(state) ? `subscriptions.${state}.over` : "subscriptions.over", date(ends_at)) : state;
  if (renews_at) return ends_at ? t(`subscriptions.${state}.ends`, date(renews_at), date(ends_at)) : t(`subscriptions.${state}`, date(renews_at));
  if (!ends_at) return state;
  return t(state === "active" || state === "trialing" ? `subscriptions.${state}.late` : `subscriptions.${state}`, date(ends_at));
}

export default function subscriptions(again) {
  if (!store.user) return needsLogin(again);
  return { view: [h("h1", {}, t("subscriptions.title")), list(store.user.subscriptions ?? [])] };
}

/** The subscriptions of a player, and how they are changed. */
export function list(all) {
  if (all.length === 0) return h("p", { class: "soft" }, t("subscriptions.none"));
  const said = h("p", { class: "soft", role: "status" });
  const manage = h("button", { type: "button", class: "primary", onclick: () => open(manage, said) }, t("subscriptions.change"));
  return [h("ul", { class: "bought subscriptions panel narrow", "aria-label": t("subscriptions.title") }, all.map(row)),
    h("section", { class: "panel narrow", "aria-labelledby": "manage" }, h("h2", { id: "manage" }, t("subscriptions.manage")),
      h("p", {}, t("subscriptions.portal")), session.isByName && h("p", { class: "soft" }, t("subscriptions.by_email")), h("p", {}, manage), said)];
}

function row(one) {
  const kind = one.has_access ? STATES[one.state] ?? "soft" : "bad";
  return h("li", {}, h("span", {}, h("a", { href: `/item/${one.item_id}` }, h("strong", {}, one.name)), h("span", { class: "soft" }, t("subscriptions.price", charged(one.price))),
    h("span", { class: `delivery ${kind}` }, meaning(one))));
}

/** Sends the buyer to the provider's page. */
async function open(button, said) {
  button.disabled = true;
  said.textContent = "";
  try {
    const { url } = await call("/payments/portal");
    location.assign(url);
  } catch (error) {
    if (!isShown(error)) throw error;
    said.textContent = error.message;
    button.disabled = false;
  }
}
