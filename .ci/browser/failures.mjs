// What visitors keep while calls fail or come late: the login is over, the store is busy, an earlier change arrives, a delivery cannot be
// looked up. And what the pages say that the API allows: a gift of what is owned, a link with a referral code, what things cost.

import assert from "node:assert/strict";
import { startWith } from "./server.mjs";
import { login, open, settled, shop, visitor } from "./visitor.mjs";

const add = (page) => page.getByRole("button", { name: "Add to cart", exact: true });
const added = (page) => page.getByText("The item was added to your cart.").first().waitFor();
const hasFocus = (control) => control.evaluate((one) => one === document.activeElement);

/** The next calls of a path, as often as this, are refused as by a store that is busy. */
const busy = (page, path, times) => page.route(`**/api${path}`, (route) => route.fulfill({ status: 503, json: { message: "The store is busy." } }), { times });

async function enter(page, name) {
  await page.getByLabel("Your name in the game").fill(name);
  await page.getByLabel("Your name in the game").press("Enter");
}

/** A login that ends in an open tab: what was wanted is put into the cart after the next one, and the cart is where it was. */
async function theLoginIsOver() {
  const page = await visitor();
  const ends = () => page.evaluate(() => localStorage.setItem("token", "over"));
  const over = () => page.locator(".toast").getByText("Your login is over. Please log in again.").waitFor();
  await login(page, "Foxglove");
  await open(page, "/category/crates/keys");
  await ends();
  await page.getByRole("button", { name: "Add to cart Ember Key" }).click();
  await page.getByText("Log in, and Ember Key is put into your cart.").waitFor();
  await enter(page, "Foxglove");
  await added(page);
  await open(page, "/cart");
  const units = page.getByLabel("Units – Ember Key");
  const change = () => units.fill("2").then(() => units.press("Tab"));
  for (const act of [change, () => page.getByRole("button", { name: /^Add / }).first().click()]) {
    await ends();
    await act();
    await over();
    await page.getByRole("heading", { level: 1, name: "Who is there?" }).waitFor();
    assert.equal(await page.locator("a.player").count(), 0, "the header shows no player");
    await enter(page, "Foxglove");
    await units.waitFor();
    // What the login kept from being sent is sent now, and the cart is shown again.
    await page.getByRole("link", { name: /^Cart, [23] units$/ }).waitFor();
    await settled(page);
  }
  assert.deepEqual([await units.inputValue(), await units.getAttribute("aria-invalid")], ["2", null], "what was typed stays, and is sent");
  // Another tab has logged out, which the browser has not told this one yet.
  await page.evaluate(() => localStorage.removeItem("token"));
  await page.getByRole("button", { name: "Remove Ember Key" }).click();
  await over();
  await page.getByRole("heading", { level: 1, name: "Who is there?" }).waitFor();
  await page.context().close();
}

/** A store that is busy while a page loads: its buttons work, what fails is said once, and the page is shown by itself. */
async function theStoreIsBusy() {
  const page = await visitor();
  await login(page, "Tormentil");
  await page.clock.install();
  await busy(page, "/user", 3);
  await open(page, "/item/106");
  const said = page.locator(".toast").getByText("The store is busy.");
  await said.waitFor();
  await said.evaluate((toast) => toast.remove());
  const again = page.waitForResponse("**/api/user");
  await page.clock.runFor(3000);
  await again;
  await settled(page);
  // It also asks who is there.
  await add(page).click();
  await added(page);
  const shown = page.waitForResponse("**/api/items/get/106");
  await page.clock.runFor(6000);
  await shown;
  await settled(page);
  assert.equal(await said.count(), 0, "it is said once");
  // The header's call, which the page does without, and the page's own.
  await busy(page, "/cart/get", 2);
  await open(page, "/cart");
  await page.getByRole("heading", { level: 1, name: "One moment" }).waitFor();
  await page.clock.runFor(3000);
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

/** An earlier change arrives while another one is typed. What goes to the game's console is left as it is typed. */
async function anEarlierChangeArrives() {
  const page = await visitor();
  await login(page, "Madder");
  await open(page, "/item/301");
  await add(page).click();
  await added(page);
  await open(page, "/cart");
  const fox = page.getByLabel("Name of the fox – Cinder Fox");
  assert.deepEqual(await fox.evaluate((one) => [one.autocapitalize, one.getAttribute("autocorrect"), one.spellcheck, one.autocomplete]), ["none", "off", false, "off"]);
  let arrives;
  const arrived = new Promise((resolve) => { arrives = resolve; });
  await page.route("**/api/cart/getPromoted", (route) => arrived.then(() => route.continue()), { times: 1 });
  const late = page.waitForRequest("**/api/cart/getPromoted");
  await page.getByLabel("Colour – Cinder Fox").selectOption("Ash");
  await late;
  const sent = [];
  page.on("request", (request) => request.url().includes("/cart/setVariable/") && sent.push(request.postDataJSON().var_value));
  await fox.pressSequentially(" Cin");
  arrives();
  await settled(page);
  assert(await hasFocus(fox), "the focus stays");
  assert.equal(await fox.inputValue(), " Cin", "what is being typed stays");
  const shown = page.waitForResponse("**/api/cart/getPromoted");
  await page.keyboard.type("der");
  await page.keyboard.press("Tab");
  await shown;
  assert.deepEqual(sent, ["Cinder"], "it is sent when it is complete");
  await page.context().close();
}

/** A double tap changes the cart once. */
async function aDoubleTap() {
  const page = await visitor();
  await login(page, "Bistort");
  for (const item of [201, 302]) {
    await open(page, `/item/${item}`);
    await add(page).click();
    await added(page);
  }
  await open(page, "/cart");
  await page.getByLabel("Coupon or gift card").fill(shop.server.ready.try.coupon);
  for (const name of ["Apply Coupon or gift card", "Remove Coupon", "Remove Ember Key"]) {
    const shown = page.waitForResponse("**/api/cart/getPromoted");
    let [sent, taps] = [0, null];
    const tapped = new Promise((resolve) => { taps = resolve; });
    await page.route(/\/cart\/(accept|remove)/, (route) => {
      sent += 1;
      return tapped.then(() => route.continue());
    });
    await page.getByRole("button", { name }).dblclick();
    taps();
    await shown;
    await settled(page);
    assert.deepEqual([sent, await page.locator(".toast.bad").count()], [1, 0], name);
  }
  await page.context().close();
}

/** What a buyer cannot have twice can be given to another player. */
async function aGiftOfWhatIsOwned() {
  const page = await visitor();
  await login(page, "Thornwick");
  await open(page, "/category/companions");
  await page.getByRole("link", { name: "Give it to a friend Stone Golem" }).click();
  await page.getByText("You can still give it to another player.").waitFor();
  await settled(page);
  const sent = [];
  page.on("request", (request) => request.url().includes("/cart/add/") && sent.push(request));
  await add(page).click();
  await page.getByText("Please enter who gets it.").waitFor();
  assert.equal(sent.length, 0, "nothing was sent");
  const recipient = page.getByLabel("Who is the gift for?");
  assert(await hasFocus(recipient));
  await recipient.fill("Pebble");
  await add(page).click();
  await added(page);
  await page.context().close();
}

/** What was bought is shown once its delivery can be looked up. A waiting order is announced once. */
async function ordersThatAreLookedUpAgain() {
  const page = await visitor();
  await page.clock.install();
  await busy(page, "/payments/delivery", 1);
  await open(page, "/orders/ska237syhxydekce");
  // An id is in small letters, which the keyboard of a phone does not begin with.
  assert.equal(await page.getByLabel("Look up another order by its id").evaluate((one) => one.autocapitalize), "none");
  await page.locator(".state.paid").waitFor();
  assert.equal(await page.locator(".bought").isVisible(), false);
  await page.clock.runFor(4000);
  await page.locator(".bought li").first().waitFor();
  await open(page, "/orders/knqgzewntc6hqf7g");
  await page.getByText("This order belongs to an account. Log in to see it.").waitFor();
  await enter(page, "Thornwick");
  await page.locator(".state.paid").waitFor();
  await open(page, "/orders/qv6qv4vqbqtgggak");
  const state = await page.locator(".state").elementHandle();
  const again = page.waitForResponse("**/api/payments/checkStatus");
  await page.clock.runFor(4000);
  await again;
  await page.getByText("This page shows by itself when the payment has arrived.").waitFor();
  assert(await state.evaluate((one) => one.isConnected), "what has not changed is not announced again");
  const hide = (isHidden) => page.evaluate((value) => Object.defineProperty(document, "hidden", { value, configurable: true }), isHidden);
  let asked = 0;
  page.on("request", (request) => { asked += request.url().endsWith("/payments/checkStatus") ? 1 : 0; });
  await hide(true);
  await page.clock.runFor(9000);
  assert.equal(asked, 0, "a page that no one looks at asks nothing");
  await hide(false);
  const looked = page.waitForResponse("**/api/payments/checkStatus");
  await page.clock.runFor(4000);
  await looked;
  await page.context().close();
}

/** A link with a referral code. */
async function aReferralLink() {
  const page = await visitor();
  await open(page, "/item/201?ref=lantern");
  await page.getByText("The referral code is applied when you log in and fill your cart.").waitFor();
  assert.equal(page.url(), `${shop.url}/item/201`);
  await login(page, "Saffron");
  await open(page, "/item/201");
  await add(page).click();
  await added(page);
  await open(page, "/cart");
  await page.getByRole("button", { name: /^Remove Referral/ }).waitFor();
  await page.context().close();
}

/**
 * Amounts have the store's digits, where browsers have others for its currency, and a subscription says how often it is paid. A store
 * without referrals asks for no code.
 */
async function aStoreInForints() {
  const server = await startWith({ "code: EUR                   # required": "code: HUF", "referrals: true": "referrals: false" });
  try {
    const page = await visitor();
    const url = server.ready.shop;
    await open(page, `${url}/login`);
    await enter(page, "Pebble");
    await page.getByRole("button", { name: "Log out Pebble" }).waitFor();
    await open(page, `${url}/item/201`);
    await settled(page);
    await page.locator(".price").getByText("HUF 1.99").waitFor();
    await add(page).click();
    await added(page);
    await open(page, `${url}/item/106`);
    await page.locator(".price").getByText("every month").waitFor();
    await open(page, `${url}/cart`);
    assert.equal(await page.getByLabel("Referral code").count(), 0);
    assert.match(await page.getByRole("button", { name: /^Pay/ }).textContent(), /HUF.1\.99/);
    await page.context().close();
  } finally {
    await server.stop();
  }
}

export const FAILURES = [theLoginIsOver, theStoreIsBusy, anEarlierChangeArrives, aDoubleTap, aGiftOfWhatIsOwned, ordersThatAreLookedUpAgain, aReferralLink, aStoreInForints];
