// The first page: featured deals, goals, recent donators.
import { asGuest, call } from "../api.js";
import { h, picture } from "../dom.js";
import { allForVisitor, card } from "../parts.js";
import { charged, moneyIn, store } from "../store.js";

export async function home() {
  const path = "/items/getFeaturedDeals";
  const [found, guests] = await Promise.all([call(path), asGuest(path)]);
  const deals = allForVisitor(found, guests);
  const { website_name: name, website_description: description, goals, recentDonators: recent, top, server } = store.settings;
  const first = store.categories[0];
  return {
    title: name,
    view: [
      h("section", { class: "hero" }, h("div", { class: "wrap" },
        h("h1", {}, name),
        h("p", { class: "lead" }, description),
        h("p", { class: "hero-end" },
          first && h("a", { class: "button primary big", href: `/category${first.url}` }, `See the ${first.name.toLowerCase()}`),
          server.ip && h("span", { class: "server" }, "Join at ", h("code", {}, server.ip))))),
      h("div", { class: "wrap stack" },
        deals.length > 0 && h("section", { "aria-labelledby": "deals" },
          h("h2", { id: "deals" }, "Featured deals"),
          h("div", { class: "grid" }, deals.map((item) => card(item)))),
        h("section", { "aria-labelledby": "shelves" },
          h("h2", { id: "shelves" }, "Look around"),
          h("ul", { class: "shelves" }, store.categories.map(shelf))),
        h("div", { class: "columns" },
          goals.length > 0 && h("section", { class: "panel", "aria-labelledby": "goals" }, h("h2", { id: "goals" }, "Goals"), goals.map(goal)),
          h("section", { class: "panel", "aria-labelledby": "recent" },
            h("h2", { id: "recent" }, "Recent donators"),
            top.username && h("p", { class: "top" }, picture(top.avatar, 48), h("span", {}, "Most generous this month: ", h("strong", {}, top.username))),
            recent.length === 0 && h("p", { class: "soft" }, "No donations yet. You could be the first."),
            h("ol", { class: "donators" }, recent.slice(0, 6).map(donator))))),
    ],
  };
}

const shelf = (category) =>
  h("li", {}, h("a", { class: "shelf", href: `/category${category.url}` },
    picture(category.img, 72),
    h("span", {}, h("strong", {}, category.name), h("span", { class: "soft" }, category.description))));

function goal({ name, current_amount: given, goal_amount: wanted }) {
  const share = wanted > 0 ? Math.min(100, Math.round((given / wanted) * 100)) : 100;
  return h("div", { class: "goal" },
    h("p", {}, h("strong", {}, name), h("span", { class: "soft" }, `${share} %`)),
    h("progress", { max: 100, value: share, "aria-label": name }),
    h("p", { class: "soft" }, `${charged(given)} of ${charged(wanted)}`));
}

const donator = ({ username, avatar, amount, currency }) =>
  h("li", {}, picture(avatar, 36), h("span", {}, username), h("strong", {}, moneyIn(amount, currency)));
