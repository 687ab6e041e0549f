// An item, with what can be chosen before it is in the cart.
import { call, session } from "../api.js";
import { field, h, picture, select } from "../dom.js";
import { add, badges, login, price } from "../parts.js";
import { store } from "../store.js";

export async function item(id, again) {
  const shown = await call(`/items/get/${encodeURIComponent(id)}`);
  const code = store.settings.system_currency.name;
  const count = h("input", { type: "number", name: "count", min: 1, max: 1000, value: "1", inputmode: "numeric" });
  const paid = h("input", { type: "text", name: "price", inputmode: "decimal", value: String(shown.price || shown.min_price) });
  const server = select({ name: "server" }, [["", "Choose later"], ...shown.allowed_servers.map((one) => [String(one.id), one.name])], "");
  const recipient = h("input", { type: "text", name: "recipient", maxlength: 64, spellcheck: "false", autocomplete: "off" });
  const message = h("p", { class: "message", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    const choices = { count: Number(count.value) };
    if (shown.custom_price) choices.price = paid.value.replace(",", ".");
    if (server.value) choices.server_id = Number(server.value);
    if (recipient.value) Object.assign(choices, { payment_type: 2, gift_to: recipient.value });
    await add(shown, choices, (text) => { message.textContent = text; });
  };
  const form = h("form", { class: "choices", onsubmit: submit, novalidate: true },
    field("How many", count),
    shown.custom_price && field(`Your price (${code})`, paid),
    shown.allow_select_server && field("Server", server),
    shown.gifting && field("A gift for (player, optional)", recipient),
    h("button", { class: "primary big" }, "Add to cart"), message);
  return {
    title: shown.name,
    view: h("div", { class: "wrap stack" },
      h("article", { class: "detail" },
        h("div", { class: "detail-picture" }, picture(shown.image, 480)),
        h("div", {},
          h("h1", {}, shown.name),
          badges(shown),
          h("p", { class: "lead" }, shown.description),
          price(shown),
          !shown.active && h("p", { class: "note" }, "This item is not on sale now."),
          session.token ? form : login(again, "Log in to put this into your cart.")))),
  };
}
