// What was bought in this browser: the list of a login by name, which the API shows no orders, and pictures for every order's page.
import { session } from "./api.js";
import { kept } from "./dom.js";

const KEY = "purchases";
const MOST = 20;

/** The purchases of the present login: of another player's, and of another login by the same name, it is not told. */
export const purchases = () => all().filter((one) => session.login && one.login === session.login);

const all = () => kept.read(KEY) ?? [];

/** What is known of an order; undefined if this login did not make it here. */
export const purchase = (order) => purchases().find((one) => one.order === order);

export function remember(order, lines) {
  const names = lines.map(({ name, count, image, gift }) => ({ name, count, image, giftTo: gift?.gifted_to ?? null }));
  const others = all().filter((one) => one.order !== order);
  const newest = { order, login: session.login, at: new Date().toISOString(), lines: names };
  kept.write(KEY, [newest, ...others].slice(0, MOST));
}
