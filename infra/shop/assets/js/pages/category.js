// A category: its items, its subcategories, and the table that compares items.
import { asGuest, call } from "../api.js";
import { h, hidden, picture } from "../dom.js";
import { allForVisitor, card } from "../parts.js";
import { money, store } from "../store.js";

export async function category(path) {
  const url = `/categories/get/${path.split("/").map(encodeURIComponent).join("/")}`;
  const [{ category: shown, items, subcategories }, guest] = await Promise.all([call(url), asGuest(url)]);
  const guests = guest && [guest.items, ...guest.subcategories.map((sub) => sub.items)].flat();
  const parent = store.categories.find((one) => one.subcategories.some((sub) => sub.url === shown.url));
  const siblings = parent ?? store.categories.find((one) => one.url === shown.url);
  const isEmpty = items.length === 0 && subcategories.every((sub) => sub.items.length === 0);
  return {
    title: shown.name,
    view: h("div", { class: "wrap stack" },
      h("header", { class: "head" },
        shown.img && picture(shown.img, 112),
        h("div", {},
          parent && h("p", { class: "crumb" }, h("a", { href: `/category${parent.url}` }, parent.name)),
          h("h1", {}, shown.name),
          shown.description && h("p", { class: "lead" }, shown.description))),
      siblings?.subcategories.length > 0 && h("nav", { class: "chips", "aria-label": `In ${siblings.name}` },
        h("a", { class: "chip", href: `/category${siblings.url}`, "aria-current": parent ? null : "page" }, "All"),
        siblings.subcategories.map((sub) =>
          h("a", { class: "chip", href: `/category${sub.url}`, "aria-current": sub.url === shown.url ? "page" : null }, sub.name))),
      isEmpty && h("p", { class: "note" }, "There is nothing for sale here now."),
      shelf(shown, allForVisitor(items, guests), "h2"),
      subcategories.map((sub) => h("section", { "aria-labelledby": `c${sub.category.id}` },
        h("h2", { id: `c${sub.category.id}` }, h("a", { href: `/category${sub.category.url}` }, sub.category.name)),
        sub.category.description && h("p", { class: "soft" }, sub.category.description),
        shelf(sub.category, allForVisitor(sub.items, guests), "h3")))),
  };
}

const shelf = (shown, items, level) => [
  items.length > 0 && h("div", { class: "grid" }, items.map((item) => card(item, level))),
  shown.comparison.length > 0 && items.length > 0 && comparison(shown, items),
];

/** Signs that are read aloud by their meaning. */
const SIGNS = { "✓": "yes", "–": "no", true: "yes", false: "no" };

function comparison({ name, comparison: rows }, items) {
  const cell = (item, row) => {
    const value = item.comparison.find((one) => one.comparison_id === row.id)?.value ?? "";
    const meaning = SIGNS[value || "–"];
    if (!meaning) return h("td", {}, value);
    return h("td", { class: meaning }, h("span", { "aria-hidden": "true" }, meaning === "yes" ? "✓" : "–"), hidden(meaning));
  };
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Comparison of ${name}` },
    h("table", {},
      h("caption", {}, "Compare them"),
      h("thead", {}, h("tr", {}, h("td"), items.map((item) => h("th", { scope: "col" }, h("a", { href: `/item/${item.id}` }, item.name), h("small", {}, item.isOwned ? "Yours already" : money(item.price)))))),
      h("tbody", {}, rows.map((row) => h("tr", {},
        h("th", { scope: "row" }, row.name, row.description && h("small", {}, row.description)),
        items.map((item) => cell(item, row)))))));
  const box = h("div", { class: "scroll-box" }, table, h("p", { class: "scroll-hint", "aria-hidden": "true" }, "More to the right →"));
  // The hint is shown while there is more.
  const measure = () => box.classList.toggle("has-more", table.scrollLeft + table.clientWidth < table.scrollWidth - 4);
  table.addEventListener("scroll", measure, { passive: true });
  new ResizeObserver(measure).observe(table);
  return box;
}
