// Custom pages, staff, patrons, the login, and what is shown if there is no page.
import { call, get, messageOf } from "../api.js";
import { h, ownersHtml, picture } from "../dom.js";
import { login } from "../login.js";
import { moneyIn } from "../store.js";

export async function page(url) {
  const { page: found } = await call("/pages/get", { url });
  if (!found) return missing();
  return { title: found.title, view: h("div", { class: "wrap stack" }, ownersHtml(found.content)) };
}

export async function staff() {
  const groups = await get("/staff");
  const avatar = (username) => `/img/avatars/${encodeURIComponent(username.toLowerCase())}.svg`;
  return {
    title: "Staff",
    view: h("div", { class: "wrap stack" },
      h("h1", {}, "Staff"),
      Object.entries(groups).map(([group, members]) => h("section", { "aria-labelledby": `g-${group}` },
        h("h2", { id: `g-${group}`, class: "capital" }, group),
        h("ul", { class: "people" }, members.map(({ username, prefix }) =>
          h("li", { class: "person" }, picture(avatar(username), 64), h("span", {}, h("strong", {}, username), h("span", { class: "soft" }, prefix)))))))),
  };
}

export async function patrons() {
  const list = await get("/patrons/get");
  if (!list.success) return { title: "Patrons", view: h("div", { class: "wrap stack" }, h("h1", {}, "Patrons"), h("p", { class: "note" }, messageOf(list))) };
  const money = (amount) => moneyIn(amount, list.currency_code);
  return {
    title: "Patrons",
    view: h("div", { class: "wrap stack" },
      h("h1", {}, "Patrons"),
      h("p", { class: "lead" }, list.description),
      h("ol", { class: "ranking panel narrow" }, list.top_patrons.map(({ username, amount }) => h("li", {}, h("span", {}, username), h("strong", {}, money(amount))))),
      Object.entries(list.patrons).map(([threshold, names]) => h("section", { "aria-labelledby": `t${threshold}` },
        h("h2", { id: `t${threshold}` }, `${money(Number(threshold))} and more`),
        h("p", {}, names.length > 0 ? names.join(", ") : "None yet.")))),
  };
}

function welcome(heading, after, message) {
  const { panel, leave } = login(after, message);
  return { title: "Log in", view: h("div", { class: "wrap stack" }, h("h1", {}, heading), panel), leave };
}

export const loginPage = (after, message) => welcome("Welcome", after, message);

export const needsLogin = (again, message) => welcome("Who is there?", again, message);

export const missing = (message = "There is nothing at this address.") => ({
  title: "Not found",
  view: h("div", { class: "wrap stack" }, h("h1", {}, "Not found"), h("p", { class: "note" }, message), h("p", {}, h("a", { class: "button", href: "/" }, "Back to the store"))),
});

export const closed = (message) => ({
  title: "Closed",
  view: h("div", { class: "wrap stack" }, h("h1", {}, "The store is closed"), h("p", { class: "note" }, message)),
});
