// An item, with what can be chosen before it is in the cart.
import { asGuest, call } from "../api.js";
import { field, h, picture, select } from "../dom.js";
import { add, badges, forVisitor, hindrance, price } from "../parts.js";
import { store } from "../store.js";

export async function item(id) {
  const path = `/items/get/${encodeURIComponent(id)}`;
  const [found, guest] = await Promise.all([call(path), asGuest(path)]);
  const shown = forVisitor(found, guest);
  const why = shown.active ? hindrance(shown) : "This item is not on sale now.";
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
          why ? h("p", { class: "note" }, why) : choices(shown)))),
  };
}

function choices(shown) {
  const code = store.settings.system_currency.name;
  const count = h("input", { type: "number", name: "count", min: 1, max: 1000, value: "1", inputmode: "numeric" });
  const paid = h("input", { type: "text", name: "price", inputmode: "decimal", value: String(shown.price || shown.min_price) });
  const server = select({ name: "server" }, [["", "Choose later"], ...shown.allowed_servers.map((one) => [String(one.id), one.name])], "");
  const recipient = h("input", { type: "text", name: "recipient", maxlength: 64, spellcheck: "false", autocomplete: "off", placeholder: "A player's name, if it is a gift" });
  const boxes = {
    count: field("How many", count),
    price: shown.custom_price && field(`Your price (${code})`, paid),
    server: shown.allow_select_server && field("Server", server),
    recipient: shown.gifting && field("Who is the gift for?", recipient),
  };
  const message = h("p", { class: "message", role: "alert" });
  // A refusal is shown at the field that it is about.
  const complain = (text) => {
    const place = Object.entries(ABOUT).find(([name, words]) => boxes[name] && words.test(text))?.[0];
    for (const [name, box] of Object.entries(boxes)) if (box) box.complain(name === place ? text : "");
    message.textContent = place ? "" : text;
    if (place) boxes[place].control.focus();
  };
  const submit = async (event) => {
    event.preventDefault();
    const chosen = { count: Number(count.value) };
    if (shown.custom_price) chosen.price = paid.value.replace(",", ".");
    if (server.value) chosen.server_id = Number(server.value);
    if (recipient.value) Object.assign(chosen, { payment_type: 2, gift_to: recipient.value });
    await add(shown, chosen, complain);
  };
  return h("form", { class: "choices", onsubmit: submit, novalidate: true },
    boxes.count, boxes.price, boxes.server, boxes.recipient,
    h("button", { class: "primary big" }, "Add to cart"), message);
}

/** The field that a refusal is about, by its words. */
const ABOUT = {
  recipient: /gift|player/i,
  price: /price/i,
  server: /server/i,
  count: /quantity|count|left|unit|only one|at most/i,
};
