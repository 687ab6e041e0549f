// What was bought in this browser. The API says how far an order is, and not what is in it.
import { kept } from "./kept.js";

const KEY = "purchases";
const MOST = 20;

export const purchases = () => kept.read(KEY) ?? [];

/** What is known of an order; undefined if it was not made here. */
export const purchase = (order) => purchases().find((one) => one.order === order);

export function remember(order, lines) {
  const bought = lines.filter((line) => !line.is_unavailable);
  const names = bought.map(({ name, count, image, gift }) => ({ name, count, image, giftTo: gift?.gifted_to ?? null }));
  const others = purchases().filter((one) => one.order !== order);
  const all = [{ order, at: new Date().toISOString(), lines: names }, ...others];
  kept.write(KEY, all.slice(0, MOST));
}
