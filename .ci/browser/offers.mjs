// Sales, sets and limits, as visitors see them: on a phone, before and after a purchase.

import assert from "node:assert/strict";
import { startWith } from "./server.mjs";
import { DESK, PHONE, agree, inspect, login, open, settled, visitor } from "./visitor.mjs";

/** A second so many hours from now, as the store's files have it: in UTC, without a zone. */
const inHours = (hours) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 19);

const CATEGORY = `
id: 97
slug: offers
name: Offers
items:
  - {id: 9701, name: Lantern, price: 4.99, user_limit: 1}
  - {id: 9702, name: Lantern oil, price: 2.00, requires: [9701], limit: {per_user: 1, every: 7 days}}
  - {id: 9703, name: Travel set, price: 7.00, bundle: [9704], choose: {from: [9705, 9706], count: 1}}
  - {id: 9704, name: Rope, price: 4.00, price_from: {10: 3.50}}
  - {id: 9705, name: Red tent, price: 5.00}
  - {id: 9706, name: Blue tent, price: 5.00, excludes: [9705]}
  - {id: 9707, name: Winter cloak, price: 3.00, from: ${inHours(48)}}
  - {id: 9708, name: Old map, price: 1.00, hidden: true}
`;
/** When a sale ends. */
const UNTIL = inHours(20);
const SALES = `
- {id: 1, name: Lantern night, percentage: 20, for: {items: [9704]}, until: ${UNTIL}}
- {id: 2, name: Lamplighters, percentage: 50, for: {items: [9705]}, who: {owners_of: [9701]}}
`;

async function addToCart(page, url, item) {
  await open(page, `${url}/item/${item}`);
  await page.getByRole("button", { name: "Add to cart" }).first().click();
  await page.getByText("The item was added to your cart.").waitFor();
}

async function pay(page, url) {
  await open(page, `${url}/cart`);
  await agree(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Thank you!" }).waitFor();
}

/** The card of an item in a list. */
const card = (page, name) => page.locator(".card").filter({ has: page.getByRole("link", { name, exact: true }) });

async function told(page, name, ...texts) {
  for (const text of texts) await card(page, name).getByText(text).first().waitFor();
}

/** Everybody sees until when a sale runs, whom another is for, what comes later, what is in a set and what an item needs. */
async function everybodySeesTheOffers(url) {
  for (const [options, size] of [[DESK, "desk"], [PHONE, "phone"]]) {
    const page = await visitor(options);
    await open(page, `${url}/category/offers`);
    await told(page, "Rope", "Lantern night", "€3.20", /\d left/);
    await told(page, "Red tent", /For owners of Lantern:/, "€2.50", "€5.00");
    await told(page, "Winter cloak", /On sale from/);
    assert.equal(await card(page, "Old map").count(), 0, "what is hidden is in no list");
    await inspect(page, `${size}-offers`);
    for (const [item, ...texts] of [[9703, "In it:", "Rope", /choose in the cart, 1 of/, "Blue tent"], [9702, "You need:", "Lantern"], [9704, /from 10/i, /3\.50|2\.80/], [9708, "Old map"], [9707, /On sale from/]]) {
      await open(page, `${url}/item/${item}`);
      for (const text of texts) await page.locator("article").getByText(text).first().waitFor();
      await inspect(page, `${size}-offer-${item}`);
    }
    await page.context().close();
  }
}

/** A buyer on a phone: what an item needs is said, bought, and opens a price and an item; the second purchase of a week is told when. */
async function aBuyerOfOffers(url) {
  const page = await visitor(PHONE);
  await login(page, "Fernleaf", url);
  await open(page, `${url}/item/9702`);
  await page.getByText(/Lantern/).first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Add to cart" }).count(), 0, "what it needs is not owned");
  await inspect(page, "phone-offer-needs");
  await addToCart(page, url, 9701);
  await pay(page, url);
  await open(page, `${url}/item/9705`);
  await page.locator(".price").getByText("€2.50").first().waitFor();
  await inspect(page, "phone-offer-owner");
  await addToCart(page, url, 9702);
  await pay(page, url);
  await open(page, `${url}/item/9702`);
  await page.getByText(/^Available again from/).waitFor();
  await inspect(page, "phone-offer-again");
  await addToCart(page, url, 9703);
  await open(page, `${url}/cart`);
  await inspect(page, "phone-set-in-cart");
  await page.getByLabel("Choice – Travel set").selectOption({ label: "Blue tent" });
  await settled(page);
  await pay(page, url);
  await inspect(page, "phone-set-paid");
  await page.context().close();
}

/**
 * A sale that ends while the page is open is said, and what was chosen stays: a clock that is ahead is taken for its end
 * once, and the page is not loaded again and again.
 */
async function aClockThatIsAhead(url) {
  const page = await visitor();
  let loads = 0;
  page.on("framenavigated", () => { loads += 1; });
  await page.clock.install({ time: Date.parse(`${UNTIL}Z`) - 4000 });
  await open(page, `${url}/item/9704`);
  await page.getByText(/00:00:0\d left/).waitFor();
  const count = page.getByLabel("How many");
  await count.fill("3");
  await page.waitForEvent("framenavigated");
  await page.getByText("A sale is over. This page shows what things cost now.").waitFor();
  await settled(page);
  assert.deepEqual([await count.inputValue(), await count.evaluate((one) => one === document.activeElement)], ["3", true]);
  assert.equal(loads, 2);
  await page.getByText("Lantern night").first().waitFor();
  await page.context().close();
}

async function offers() {
  const server = await startWith({}, { "categories/offers.yaml": CATEGORY, "sales.yaml": SALES });
  try {
    await everybodySeesTheOffers(server.ready.shop);
    await aClockThatIsAhead(server.ready.shop);
    await aBuyerOfOffers(server.ready.shop);
  } finally {
    await server.stop();
  }
}

export const OFFERS = [offers];
