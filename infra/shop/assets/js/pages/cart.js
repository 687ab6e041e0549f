// The cart: lines with their choices, codes, promoted items, and the checkout.
import { accepted, call, optional, session } from "../api.js";
import { AS_TYPED, count as plural, field, h, hidden, kept, parts, picture, say, select, t } from "../dom.js";
import { put, who, works } from "../parts.js";
import { remember } from "../purchases.js";
import { charged, currency, methodName, money, shop, store, virtual } from "../store.js";
import { needsLogin } from "./login.js";

/** `changed` shows the page again, after a change. */
export default async function cart(changed) {
  if (!store.user) return needsLogin(changed);
  const [{ cart: sums, items }, promoted, methods] = await Promise.all([call("/cart/get"), optional("/cart/getPromoted", []), call("/payments/get")]);
  const isEmpty = items.length === 0;
  const required = [];
  const subscribed = items.find(isSubscription);
  const every = subscribed && (await period(subscribed.id));
  // A subscription is bought alone.
  const offered = subscribed ? [] : promoted;
  return {
    view: [
      h("h1", {}, t("cart.title")),
      isEmpty && h("p", { class: "note" }, t("cart.empty"), " ", h("a", { href: "/" }, t("cart.look"))),
      h("div", { class: "cart" },
        h("div", { class: "stack" },
          !isEmpty && h("ul", { class: "lines" }, items.map((line) => cartLine(line, changed, required, every))),
          offered.length > 0 && h("section", { "aria-labelledby": "promoted" },
            h("h2", { id: "promoted" }, t("promoted")),
            h("ul", { class: "promoted" }, offered.map((item) => offer(item, changed))))),
        h("div", { class: "stack side" },
          codes(sums, changed, required),
          !isEmpty && checkout(sums, items, methods, changed, required, every))),
    ],
  };
}

const isSubscription = (line) => line.payment_type === 1;

/** How often a subscription is paid, in words; only "subscription" if the item cannot be looked up. */
async function period(item) {
  const { plan } = await optional(`/items/get/${item}`, {});
  return plan ? plural(`every.${plan.unit}`, plan.every) : "";
}

/** The changes of the cart are made one after another: of two that are sent together, either could be the last one that is stored. */
const turns = { last: Promise.resolve(), changes: 0, isStale: false };

/** Does something with the cart once everything is done that was begun before it. */
function inTurn(work) {
  const done = turns.last.then(work);
  turns.last = done.catch(() => {});
  return done;
}

/** Makes a change in its turn. The cart is shown again after it, unless another change waits for it. `make` returns whether there is something new to show. */
function change(make, changed) {
  turns.changes += 1;
  const place = turns.changes;
  return inTurn(async () => {
    if (await make()) turns.isStale = true;
    if (place === turns.changes) await showStale(changed);
  });
}

async function showStale(changed) {
  if (!turns.isStale) return;
  turns.isStale = false;
  await changed();
}

/** What was typed and not accepted, with the reason, by the setting. It stays when the page is shown again. */
const unsent = new Map();

/**
 * A control that sends its value when it changes. Until it is accepted, `problem` says why it is not. `data-typed` says whether its value
 * was typed ("yes"), or also left and waits for its turn ("left"), and was not sent, which stays when the page is shown again.
 */
function setting(label, control, path, body, changed) {
  const box = field(label, control);
  const name = JSON.stringify([store.user.username, path, body("")]);
  control.name = name;
  control.dataset.typed = "no";
  box.problem = () => unsent.get(name)?.problem ?? "";
  box.isUnsent = () => control.dataset.typed !== "no" || box.problem() !== "";
  /** Returns whether there is something new to show. */
  box.send = async () => {
    control.dataset.typed = "no";
    const value = control.value.trim();
    const done = await accepted(path, body(value), (problem) => {
      // What a login that is over kept from being sent is sent after the next one.
      if (problem) unsent.set(name, { value, problem: session.token ? problem : "" });
      else unsent.delete(name);
      box.complain(problem);
    });
    // The page may have been shown again meanwhile, without this change.
    return done || !box.isConnected;
  };
  const left = () => {
    if (control.dataset.typed === "no") return;
    control.dataset.typed = "left";
    // It is typed on, or was sent by a tap on the button that pays, or is in another control since the page was shown again.
    return change(() => control.dataset.typed === "left" && box.send(), changed);
  };
  if (unsent.has(name)) {
    control.value = unsent.get(name).value;
    box.complain(box.problem());
    if (box.problem() === "") {
      control.dataset.typed = "left";
      left();
    }
  }
  control.send = box.send;
  control.addEventListener("input", () => { control.dataset.typed = "yes"; });
  for (const event of ["change", "blur"]) control.addEventListener(event, left);
  return box;
}

// There are no more turns on a page that is left.
addEventListener("pagehide", () => {
  for (const control of document.querySelectorAll("main [data-typed]:not([data-typed=no])")) control.send();
});

/** A line; what has to be chosen, and sent, before it can be paid is added to `required`. */
function cartLine(line, changed, required, every) {
  const { cid } = line;
  const label = (text) => [text, hidden(` – ${line.name}`)];
  const choice = (name, control, path, body, missing = "") => {
    const box = setting(label(name), control, `/cart/${path}/${cid}`, body, changed);
    required.push({ box, problem: () => box.problem() || (control.value.trim() === "" ? missing : "") });
    return box;
  };
  const variable = (one) => {
    const control = one.variables.length > 0
      ? select({}, [["", t("choose")], ...one.variables.map(({ name, value, price }) => [value, price > 0 ? `${name} (+ ${money(price)})` : name])], one.value)
      // A field of numbers has the keyboard for them, with a minus and a point.
      : h("input", { ...(one.type === 2 ? { type: "number", step: "any" } : { type: "text", maxlength: 64 }), value: one.value, placeholder: t("not_set"), ...AS_TYPED });
    const missing = t(one.variables.length > 0 ? "missing.choose" : "missing.fill");
    const box = choice(one.name, control, "setVariable", (value) => ({ var_id: one.id, var_value: value }), missing);
    if (one.description) box.hint(one.description);
    return box;
  };
  const count = h("input", { type: "number", min: 1, value: String(line.count), inputmode: "numeric", class: "short" });
  const paid = h("input", { type: "text", value: String(line.price), inputmode: "decimal", class: "short" });
  const servers = select({}, [["", t("choose")], ...line.allowed_servers.map((one) => [String(one.server_id), one.server_name])], String(line.selected_server ?? ""));
  const sum = line.is_virtual_currency_only ? {} : { "data-money": line.price * line.count };
  const shown = line.is_virtual_currency_only ? virtual(line.virtual_price * line.count) : money(line.price * line.count);
  return h("li", { class: line.is_unavailable ? "line off" : "line", "data-cid": cid },
    h("a", { href: `/item/${line.id}`, class: "line-picture", tabindex: "-1", "aria-hidden": "true" }, picture(line.image, 88)),
    h("div", { class: "line-text" },
      h("h2", {}, h("a", { href: `/item/${line.id}` }, line.name)),
      line.is_unavailable && h("p", { class: "note" }, t("cart.unavailable")),
      line.gift && h("p", { class: "soft" }, t("cart.gift", line.gift.gifted_to)),
      isSubscription(line) && h("p", { class: "soft" }, every ? t("subscription.terms", charged(line.price), every) : t("badge.subscription")),
      line.replaces && h("p", { class: "note" }, t("cart.replaces", line.replaces)),
      line.code_sum > 0 && h("p", { class: "soft" }, t("cart.code", money(line.code_sum))),
      line.code_note && !line.is_unavailable && h("p", { class: "soft" }, line.code_note),
      h("div", { class: "settings" },
        choice(t("units"), count, "reload", (value) => ({ count: Number(value) })),
        line.is_any_price && choice(t("your_price.line"), paid, "changePrice", (value) => ({ price: value.replace(",", ".") }), t("missing.price")),
        line.allow_select_server && choice(t("server"), servers, "setSelectedServer", (value) => ({ server_id: Number(value) }), t("missing.server")),
        line.vars.map(variable))),
    h("div", { class: "line-end" },
      h("strong", { class: "price", ...sum }, shown),
      remover(`remove-${cid}`, `/cart/remove/${cid}`, line.name, changed)));
}

/** A second tap within so many milliseconds and pixels is half of a double tap, also if another line has come into the place of the one that was removed. */
const DOUBLE_TAP = { time: 400, distance: 30 };
let lastTap = null;

function isDoubleTap(tap) {
  const before = lastTap;
  lastTap = tap;
  return before && tap.timeStamp - before.timeStamp < DOUBLE_TAP.time && Math.hypot(tap.clientX - before.clientX, tap.clientY - before.clientY) < DOUBLE_TAP.distance;
}

/** A button that removes something from the cart. */
function remover(name, path, label, changed) {
  const remove = async () => {
    const removed = await accepted(path);
    if (removed) say(removed.message);
    return removed;
  };
  return works(h("button", { type: "button", name, class: "link" }, t("remove"), hidden(` ${label}`)), (tap) => !isDoubleTap(tap) && change(remove, changed));
}

function offer(item, changed) {
  // Without a login any more, the cart shows the login.
  const take = () => change(async () => (await put(item, { promoted: true })) || !session.token, changed);
  return h("li", { class: "offer" }, picture(item.image, 64),
    h("span", {}, h("strong", {}, item.name), h("span", { class: "price" }, item.is_virtual_currency_only
      ? h("strong", {}, virtual(item.virtual_price))
      : [hidden(`${t("price.regular")} `), h("s", {}, money(item.original_price)), " ", h("strong", {}, money(item.price))])),
    works(h("button", { type: "button", name: `add-${item.id}` }, t("add.short"), hidden(` ${item.name}`)), take));
}

function codes(sums, changed, required) {
  const entry = (label, path, name) => {
    const control = h("input", { type: "text", name, maxlength: 255, autocomplete: "off", spellcheck: "false" });
    const box = field(label, control);
    control.addEventListener("input", () => box.complain(""));
    // It is said once: what was refused, or is still there at the second tap, is left out.
    required.push({ box, problem: () => (control.value.trim() === "" || control.ariaInvalid === "true" ? "" : t("code.not_applied")) });
    return works(h("form", { class: "code" }, box, h("button", { name: path }, t("apply"), hidden(` ${label}`))), () => change(async () => {
      const applied = await accepted(path, { [name]: control.value.trim() }, box.complain);
      if (!applied) return false;
      control.value = "";
      say(applied.message);
      return true;
    }, changed));
  };
  const applied = (label, code, path) => h("p", { class: "applied" }, h("span", {}, `${label} `, h("code", {}, code)), remover(path, path, label, changed));
  return h("section", { class: "panel", id: "codes-panel", "aria-labelledby": "codes" },
    h("h2", { id: "codes" }, t("codes")),
    sums.coupon_code && applied(t("code.coupon"), sums.coupon_code, "/cart/removeCoupon"),
    sums.gift_code && applied(t("code.gift"), sums.gift_code, "/cart/removeGiftcard"),
    sums.gift_code.startsWith("****") && h("p", { class: "note" }, t("code.other_login")),
    entry(t("code.entry"), "/cart/acceptCoupon", "coupon"),
    sums.referral_code
      ? applied(t("code.referral_by", sums.referral), sums.referral_code, "/cart/removeReferral")
      : shop.is_ref && entry(t("code.referral"), "/cart/setReferral", "ref_code"));
}

/** Words that are a link, if the store has a page about them. */
const linked = (words, url) => (url ? h("a", { href: url, target: "_blank", rel: "noopener" }, words, hidden(` ${t("new_tab")}`)) : words);

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

/** Marks everything that is missing or was refused, and stands at the first. Returns how much that is. */
function mark(required) {
  const missing = required.filter(({ box, problem }) => {
    const found = problem();
    box.complain(found);
    return found !== "";
  });
  missing[0]?.box.control.focus();
  return missing.length;
}

/** What is charged for a cart, as its button says. */
const sumOf = ({ price, virtual_price: points }) => [(price > 0 || points === 0) && charged(price), points > 0 && virtual(points)].filter(Boolean).join(" + ");

/** What a buyer has seen of a cart: whose it is, the sum, and who gets what. */
const seen = (sums, items) => {
  const line = ({ cid, id, count, gift, selected_server, vars }) => [cid, id, count, gift?.gifted_to, selected_server, vars.map(({ value }) => value)];
  return JSON.stringify([session.login, sumOf(sums), sums.referral_code, items.map(line)]);
};

function sumsTable(sums) {
  const { virtual_currency: balance } = store.user;
  const row = (label, text, kind = "") => h("div", { class: kind }, h("dt", {}, label), h("dd", {}, text));
  return h("dl", { class: "sums" },
    row(plural("cart.units", sums.items), money(sums.clear_price)),
    sums.coupon_sum > 0 && row(t("code.coupon"), `− ${money(sums.coupon_sum)}`),
    sums.gift_sum > 0 && row(t("code.gift"), `− ${money(sums.gift_sum)}`),
    sums.virtual_price > 0 && row(t("sum.virtual"), [virtual(sums.virtual_price), balance !== undefined && h("small", {}, t("account.balance", virtual(balance)))]),
    row(t("sum.to_pay"), [money(sums.price), shop.tax_on_top && sums.price > 0 && h("small", {}, ` ${t("tax.on_top")}`)], "total"));
}

function checkout(sums, items, methods, changed, required, every) {
  const shown = seen(sums, items);
  const panel = (...children) => h("section", { class: "panel", "aria-labelledby": "sum" }, h("h2", { id: "sum" }, t("total")), children);
  const off = items.filter((line) => line.is_unavailable);
  // The API lets nothing be paid beside such a line.
  if (off.length > 0) return panel(off.length === items.length ? h("p", {}, t("cart.nothing")) : sumsTable(sums),
    h("p", { class: "note" }, t("cart.without", off.map(({ name }) => name).join(", "))));
  const method = select({ name: "paymentMethod" }, methods.map(({ name }) => [name, methodName(name)]), methods[0]?.name);
  const name = isNewName() && askName(required);
  const terms = tick("terms", parts("accept_terms", linked(t("terms"), shop.terms)));
  const privacy = tick("privacy", parts("accept_privacy", linked(t("privacy_policy"), shop.privacy)));
  for (const box of [terms, privacy]) required.push({ box, problem: () => (box.control.checked ? "" : t("missing.tick")) });
  const message = h("p", { class: "message", role: "alert" });
  const isFree = sums.price === 0 && sums.virtual_price === 0;
  const paid = every ? t("pay.every", sumOf(sums), every) : t("pay", sumOf(sums));
  const button = h("button", { name: "pay", class: "primary big wide" }, isFree ? t("pay.free") : paid);
  const pay = async () => {
    if (button.isConnected) for (const { box } of required) if (box.isUnsent?.() && (await box.send())) turns.isStale = true;
    await showStale(changed);
    // A change has shown the cart again, which the buyer has to have seen.
    if (!button.isConnected) return say(t("cart.again"));
    const complain = (text) => { message.textContent = text; };
    // What the page shows is bought, and nothing else: another login of the account, or of this browser, may have changed the cart.
    const now = await accepted("/cart/get", undefined, complain);
    if (!now) return;
    if (seen(now.cart, now.items) !== shown) {
      say(t("cart.changed"), "bad");
      return changed();
    }
    const missing = mark(required);
    message.textContent = missing > 1 ? t("missing.many", missing) : missing === 1 ? t("missing.one") : "";
    if (missing > 0) return;
    const wish = {
      paymentMethod: method.value,
      termsAndConditions: terms.control.checked,
      privacyPolicy: privacy.control.checked,
      currency: currency.shown.name,
      chatId: kept.read("chat")?.chat_id ?? null,
    };
    const created = await accepted("/payments/create", wish, complain);
    if (!created) return;
    remember(created.order_id, items);
    say(created.message);
    location.assign(created.data.url);
  };
  return panel(sumsTable(sums),
    currency.isConverted && h("p", { class: "soft" }, t("charged", charged(sums.price))),
    sums.chat_sync === 1 && chat(changed),
    works(h("form", { novalidate: true }, field(t("method"), method), who(store.user), name, terms, privacy,
      every && h("p", { class: "soft" }, t("subscription.until", charged(items.find(isSubscription).price), every)), message, button), () => inTurn(pay)),
    methods.length === 0 && h("p", { class: "note" }, t("method.none")));
}

/** Whether the account was made by this login, of a name that no one has logged in with before, and the visitor was not asked about it. */
const isNewName = () => session.isByName && Math.abs(session.since - Date.parse(store.user.created_at)) < 5000 && kept.get("name") !== store.user.username;

/** Asks once whether a new name is that of the player: what is bought for a name that is misspelt arrives nowhere. */
function askName(required) {
  const { username } = store.user;
  const yes = tick("name", parts("who.yes", h("strong", {}, username)));
  yes.control.addEventListener("change", () => (yes.control.checked ? kept.set("name", username) : kept.remove("name")));
  required.push({ box: yes, problem: () => (yes.control.checked ? "" : t("missing.tick")) });
  const other = () => {
    session.clear();
    location.reload();
  };
  return h("div", { class: "note" }, h("p", {}, t("who.new")), yes, h("button", { type: "button", class: "link", onclick: other }, t("who.no")));
}

/** The login at the chat platform, in a window of its own. The API posts the account back to this page's origin. */
function chat(changed) {
  const linked = kept.read("chat");
  const message = h("p", { class: "message", role: "alert" });
  const complain = (text) => { message.textContent = text; };
  const open = async () => {
    // Opened at once: after a pause, browsers take it for an advertisement.
    const popup = window.open("about:blank", "chat", "width=560,height=640");
    if (!popup) return complain(t("chat.blocked"));
    const reply = await accepted("/auth/chat", undefined, complain, { method: "GET" });
    if (!reply) return popup.close();
    // Only the page that the platform sends the buyer back to may say who logged in.
    const callback = new URL(new URL(reply.url).searchParams.get("redirect_uri")).origin;
    const posted = (event) => {
      if (event.origin !== callback || event.source !== popup) return;
      removeEventListener("message", posted);
      if (!event.data.success) return complain(event.data.message);
      kept.write("chat", event.data);
      say(t("chat.linked", event.data.chat_username));
      return changed();
    };
    addEventListener("message", posted);
    popup.location = reply.url;
  };
  const text = linked ? t("chat.shown", linked.chat_username) : t("chat.needed");
  // A login counts for some hours, and for the first player who uses it.
  return h("div", { class: "note" }, h("p", {}, text), h("button", { type: "button", onclick: open }, t(linked ? "chat.again" : "chat.login")), message);
}
