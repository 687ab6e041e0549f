// What the scripts do with quick taps and slow or missing responses: nothing that a buyer did is lost, or it is said.

import assert from "node:assert/strict";
import { agree, login, open, settled, shop, visitor } from "./visitor.mjs";

const hasFocus = (control) => control.evaluate((one) => one === document.activeElement);

async function put(page, ...items) {
  for (const item of items) {
    await open(page, `/item/${item}`);
    await page.getByRole("button", { name: "Add to cart", exact: true }).click();
    await page.getByText("The item was added to your cart.").first().waitFor();
  }
}

/** Changes that are made quickly are sent one after another, whatever takes how long, and the last one is shown and stored. */
async function quickChanges() {
  const page = await visitor();
  await login(page, "Speedwell");
  await put(page, 201, 302);
  await open(page, "/cart");
  const units = page.getByLabel("Units – Ember Key");
  let [sent, most, slow] = [0, 0, 300];
  await page.route(/\/api\/cart\/(reload|remove|acceptCoupon)/, async (route) => {
    sent += 1;
    most = Math.max(most, sent);
    await new Promise((resolve) => { setTimeout(resolve, slow); });
    slow = 0;
    const response = await route.fetch();
    sent -= 1;
    await route.fulfill({ response });
  });
  const change = (value) => units.evaluate((one, value) => {
    one.value = value;
    for (const kind of ["input", "change"]) one.dispatchEvent(new Event(kind, { bubbles: true }));
  }, value);
  for (const value of ["2", "3", "2"]) await change(value);
  await page.getByLabel("Coupon or gift card").fill(shop.server.ready.try.coupon);
  await page.getByRole("button", { name: "Apply Coupon" }).click();
  await page.getByRole("button", { name: /^Remove (?!Ember Key|Coupon)/ }).first().click();
  await page.getByRole("button", { name: "Remove Coupon" }).waitFor();
  await page.getByRole("link", { name: "Cart, 2 units" }).waitFor();
  await settled(page);
  assert.deepEqual([await units.inputValue(), most], ["2", 1], "one at a time");
  // While the cart is shown again.
  const loads = page.waitForRequest("**/api/cart/getPromoted");
  let arrives;
  const arrived = new Promise((resolve) => { arrives = resolve; });
  await page.route("**/api/cart/getPromoted", (route) => arrived.then(() => route.continue()), { times: 1 });
  await change("5");
  await loads;
  await units.focus();
  await change("4");
  arrives();
  await page.getByRole("link", { name: "Cart, 4 units" }).waitFor();
  await settled(page);
  assert.deepEqual([await units.inputValue(), await hasFocus(units)], ["4", true]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

export const SCRIPTS = [quickChanges];
