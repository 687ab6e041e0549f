// The player's account: the public profile, the orders, and the subscriptions.
import { get, isShown } from "../api.js";
import { h, picture, t } from "../dom.js";
import { charged, date, shop, store, virtual } from "../store.js";
import { needsLogin } from "./login.js";
import { listed } from "./order.js";
import { list } from "./subscriptions.js";

export default async function account(again) {
  const { user } = store;
  if (!user) return needsLogin(again);
  const found = shop.profiles ? await profile(user.username) : null;
  const section = (id, ...children) => h("section", { "aria-labelledby": id }, h("h2", { id }, t(id)), children);
  return {
    view: [
      h("header", { class: "head" }, user.avatar && picture(user.avatar, 112),
        h("div", {}, h("h1", {}, user.username),
          found && h("p", { class: "lead" }, found.display_group ? t("account.group", found.group, date(`${found.created.replace(" ", "T")}Z`)) : t("account.since", date(`${found.created.replace(" ", "T")}Z`))),
          user.virtual_currency !== undefined && h("p", { class: "soft" }, t("account.balance", virtual(user.virtual_currency))),
          found?.money_spent > 0 && h("p", { class: "soft" }, t("account.spent", charged(found.money_spent))),
          found?.top_item_name && h("p", { class: "soft" }, t("account.top", found.top_item_name)))),
      found && section("bought", found.items.length > 0
        ? h("ul", { class: "people" }, found.items.map((item) => h("li", { class: "person" }, picture(item.image, 64), h("a", { href: `/item/${item.id}` }, item.name))))
        : h("p", { class: "soft" }, t("bought.none"))),
      section("orders.title", await listed()),
      section("subscriptions.title", list(user.subscriptions ?? [])),
    ],
  };
}

/** The public profile; null if the store shows none. */
async function profile(name) {
  try {
    return await get(`/profile/${encodeURIComponent(name)}`, { isOptional: true });
  } catch (error) {
    if (!isShown(error)) throw error;
    return null;
  }
}
