// What every page shows from: the settings, the categories, the player, the currency.
import { Offline, call, get, session } from "./api.js";

export const store = { settings: null, categories: [], user: null, inCart: 0 };

export async function loadStore() {
  const [settings, categories] = await Promise.all([get("/settings/get"), get("/categories/get")]);
  Object.assign(store, { settings, categories });
}

export async function loadUser() {
  store.user = null;
  store.inCart = 0;
  if (session.token) {
    try {
      const [user, cart] = await Promise.all([call("/user"), call("/cart/get")]);
      store.user = user;
      store.inCart = cart.cart.items;
    } catch (error) {
      if (error instanceof Offline) throw error;
    }
  }
  dispatchEvent(new Event("shell"));
}

export const currency = {
  get shown() {
    const wanted = localStorage.getItem("currency");
    const { currencies, system_currency: system } = store.settings;
    return currencies.find((one) => one.name === wanted) ?? system;
  },
  choose(name) {
    localStorage.setItem("currency", name);
  },
  get isConverted() {
    return this.shown.name !== store.settings.system_currency.name;
  },
};

function format(amount, code) {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency: code }).format(amount);
  } catch {
    return `${amount.toFixed(2)} ${code}`;
  }
}

/** An amount of the store's currency, in the currency that the visitor chose. */
export function money(amount) {
  const { name, value } = currency.shown;
  if (!currency.isConverted) return format(amount, name);
  return `≈ ${format((amount / store.settings.system_currency.value) * value, name)}`;
}

/** An amount in a currency that the API names. */
export const moneyIn = (amount, code) => format(amount, code);
/** An amount in the store's own currency, whatever the visitor chose: what is charged. */
export const charged = (amount) => format(amount, store.settings.system_currency.name);
export const embers = (amount) => `${new Intl.NumberFormat("en").format(amount)} ${store.settings.virtual_currency}`;
