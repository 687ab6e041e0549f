// The cart: lines with their choices, codes, promoted items, and the checkout.
import { accepted, call, config } from "../api.js";
import { field, h, hidden, picture, say, select } from "../dom.js";
import { add, worker } from "../parts.js";
import { remember } from "../purchases.js";
import { charged, currency, embers, loadUser, money, store } from "../store.js";

/** `again` shows the page again, after a change. */
export async function cart(again) {
  const [{ cart: sums, items }, promoted, methods] = await Promise.all([call("/cart/get"), call("/cart/getPromoted"), call("/payments/get")]);
  const changed = async () => {
    await loadUser();
    await again();
  };
  const isEmpty = items.length === 0;
  const required = [];
  return {
    title: "Cart",
    view: h("div", { class: "wrap stack" },
      h("h1", {}, "Your cart"),
      isEmpty && h("p", { class: "note" }, "Your cart is empty. ", h("a", { href: "/" }, "Look around"), "."),
      h("div", { class: "cart" },
        h("div", { class: "stack" },
          !isEmpty && h("ul", { class: "lines" }, items.map((line) => cartLine(line, changed, required))),
          promoted.length > 0 && h("section", { "aria-labelledby": "promoted" },
            h("h2", { id: "promoted" }, "Only in the cart"),
            h("ul", { class: "promoted" }, promoted.map((item) => offer(item, changed))))),
        h("div", { class: "stack side" },
          codes(sums, changed),
          !isEmpty && checkout(sums, items, methods, changed, required)))),
  };
}

/** A control that sends its value when it changes. What was typed stays if it is refused, and is chosen only when it is not. */
function setting(label, control, path, body, changed) {
  const box = field(label, control);
  control.addEventListener("change", async () => {
    if (await accepted(path, body(control.value), box.complain)) await changed();
  });
  return box;
}

/** A line; what has to be chosen before it can be paid is added to `required`. */
function cartLine(line, changed, required) {
  const { cid } = line;
  const label = (text) => [text, hidden(` of ${line.name}`)];
  const remove = async () => {
    const removed = await accepted(`/cart/remove/${cid}`);
    if (removed) {
      say(removed.message);
      await changed();
    }
  };
  const needs = (box, text) => {
    if (!line.is_unavailable) required.push({ box, isMissing: () => box.control.value.trim() === "", text });
    return box;
  };
  const variable = (one) => {
    const control = one.variables.length > 0
      ? select({}, [["", "Choose …"], ...one.variables.map(({ name, value }) => [value, name])], one.value)
      : h("input", { type: "text", value: one.value, maxlength: 64, placeholder: "Not set" });
    const box = setting(label(one.name), control, `/cart/setVariable/${cid}`, (value) => ({ var_id: one.id, var_value: value }), changed);
    return needs(box, one.variables.length > 0 ? "Please choose one." : "Please fill this in.");
  };
  const count = h("input", { type: "number", min: 1, value: String(line.count), inputmode: "numeric", class: "short" });
  const paid = h("input", { type: "text", value: String(line.price), inputmode: "decimal", class: "short" });
  const servers = select({}, [["", "Choose …"], ...line.allowed_servers.map((one) => [String(one.server_id), one.server_name])], String(line.selected_server ?? ""));
  const sum = line.is_virtual_currency_only ? embers(line.virtual_price * line.count) : money(line.price * line.count);
  return h("li", { class: line.is_unavailable ? "line off" : "line", "data-cid": cid },
    h("a", { href: `/item/${line.id}`, class: "line-picture", tabindex: "-1", "aria-hidden": "true" }, picture(line.image, 88)),
    h("div", { class: "line-text" },
      h("h2", {}, h("a", { href: `/item/${line.id}` }, line.name)),
      line.is_unavailable && h("p", { class: "note" }, "This cannot be bought now and is not in the total."),
      line.gift && h("p", { class: "soft" }, `A gift for ${line.gift.gifted_to}`),
      line.payment_type === 1 && h("p", { class: "soft" }, "Subscription"),
      h("div", { class: "settings" },
        setting(label("Units"), count, `/cart/reload/${cid}`, (value) => ({ count: Number(value) }), changed),
        line.is_any_price && needs(setting(label("Your price"), paid, `/cart/changePrice/${cid}`, (value) => ({ price: value.replace(",", ".") }), changed), "Please choose a price."),
        line.allow_select_server && needs(setting(label("Server"), servers, `/cart/setSelectedServer/${cid}`, (value) => ({ server_id: Number(value) }), changed), "Please choose a server."),
        line.vars.map(variable))),
    h("div", { class: "line-end" },
      h("strong", { class: "price" }, sum),
      h("button", { type: "button", class: "link", onclick: remove }, "Remove", hidden(` ${line.name}`))));
}

function offer(item, changed) {
  const take = async () => {
    if (await add(item, { promoted: true })) await changed();
  };
  return h("li", { class: "offer" }, picture(item.image, 64),
    h("span", {}, h("strong", {}, item.name), h("span", { class: "price" }, hidden("Regular price "), h("s", {}, money(item.original_price)), " ", h("strong", {}, money(item.price)))),
    worker({ type: "button" }, take, "Add", hidden(` ${item.name}`)));
}

function codes(sums, changed) {
  const remove = (path, label) => h("button", { type: "button", class: "link", onclick: async () => {
    const removed = await accepted(path);
    if (removed) {
      say(removed.message);
      await changed();
    }
  } }, "Remove", hidden(` ${label}`));
  const entry = (label, path, name, example) => {
    const control = h("input", { type: "text", name, maxlength: 255, autocomplete: "off", spellcheck: "false", placeholder: example });
    const box = field(label, control);
    return h("form", { class: "code", onsubmit: async (event) => {
      event.preventDefault();
      const applied = await accepted(path, { [name]: control.value }, box.complain);
      if (!applied) return;
      control.value = "";
      say(applied.message);
      await changed();
    } }, box, h("button", {}, "Apply", hidden(` ${label}`)));
  };
  const applied = (label, code, path) => h("p", { class: "applied" }, h("span", {}, `${label} `, h("code", {}, code)), remove(path, label));
  return h("section", { class: "panel", "aria-labelledby": "codes" },
    h("h2", { id: "codes" }, "Codes"),
    sums.coupon_code && applied("Coupon", sums.coupon_code, "/cart/removeCoupon"),
    sums.gift_code && applied("Gift card", sums.gift_code, "/cart/removeGiftcard"),
    sums.gift_code.startsWith("****") && h("p", { class: "note" }, "This gift card was entered by another login. Enter it again before you pay."),
    entry("Coupon or gift card", "/cart/acceptCoupon", "coupon", config.coupon.toUpperCase()),
    sums.referral_code
      ? applied(`Referral by ${sums.referral}`, sums.referral_code, "/cart/removeReferral")
      : entry("Referral code", "/cart/setReferral", "ref_code", config.referral),
    h("details", {}, h("summary", {}, "Codes to try"),
      h("ul", { class: "soft" },
        [[config.coupon, "a coupon"], [config.gift, "a gift card"], [config.referral, "a referral code"], ...config.refused.map((one) => [one.code, `refused: ${one.reason}`])]
          .filter(([code]) => code)
          .map(([code, text]) => h("li", {}, h("code", { class: "upper" }, code), ` ${text}`)))));
}

/** A page of the store whose address has a word in it, such as its terms. */
const pageAbout = (word) => [...store.settings.footer, ...store.settings.header].find(({ url }) => url.includes(word))?.url;

/** Text in which some words are a link, if the store has a page about them. */
const linked = (before, words, url, after) => [before, url ? h("a", { href: url, target: "_blank", rel: "noopener" }, words, hidden(" (in a new tab)")) : words, after];

/** A box to tick, with room for a message. */
function tick(name, ...label) {
  const box = h("input", { type: "checkbox", name, "aria-describedby": `${name}-message` });
  const message = h("span", { class: "message", id: `${name}-message`, role: "alert" });
  const whole = h("div", {}, h("label", { class: "tick" }, box, h("span", {}, label)), message);
  whole.control = box;
  whole.complain = (text) => {
    message.textContent = text;
    if (text) box.setAttribute("aria-invalid", "true");
    else box.removeAttribute("aria-invalid");
  };
  box.addEventListener("change", () => whole.complain(""));
  return whole;
}

/** Marks everything that is missing, and stands at the first. Returns how much is missing. */
function mark(required) {
  const missing = required.filter(({ box, isMissing, text }) => {
    const is = isMissing();
    box.complain(is ? text : "");
    return is;
  });
  missing[0]?.box.control.focus();
  return missing.length;
}

function checkout(sums, items, methods, changed, required) {
  const row = (label, text, kind = "") => h("div", { class: kind }, h("dt", {}, label), h("dd", {}, text));
  const method = select({ name: "paymentMethod" }, methods.map(({ name }) => [name, name]), methods[0]?.name);
  const terms = tick("terms", linked("I accept the ", "terms and conditions", pageAbout("terms"), "."));
  const privacy = tick("privacy", linked("I have read the ", "privacy policy", pageAbout("privacy"), "."));
  for (const box of [terms, privacy]) required.push({ box, isMissing: () => !box.control.checked, text: "Please tick this." });
  const message = h("p", { class: "message", role: "alert" });
  const button = h("button", { class: "primary big wide" }, "Pay ", charged(sums.price));
  const submit = async (event) => {
    event.preventDefault();
    if (button.ariaBusy === "true") return;
    const missing = mark(required);
    if (missing > 0) {
      message.textContent = missing === 1 ? "One thing is missing. It is marked." : `${missing} things are missing. They are marked.`;
      return;
    }
    button.ariaBusy = "true";
    const wish = {
      paymentMethod: method.value,
      termsAndConditions: terms.control.checked,
      privacyPolicy: privacy.control.checked,
      currency: currency.shown.name,
      chatId: JSON.parse(localStorage.getItem("chat") ?? "null")?.chat_id ?? null,
    };
    const created = await accepted("/payments/create", wish, (text) => { message.textContent = text; });
    button.ariaBusy = null;
    if (!created) return;
    remember(created.order_id, items);
    say(created.message);
    location.assign(created.data.url);
  };
  return h("section", { class: "panel", "aria-labelledby": "sum" },
    h("h2", { id: "sum" }, "Total"),
    h("dl", { class: "sums" },
      row(`${sums.items} ${sums.items === 1 ? "unit" : "units"}`, money(sums.clear_price)),
      sums.coupon_sum > 0 && row("Coupon", `− ${money(sums.coupon_sum)}`),
      sums.gift_sum > 0 && row("Gift card", `− ${money(sums.gift_sum)}`),
      sums.virtual_price > 0 && row("In virtual currency", embers(sums.virtual_price)),
      row("To pay", money(sums.price), "total")),
    currency.isConverted && h("p", { class: "soft" }, `You are charged ${charged(sums.price)}.`),
    sums.chat_sync === 1 && chat(changed),
    h("form", { onsubmit: submit, novalidate: true }, field("Pay with", method), terms, privacy, message, button),
    methods.length === 0 && h("p", { class: "note" }, "No payment method is switched on."));
}

/** The login at the chat platform, in a window of its own. The API posts the account back to this page's origin. */
function chat(changed) {
  const linked = JSON.parse(localStorage.getItem("chat") ?? "null");
  const message = h("p", { class: "message", role: "alert" });
  const open = async () => {
    // Opened at once: after a pause, browsers take it for an advertisement.
    const popup = window.open("about:blank", "chat", "width=560,height=640");
    try {
      const reply = await call("/auth/chat", undefined, { method: "GET", credentials: "include" });
      if (!reply.success) throw new Error(reply.error);
      const posted = (event) => {
        if (event.origin !== new URL(config.api).origin) return;
        removeEventListener("message", posted);
        if (!event.data.success) return (message.textContent = event.data.message);
        localStorage.setItem("chat", JSON.stringify(event.data));
        say(`Chat account ${event.data.chat_username} is linked.`);
        return changed();
      };
      addEventListener("message", posted);
      popup.location = reply.url;
    } catch (error) {
      popup?.close();
      message.textContent = error.message;
    }
  };
  const text = linked ? `Chat account: ${linked.chat_username}.` : "An item in your cart needs a linked chat account.";
  // A login counts for some hours, and for the first player who uses it.
  return h("div", { class: "note" }, h("p", {}, text), h("button", { type: "button", onclick: open }, linked ? "Log in with chat again" : "Log in with chat"), message);
}
