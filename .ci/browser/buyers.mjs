// What buyers are told before they pay and afterwards: who gets it, what a subscription costs, which orders are theirs.

import assert from "node:assert/strict";
import { DESK, PHONE, agree, inspect, login, open, settled, shop, visitor } from "./visitor.mjs";

const add = (page) => page.getByRole("button", { name: "Add to cart", exact: true });

async function put(page, item) {
  await open(page, `/item/${item}`);
  await add(page).click();
  await page.getByText("The item was added to your cart.").first().waitFor();
}

async function pay(page) {
  await open(page, "/cart");
  await agree(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Thank you!" }).waitFor();
}

/** Head and name in cart, thanks and order, on a phone too; a new name is asked about once, and can be changed. */
async function whoGetsIt() {
  for (const [options, player] of [[DESK, "Valerian"], [PHONE, "Lovage"]]) {
    const page = await visitor(options);
    await login(page, player);
    await put(page, 201);
    await open(page, "/cart");
    const who = page.locator(".who").filter({ hasText: player });
    await who.locator("img, .no-picture").waitFor();
    const asked = page.getByText("Is this how you are called in the game?");
    await asked.waitFor();
    await inspect(page, `${options === PHONE ? "phone-" : ""}cart-new-name`);
    await page.getByText("Card, PayPal and more").waitFor({ state: "attached" });
    await pay(page);
    await who.waitFor();
    await page.getByRole("link", { name: "The page of this order" }).click();
    await who.waitFor();
    await put(page, 201);
    await open(page, "/cart");
    await who.waitFor();
    assert.equal(await asked.count(), 0, "it is asked once");
    await page.context().close();
  }
  const page = await visitor();
  await login(page, "Valeriam");
  await put(page, 201);
  await open(page, "/cart");
  await page.getByRole("button", { name: "No, use another name" }).click();
  await page.getByRole("heading", { level: 1, name: "Who is there?" }).waitFor();
  await page.context().close();
}

/** Period, price and "until you cancel" on the item's page and at the button; then it is cancelled with a mailed code. */
async function aSubscriptionSaysWhatItCosts() {
  const page = await visitor(PHONE);
  await login(page, "Costmary");
  await open(page, "/item/602");
  await page.locator(".price").getByText("every month, until you cancel").waitFor();
  await add(page).click();
  await page.getByText("The item was added to your cart.").first().waitFor();
  await open(page, "/cart");
  await page.getByText(/^Subscription: €.* every month, until you cancel$/).waitFor();
  await page.getByText(/^You pay €.* every month, until you cancel\./).waitFor();
  await page.getByRole("button", { name: /^Pay €[\d.]+ every month$/ }).waitFor();
  assert.equal(await page.getByRole("heading", { name: "Only in the cart" }).count(), 0, "what is refused beside a subscription is not offered");
  await inspect(page, "phone-cart-subscription");
  await pay(page);
  await page.getByRole("link", { name: "Cancel, or change the card" }).click();
  await page.getByText("You log in there with a code that is sent to the e-mail address you paid with.").waitFor();
  await inspect(page, "phone-subscriptions");
  await page.getByRole("button", { name: "Cancel, or change the card" }).click();
  await page.waitForURL(/\/p\/login\//);
  await page.getByRole("button", { name: "Cancel", exact: true }).first().click();
  await page.getByText(/ends with its period/).first().waitFor();
  await page.context().close();
}

/** Another player in the same browser, and another login by the same name, are shown nothing; one that proves the account, all. */
async function ordersAreOfALogin() {
  const page = await visitor();
  await login(page, "Betony");
  await put(page, 201);
  await pay(page);
  const order = new URL(page.url()).searchParams.get("order_id");
  await open(page, "/account");
  await page.locator(".orders").getByRole("link", { name: "Ember Key" }).waitFor();
  for (const name of ["Pebble", "Betony"]) {
    await page.locator("#account").getByRole("button").click();
    await page.getByText("You are logged out.").waitFor();
    await open(page, "/orders");
    await page.getByText(/^Log in to see your orders/).waitFor();
    await login(page, name);
    await open(page, "/account");
    await page.getByText(/^This login made no order in this browser/).waitFor();
    assert.equal(await page.locator(".orders li").count(), 0, name);
  }
  await open(page, `/orders/${order}`);
  await page.locator(".bought .price").getByText("€1.99").waitFor();
  await page.context().close();
  const proven = await visitor();
  await open(proven, "/");
  await proven.evaluate((token) => localStorage.setItem("token", token), shop.server.ready.tokens.Thornwick);
  await open(proven, "/orders");
  assert(await proven.locator(".orders li").count() >= 2);
  await inspect(proven, "orders-of-an-account");
  await proven.context().close();
}

/** A checkout that was left can be paid from the order's page; once it has ended, the page says that nothing was charged. */
async function anOrderSaysWhatWasCharged() {
  const page = await visitor();
  await login(page, "Hyssop");
  await put(page, 201);
  await open(page, "/cart");
  await agree(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  const id = (await page.getByText(/reference \w+/).textContent()).match(/reference (\w+)/)[1];
  await open(page, `/orders/${id}`);
  await page.getByRole("link", { name: "Pay now" }).click();
  await page.getByRole("button", { name: "Expire", exact: true }).click();
  await open(page, `/orders/${id}`);
  await page.getByText("Nothing was charged.").waitFor();
  await open(page, "/cart");
  await pay(page);
  const [paid, checkout] = ["order_id", "checkout_id"].map((name) => new URL(page.url()).searchParams.get(name));
  await page.goto(`${shop.server.ready.payments}/c/pay/${checkout}`);
  await page.getByRole("button", { name: "Refund in full" }).click();
  // The store hears of it from the provider.
  const token = await page.context().storageState().then(({ origins }) => origins.flatMap(({ localStorage }) => localStorage).find(({ name }) => name === "token").value);
  const status = async () => (await (await page.request.post(`${shop.url}/api/payments/delivery`, { data: { order_id: paid }, headers: { authorization: `Bearer ${token}` } })).json()).refunded;
  for (const deadline = Date.now() + 15_000; !(await status()) && Date.now() < deadline;) await page.waitForTimeout(100);
  await open(page, `/orders/${paid}`);
  await page.locator(".sums").getByText("Refunded", { exact: true }).waitFor();
  await inspect(page, "order-refunded");
  await page.context().close();
}

/** Lines that cannot be bought are named in the place of the button, which is there once they are removed. */
async function whatIsNotBoughtIsNamed() {
  const page = await visitor();
  await login(page, "Quillfeather");
  await open(page, "/cart");
  const names = await page.locator(".line.off h2").allTextContents();
  const button = page.locator("button[name=pay]");
  for (let left = names; left.length > 0; left = left.slice(1)) {
    await page.getByText(`Before you pay, remove what cannot be bought now: ${left.join(", ")}.`).waitFor();
    await page.locator(".sums .total").waitFor();
    assert.equal(await button.count(), 0);
    await page.getByRole("button", { name: `Remove ${left[0]}` }).click();
    // Sooner, it would be half of a double tap.
    await page.waitForTimeout(500);
  }
  await button.waitFor();
  await page.route("**/api/cart/get", async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    for (const item of body.items) item.is_unavailable = true;
    Object.assign(body.cart, { clear_price: 0, price: 0, virtual_price: 0 });
    await route.fulfill({ response, json: body });
  });
  await open(page, "/cart");
  await page.getByText("Nothing in your cart can be bought now.").waitFor();
  assert.equal(await button.count(), 0);
  await page.context().close();
}

/** What was not added says so, and what may have been does not say more. */
async function anAddThatFails() {
  const page = await visitor();
  await login(page, "Sundew");
  await open(page, "/category/crates/keys");
  const key = page.getByRole("button", { name: "Add to cart Ember Key" });
  await page.route("**/api/cart/add/*", (route) => route.fulfill({ status: 500, json: { message: "Internal error, request 1-2-3." } }), { times: 1 });
  await key.click();
  await page.getByText("Ember Key was not put into your cart. Please try again in a moment.").waitFor();
  await page.route("**/api/cart/add/*", (route) => route.abort(), { times: 1 });
  await key.click();
  await page.getByText(/^The store did not respond, so it is not certain that Ember Key/).waitFor();
  await key.click();
  await page.getByText("The item was added to your cart.").waitFor();
  await settled(page);
  await page.context().close();
}

/** The item's page says what is asked for later: choices, a chat account, and a login that can pay its price. */
async function anItemSaysWhatItNeeds() {
  const page = await visitor();
  await open(page, "/item/301");
  await page.getByText("You choose in the cart: Name of the fox, Colour").waitFor();
  await open(page, "/item/403");
  await page.getByText("You link your chat account in the cart: this item needs it.").waitFor();
  const note = page.getByText("Can only be paid after a login from within the game");
  await open(page, "/item/511");
  await note.waitFor();
  await login(page, "Sundew");
  await open(page, "/item/511");
  await note.waitFor();
  await page.context().close();
}

export const BUYERS = [whoGetsIt, aSubscriptionSaysWhatItCosts, ordersAreOfALogin, anOrderSaysWhatWasCharged, whatIsNotBoughtIsNamed, anAddThatFails, anItemSaysWhatItNeeds];
