// Refusals of the API as visitors meet them: each is shown in the API's own words, and nothing that was typed is lost.

import assert from "node:assert/strict";
import { startWith } from "./server.mjs";
import { PHONE, agree, inspect, login, open, refused, settled, shop, visitor } from "./visitor.mjs";

const add = (page) => page.getByRole("button", { name: "Add to cart", exact: true });
const pay = (page) => page.getByRole("button", { name: /^Pay/ });

async function put(page, item) {
  await open(page, `/item/${item}`);
  await add(page).click();
  await page.getByText("The item was added to your cart.").first().waitFor();
}

/** Names that cannot log in. */
async function bannedAndLocked() {
  const page = await visitor();
  await open(page, "/login");
  const name = page.getByLabel("Your name in the game");
  await name.fill("mildew");
  await refused(page, "/auth/username", () => name.press("Enter"), /banned/);
  assert.equal(await name.inputValue(), "mildew", "what was typed stays");
  await refused(page, "/auth/username", () => page.getByRole("button", { name: "Grimble" }).click(), /locked/);
  await page.context().close();
}

/** A gift: to a banned player, to oneself, and to a player who has as many as allowed. */
async function giftsThatAreRefused() {
  const page = await visitor();
  await login(page, "Sedge");
  await open(page, "/item/303");
  const recipient = page.getByLabel("Who is the gift for?");
  for (const [name, reason] of [["Mildew", /cannot receive gifts/], ["sedge", /another player/], ["no one!", /gift_to/]]) {
    await recipient.fill(name);
    await refused(page, "/cart/add/303", () => add(page).click(), reason, "Who is the gift for?");
    assert(await recipient.evaluate((box) => box === document.activeElement && box.ariaInvalid === "true"), "it is marked");
    assert.equal(await recipient.inputValue(), name, "what was typed stays");
  }
  await recipient.fill("Thornwick");
  await add(page).click();
  await page.getByText("The item was added to your cart.").waitFor();
  await open(page, "/cart");
  await agree(page);
  await refused(page, "/payments/create", () => pay(page).click(), /recipient owns it, or would have more than the limit/);
  await page.context().close();
}

/** Codes: used up, ended, without balance, below the minimum, for other items, and the player's own referral code. */
async function codesThatAreRefused() {
  const page = await visitor();
  await login(page, "Thistle");
  await put(page, 404);
  await open(page, "/cart");
  const code = page.getByLabel("Coupon or gift card");
  const reasons = { FIRSTHUNDRED: /used up/, MIDWINTER: /not valid/, STAFFONLY: /not valid/, "COLD-5HJP-9ZLB": /nothing left/, FIVEOFF: /20\.00 or more/, FOXDEN: /applies to nothing/ };
  for (const [text, reason] of Object.entries(reasons)) {
    await code.fill(text);
    await refused(page, "/cart/acceptCoupon", () => code.press("Enter"), reason);
    assert.equal(await code.inputValue(), text, "what was typed stays");
  }
  await page.context().close();
  const owner = await visitor(PHONE);
  await login(owner, "Thornwick");
  await open(owner, "/cart");
  await owner.getByRole("button", { name: /^Remove Referral/ }).click();
  const referral = owner.getByLabel("Referral code");
  await referral.fill("thornwick");
  await refused(owner, "/cart/setReferral", () => referral.press("Enter"), /your own/);
  await inspect(owner, "phone-refused");
  // The cart is as it was for the tests that follow.
  await referral.fill("lantern");
  await referral.press("Enter");
  await owner.getByRole("button", { name: /^Remove Referral/ }).waitFor();
  await owner.context().close();
}

/** What cannot be paid: virtual currency after a login by name, an item that needs the chat, one that is no longer sold. */
async function cartsThatCannotBePaid() {
  const page = await visitor();
  for (const [player, item, reason, choose] of [
    ["Bracklet", 511, /login proven in the game/],
    ["Yarroway", 403, /linked chat account/, () => page.getByLabel("Server").selectOption("Hearth")],
  ]) {
    await login(page, player);
    await open(page, `/item/${item}`);
    await choose?.();
    await add(page).click();
    await page.getByText("The item was added to your cart.").first().waitFor();
    await open(page, "/cart");
    await agree(page);
    await refused(page, "/payments/create", () => pay(page).click(), reason);
    await page.getByRole("button", { name: `Log out ${player}` }).click();
    await settled(page);
  }
  await login(page, "Rushlight");
  await open(page, "/cart");
  await page.getByText("Before you pay, remove what cannot be bought now: Moth Key.").waitFor();
  assert.equal(await pay(page).count(), 0, "there is nothing to pay for");
  await page.context().close();
}

/** A choice that did not reach the store, or was refused, is not paid for as the one before it: on a phone, whose keyboard adds a space. */
async function choicesThatDidNotArrive() {
  const page = await visitor(PHONE);
  await open(page, "/login");
  await page.getByLabel("Your name in the game").fill("Burdock ");
  await page.getByLabel("Your name in the game").press("Enter");
  await page.getByRole("button", { name: "Log out Burdock" }).waitFor();
  await page.locator("#account").getByRole("link").click();
  await page.waitForURL(`${shop.url}/account`);
  await put(page, 301);
  await open(page, "/cart");
  const fox = page.getByLabel("Name of the fox – Cinder Fox");
  const colour = page.getByLabel("Colour – Cinder Fox");
  const chosen = page.waitForResponse((response) => response.url().includes("/cart/getPromoted"));
  await colour.selectOption("Ash");
  await chosen;
  await settled(page);
  await agree(page);
  // The change is sent by the tap on the button, and what is bought is shown before it is.
  await fox.fill("Cinder");
  const again = page.getByText("Please look at your cart once more, and then pay.");
  await pay(page).click();
  await again.waitFor();
  await pay(page).click();
  await page.getByRole("button", { name: "Leave", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  assert.equal(await fox.inputValue(), "Cinder");
  await agree(page);
  await fox.fill("No / slashes");
  await refused(page, "/cart/setVariable/", () => fox.press("Tab"), /must be/);
  await refused(page, "/cart/setVariable/", () => pay(page).click(), /must be/);
  await page.getByText("One thing is left to do. It is marked.").waitFor();
  // Also after another change, which shows the cart again.
  const other = page.waitForResponse((response) => response.url().includes("/cart/getPromoted"));
  await colour.selectOption("Copper");
  await other;
  await settled(page);
  await refused(page, "/cart/setVariable/", () => pay(page).click(), /must be/);
  assert.equal(await fox.inputValue(), "No / slashes", "what was typed stays");
  assert.equal(await fox.getAttribute("aria-invalid"), "true");
  const shown = page.waitForResponse((response) => response.url().includes("/cart/getPromoted"));
  await fox.fill("Ember");
  await fox.press("Tab");
  await shown;
  await settled(page);
  await page.context().setOffline(true);
  await colour.selectOption("Midnight");
  await page.locator("[aria-invalid=true]").waitFor();
  await page.context().setOffline(false);
  const sent = page.waitForRequest((request) => request.url().includes("/cart/setVariable/"));
  await agree(page);
  await pay(page).click();
  assert.match((await sent).postData(), /Midnight/);
  await again.last().waitFor();
  await pay(page).click();
  await page.getByRole("button", { name: "Leave", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  assert.equal(await colour.inputValue(), "Midnight");
  await page.context().close();
}

/** A payment that the provider declines, that the buyer leaves, and whose checkout expires. */
async function paymentsThatFail() {
  const page = await visitor();
  await login(page, "Woad");
  await put(page, 201);
  const begin = async () => {
    await open(page, "/cart");
    await agree(page);
    await pay(page).click();
  };
  await begin();
  await page.getByRole("button", { name: "Decline", exact: true }).click();
  await page.getByText(/declined/i).first().waitFor();
  await page.getByRole("button", { name: "Leave", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  await page.getByRole("link", { name: "Cart, 1 unit" }).waitFor();
  await begin();
  await page.getByRole("button", { name: "Expire", exact: true }).click();
  const order = (await page.getByText(/reference \w+/).textContent()).match(/reference (\w+)/)[1];
  await open(page, `/orders/${order}`);
  await page.locator(".state.cancelled").waitFor();
  await page.getByRole("link", { name: "Back to the cart" }).click();
  await page.getByRole("link", { name: "Cart, 1 unit" }).waitFor();
  await page.context().close();
}

/** Payments by a method whose money is there at once, by one whose money comes days later, and in another currency. */
async function everyKindOfPayment() {
  const page = await visitor();
  await login(page, "Madder");
  for (const [button, state] of [["Pay by ideal", "paid"], ["Pay in another currency", "paid"], ["Pay by a delayed method", "pending"]]) {
    await put(page, 302);
    await open(page, "/cart");
    await agree(page);
    await pay(page).click();
    await page.getByRole("button", { name: button, exact: true }).waitFor();
    const checkout = page.url();
    assert.equal(await page.getByRole("button", { name: "Pay by klarna" }).count(), 0, "what the store leaves out is not offered");
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.waitForURL(`${shop.url}/payment/flow?*`);
    await page.locator(`.state.${state}`).waitFor();
    if (state === "paid") continue;
    const order = page.url();
    await page.getByText(/Bank debits and vouchers take some days/).waitFor();
    assert.equal(await page.getByRole("link", { name: "Pay now" }).count(), 0, "it is paid, and not confirmed yet");
    await open(page, checkout).catch(() => {});
    await page.getByRole("button", { name: "Let the payment succeed" }).click();
    await open(page, order);
    await page.locator(".state.paid").waitFor();
  }
  await page.context().close();
}

/** More look-ups than an address may make: the page looks again by itself. */
export async function tooManyLookUps() {
  const page = await visitor();
  await login(page, "Teasel");
  const id = shop.server.ready.try.orders.find((order) => order.owner === null && order.status === "PAID").id;
  const ask = (times) => page.evaluate(async ([body, times]) => {
    let response;
    for (let left = times; left > 0; left -= 1) response = await fetch("/api/payments/checkStatus", { method: "POST", body });
    return Number(response.headers.get("ratelimit-reset"));
  }, [JSON.stringify({ order_id: id }), times]);
  // The page's own look-up must be in the same minute.
  const ends = await ask(1);
  if (ends < 30) await page.waitForTimeout((ends + 1) * 1000);
  await ask(18);
  await open(page, `/orders/${id}`);
  await page.getByText("This page looks again in a minute.").waitFor();
  await page.context().close();
}

/** A store that is closed for maintenance says so instead of any page. */
async function closedForMaintenance() {
  const closed = await startWith({ "maintenance: {enabled: false": "maintenance: {enabled: true" });
  try {
    for (const options of [undefined, PHONE]) {
      const page = await visitor(options);
      await open(page, `${closed.ready.shop}/cart`);
      await page.getByRole("heading", { level: 1, name: "The store is closed" }).waitFor();
      await page.getByText("The fire is being swept out. Back in an hour.").waitFor();
      await inspect(page, options ? "phone-closed" : "closed");
      await page.context().close();
    }
  } finally {
    await closed.stop();
  }
}

export const REFUSALS = [bannedAndLocked, giftsThatAreRefused, codesThatAreRefused, cartsThatCannotBePaid, choicesThatDidNotArrive, paymentsThatFail, everyKindOfPayment, closedForMaintenance];
