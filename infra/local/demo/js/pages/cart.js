// The cart: lines with their choices, codes, promoted items, and the checkout.
import { accepted, call, config } from "../api.js";
import { field, h, hidden, picture, say, select } from "../dom.js";
import { add } from "../parts.js";
import { charged, currency, embers, loadUser, money } from "../store.js";

/** `again` shows the page again, after a change. */
export async function cart(again) {
  const [{ cart: sums, items }, promoted, methods] = await Promise.all([call("/cart/get"), call("/cart/getPromoted"), call("/payments/get")]);
  const changed = async () => {
    await loadUser();
    await again();
  };
  const isEmpty = items.length === 0;
  return {
    title: "Cart",
    view: h("div", { class: "wrap stack" },
      h("h1", {}, "Your cart"),
      isEmpty && h("p", { class: "note" }, "Your cart is empty. ", h("a", { href: "/" }, "Look around"), "."),
      h("div", { class: "cart" },
        h("div", { class: "stack" },
          !isEmpty && h("ul", { class: "lines" }, items.map((line) => cartLine(line, changed))),
          promoted.length > 0 && h("section", { "aria-labelledby": "promoted" },
            h("h2", { id: "promoted" }, "Only in the cart"),
            h("ul", { class: "promoted" }, promoted.map((item) => offer(item, changed))))),
        h("div", { class: "stack side" },
          codes(sums, changed),
          !isEmpty && checkout(sums, items, methods, changed)))),
  };
}

/** A control that sends its value when it changes. What was typed stays if it is refused. */
function setting(label, control, path, body, changed) {
  const box = field(label, control);
  control.addEventListener("change", async () => {
    if (await accepted(path, body(control.value), box.complain)) await changed();
  });
  return box;
}

function cartLine(line, changed) {
  const { cid } = line;
  const label = (text) => [text, hidden(` of ${line.name}`)];
  const remove = async () => {
    const removed = await accepted(`/cart/remove/${cid}`);
    if (removed) {
      say(removed.message);
      await changed();
    }
  };
  const variable = (one) => {
    const control = one.variables.length > 0
      ? select({}, [["", "Choose …"], ...one.variables.map(({ name, value }) => [value, name])], one.value)
      : h("input", { type: "text", value: one.value, maxlength: 64, placeholder: "Not set" });
    return setting(label(one.name), control, `/cart/setVariable/${cid}`, (value) => ({ var_id: one.id, var_value: value }), changed);
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
        line.is_any_price && setting(label("Your price"), paid, `/cart/changePrice/${cid}`, (value) => ({ price: value.replace(",", ".") }), changed),
        line.allow_select_server && setting(label("Server"), servers, `/cart/setSelectedServer/${cid}`, (value) => ({ server_id: Number(value) }), changed),
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
    h("button", { type: "button", onclick: take }, "Add", hidden(` ${item.name}`)));
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

function checkout(sums, items, methods, changed) {
  const row = (label, text, kind = "") => h("div", { class: kind }, h("dt", {}, label), h("dd", {}, text));
  const method = select({ name: "paymentMethod" }, methods.map(({ name }) => [name, name]), methods[0]?.name);
  const tick = (name, label) => h("label", { class: "tick" }, h("input", { type: "checkbox", name }), h("span", {}, label));
  const [terms, privacy] = [tick("terms", "I accept the terms and conditions."), tick("privacy", "I have read the privacy policy.")];
  const message = h("p", { class: "message", role: "alert" });
  const button = h("button", { class: "primary big wide" }, "Pay ", charged(sums.price));
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    const wish = {
      paymentMethod: method.value,
      termsAndConditions: terms.firstChild.checked,
      privacyPolicy: privacy.firstChild.checked,
      currency: currency.shown.name,
      chatId: JSON.parse(localStorage.getItem("chat") ?? "null")?.chat_id ?? null,
    };
    const created = await accepted("/payments/create", wish, (text) => { message.textContent = text; });
    if (created) {
      say(created.message);
      location.assign(created.data.url);
    } else button.disabled = false;
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
    h("form", { onsubmit: submit }, field("Pay with", method), terms, privacy, message, button),
    methods.length === 0 && h("p", { class: "note" }, "No payment method is switched on."));
}

/** The login at the chat platform, in a window of its own. The API posts the account back to this page's origin. */
function chat(changed) {
  const linked = JSON.parse(localStorage.getItem("chat") ?? "null");
  if (linked) return h("p", { class: "note" }, `Chat account: ${linked.chat_username}.`);
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
  return h("div", { class: "note" }, h("p", {}, "An item in your cart needs a linked chat account."), h("button", { type: "button", onclick: open }, "Log in with chat"), message);
}
