// What every page shows from: what the page says of the store, the player, the currency.
import { call, isShown, optional, session } from "./api.js";
import { byId, kept, t } from "./dom.js";

/** What the page says of the store, of the same version as the page. */
export const shop = JSON.parse(byId("data").textContent);
export const store = { user: null, inCart: 0 };

/** Loads the player and their cart. What is known of them stays if the store does not respond. */
export async function loadUser(options) {
  let [user, inCart] = [null, 0];
  if (session.token) {
    try {
      const [found, { cart }] = await Promise.all([call("/user", undefined, options), optional("/cart/get", { cart: { items: store.inCart } })]);
      [user, inCart] = [found, cart.items];
    } catch (error) {
      if (error.status !== 401) throw error;
    }
  }
  Object.assign(store, { user, inCart });
  dispatchEvent(new Event("session"));
}

/** The same for the header only, without which a page is complete. */
export async function refreshUser() {
  try {
    await loadUser({ isOptional: true });
  } catch (error) {
    if (!isShown(error)) throw error;
  }
}

export const currency = {
  get shown() {
    const wanted = kept.get("currency");
    return shop.currencies.find((one) => one.name === wanted) ?? shop.system_currency;
  },
  choose(name) {
    kept.set("currency", name);
  },
  get isConverted() {
    return this.shown.name !== shop.system_currency.name;
  },
};

const { lang } = document.documentElement;

/** An amount in a currency that the API names. The store's own has the store's digits, which are not always those of browsers. */
export function moneyIn(amount, code) {
  const digits = code === shop.system_currency.name ? { minimumFractionDigits: shop.digits, maximumFractionDigits: shop.digits } : {};
  try {
    return new Intl.NumberFormat(lang, { style: "currency", currency: code, ...digits }).format(amount);
  } catch {
    return `${amount.toFixed(2)} ${code}`;
  }
}

/** An amount in the store's own currency, whatever the visitor chose: what is charged. */
export const charged = (amount) => moneyIn(amount, shop.system_currency.name);

/** An amount of the store's currency, in the currency that the visitor chose. */
export function money(amount) {
  const { name, value } = currency.shown;
  return currency.isConverted ? `≈ ${moneyIn((amount / shop.system_currency.value) * value, name)}` : charged(amount);
}

/** An element that shows an amount, also when another currency is chosen. */
export const convert = () => {
  for (const element of document.querySelectorAll("[data-money]")) element.textContent = money(Number(element.dataset.money));
};

/** The game's own port, with which a player need not type one. */
const GAME_PORT = 25565;
/** The address of the game server, as a player types it. */
export const serverAddress = shop.server.ip && ![0, GAME_PORT].includes(shop.server.port) ? `${shop.server.ip}:${shop.server.port}` : shop.server.ip;

/** The name of a payment method, in words for buyers. */
export const methodName = (name) => (name === "Stripe" ? t("method.card") : name);

export const virtual = (amount) => `${new Intl.NumberFormat(lang).format(amount)} ${shop.virtual_currency}`;
/** A time of the API, such as "2027-05-01 16:00:00" in UTC, as programs read it. */
export const utc = (time) => `${time.replace(" ", "T")}Z`;
/** A day and its time, as the visitor's clock has it. */
export const moment = (time) => new Date(time).toLocaleString(lang, { dateStyle: "medium", timeStyle: "short" });
export const date = (time, style = "long") => new Date(time).toLocaleDateString(lang, { dateStyle: style });
