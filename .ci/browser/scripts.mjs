// What the scripts do with quick taps and slow or missing responses: nothing that a buyer did is lost, or it is said.

import assert from "node:assert/strict";
import { DESK, PHONE, SCREENSHOTS, agree, inspect, login, open, settled, shop, visitor } from "./visitor.mjs";

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

/** What is selected stays while the cart is shown again, as does where a buyer types. */
async function theSelectionStays() {
  const page = await visitor();
  await login(page, "Sneezewort");
  await put(page, 601);
  await open(page, "/cart");
  const [units, price, code] = ["Units – ", "Your price – ", "Coupon or gift card"].map((label) => page.getByLabel(label).first());
  const shownAgain = async (act) => {
    const shown = page.waitForResponse("**/api/cart/getPromoted");
    await act();
    await shown;
    await settled(page);
  };
  await code.fill("LANTERN");
  await units.fill("2");
  await shownAgain(() => units.press("Tab"));
  assert(await hasFocus(price));
  await price.pressSequentially("7.5");
  assert.equal(await price.inputValue(), "7.5", "what the Tab selected is replaced");
  await shownAgain(() => price.press("Shift+Tab"));
  assert(await hasFocus(units));
  await page.keyboard.type("3");
  assert.equal(await units.inputValue(), "3", "also in a field of numbers");
  await shownAgain(() => code.evaluate((one) => {
    one.focus();
    one.setSelectionRange(3, 3);
  }));
  await page.keyboard.type("--");
  assert.equal(await code.inputValue(), "LAN--TERN");
  await page.context().close();
}

/** A code that is typed and not applied is said once, before anything is paid. */
async function aCodeThatIsNotApplied() {
  const page = await visitor(PHONE);
  await login(page, "Speedwell");
  await put(page, 201);
  await open(page, "/cart");
  await agree(page);
  const code = page.getByLabel("Coupon or gift card");
  await code.fill(shop.server.ready.try.coupon);
  const pay = page.getByRole("button", { name: /^Pay/ });
  await pay.click();
  await page.getByText("This code is not applied yet. Apply it, or pay without it.").waitFor();
  assert(await hasFocus(code));
  await inspect(page, "phone-code-not-applied");
  await pay.click();
  await page.getByRole("button", { name: "Leave", exact: true }).waitFor();
  await page.context().close();
}

/** A double tap removes one line, also where the next one comes into its place. What was changed at last is sent when the page is left. */
async function theLastChangeBeforeLeaving() {
  const page = await visitor();
  await login(page, "Toadflax");
  await put(page, 201, 302, 303);
  await open(page, "/cart");
  const lines = page.locator(".line");
  const number = await lines.count();
  const shown = page.waitForResponse("**/api/cart/getPromoted");
  await lines.first().getByRole("button").evaluate((one) => {
    addEventListener("shown", () => document.querySelector(".line button").click(), { once: true });
    one.click();
  });
  await shown;
  await settled(page);
  assert.equal(await lines.count(), number - 1);
  const units = page.getByLabel(/^Units/).first();
  await units.fill("4");
  await open(page, "/");
  await open(page, "/cart");
  assert.equal(await units.inputValue(), "4");
  await page.context().close();
}

/** A call without a response ends after 35 seconds, and one whose response breaks off is not taken for a success. */
async function responsesThatDoNotArrive() {
  const page = await visitor();
  await login(page, "Sundew");
  await page.clock.install();
  await open(page, "/category/crates/keys");
  const key = page.getByRole("button", { name: "Add to cart Ember Key" });
  const unsure = page.getByText(/^The store did not respond, so it is not certain that Ember Key/);
  const cutOff = (route) => route.fulfill({ status: 200, contentType: "application/json", body: '{"success": true, "mess' });
  await page.route("**/api/settings/get", (route) => route.abort());
  await page.route("**/api/cart/add/*", cutOff, { times: 1 });
  await key.click();
  await unsure.waitFor();
  await page.locator("#offline").waitFor();
  await unsure.evaluate((toast) => toast.remove());
  let drop;
  await page.route("**/api/cart/add/*", (route) => { drop = () => route.abort().catch(() => {}); }, { times: 1 });
  const sent = page.waitForRequest("**/api/cart/add/*");
  await key.click();
  await sent;
  await page.clock.runFor(34_000);
  assert.equal(await unsure.count(), 0);
  await page.clock.runFor(2000);
  await unsure.waitFor();
  drop();
  assert.equal(await key.evaluate((one) => one.ariaBusy), null, "it can be tapped again");
  await page.context().close();
}

/** A page whose script is blocked, fails, or does not arrive says so, and is loaded again by a link. */
async function aScriptFails() {
  const fails = { "app.js": undefined, "store.js": "throw new Error('planted')", "dom.js": "const {", "pages/offers.js": undefined, "*.js": undefined };
  for (const [script, body] of Object.entries(fails)) {
    const page = await visitor({ ...PHONE, viewport: { width: 360, height: 700 } });
    await page.route(`**/js/${script}`, (route) => (body ? route.fulfill({ contentType: "text/javascript", body }) : route.abort()));
    await page.goto(`${shop.url}/category/crates/keys`);
    const said = page.getByText("Part of this page did not load, and its buttons may do nothing.");
    // Without any script it is said after some seconds.
    if (script === "*.js") await page.evaluate(() => { for (const one of document.getAnimations()) one.finish(); });
    await said.waitFor();
    await page.screenshot({ path: `${SCREENSHOTS}phone-script-fails.png` });
    await page.unrouteAll();
    await page.getByRole("link", { name: "Load it again" }).click();
    await settled(page);
    assert.equal(await said.isVisible(), false, script);
    await page.context().close();
  }
}

/** A tap before the scripts are there counts, as does a choice of the currency. What was wanted is put into the cart after the login that it led to, and not after another one. */
async function aTapBeforeTheLogin() {
  const page = await visitor();
  const wants = async () => {
    let scripts;
    const arrive = new Promise((resolve) => { scripts = resolve; });
    await page.route("**/js/app.js", (route) => arrive.then(() => route.continue()), { times: 1 });
    await page.goto(`${shop.url}/category/crates/keys`, { waitUntil: "commit" });
    await page.getByLabel("Currency").selectOption("GBP");
    await page.getByRole("button", { name: "Add to cart Ember Key" }).click();
    scripts();
    await page.getByText("Log in, and Ember Key is put into your cart.").waitFor();
    assert.equal(await page.getByLabel("Currency").inputValue(), "GBP");
  };
  const enter = async () => {
    await page.getByLabel("Your name in the game").fill("Sanicle");
    await page.getByLabel("Your name in the game").press("Enter");
    await page.getByRole("button", { name: "Log out Sanicle" }).waitFor();
    await settled(page);
  };
  await wants();
  await open(page, "/staff");
  await page.getByRole("link", { name: "Log in" }).click();
  await settled(page);
  assert.equal(await page.getByText(/is put into your cart/).count(), 0);
  await enter();
  await page.getByRole("link", { name: "Cart, 0 units" }).waitFor();
  await page.getByRole("button", { name: "Log out Sanicle" }).click();
  await page.getByText("You are logged out.").waitFor();
  await wants();
  await enter();
  await page.getByRole("link", { name: "Cart, 1 unit" }).waitFor();
  await page.context().close();
}

/** The page of an order on paper: what was bought and paid, in dark on light, without what only a screen can do. */
async function anOrderIsPrinted() {
  for (const options of [DESK, { ...PHONE, viewport: { width: 360, height: 700 } }]) {
    const page = await visitor(options);
    await open(page, "/orders/ska237syhxydekce");
    await page.locator(".bought li").first().waitFor();
    await page.emulateMedia({ media: "print" });
    const shown = await page.locator("a, button, input, header, footer").evaluateAll((all) => all.filter((one) => one.offsetWidth > 0).map((one) => one.textContent.trim()));
    assert.deepEqual(shown.filter((text) => text !== "About refunds"), []);
    await page.locator(".sums").waitFor();
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await page.screenshot({ path: `${SCREENSHOTS}printed-${options === DESK ? "desk" : "phone"}.png`, fullPage: true });
    await page.context().close();
  }
}

/** A page whose calls fail says so, and has a button that tries again at once: where there is no response, and where the store is busy. */
async function theStoreIsAway() {
  const page = await visitor({ ...PHONE, viewport: { width: 360, height: 700 } });
  await login(page, "Sanicle");
  await page.clock.install();
  const [moment, again] = [page.getByRole("heading", { name: "One moment" }), page.getByRole("button", { name: "Try again" })];
  for (const fail of [(route) => route.abort(), (route) => route.fulfill({ status: 503, json: {} })]) {
    await page.route("**/api/**", fail);
    await open(page, "/cart");
    await moment.waitFor();
    // What says that the store is away moves the page.
    await page.evaluate(() => { window.shift = 0; });
    await inspect(page, `phone-away-${(await again.count()) > 1 ? "lost" : "busy"}`);
    await page.unroute("**/api/**");
    await again.first().click();
    await page.getByRole("heading", { name: "Your cart" }).waitFor();
    assert.equal(await page.locator("#offline").isVisible(), false);
  }
  await page.context().close();
}

export const SCRIPTS = [theStoreIsAway, anOrderIsPrinted, aTapBeforeTheLogin, aScriptFails, responsesThatDoNotArrive, quickChanges, theSelectionStays, aCodeThatIsNotApplied, theLastChangeBeforeLeaving];
