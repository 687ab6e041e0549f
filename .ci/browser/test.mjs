// Clicks through the shop in Chromium, as visitors do: from the first page to a paid order, refusals, a phone, the
// dark, the keyboard, the reference, and a server that stops. Screenshots: target/browser; with --readme also those of README.md. With
// names of tests as arguments, only these.

import assert from "node:assert/strict";
import { ACCESS } from "./access.mjs";
import { BLOCKED } from "./blocked.mjs";
import { BUYERS } from "./buyers.mjs";
import { DELIVERY } from "./delivery.mjs";
import { FAILURES } from "./failures.mjs";
import { LOGINS } from "./logins.mjs";
import { OFFERS } from "./offers.mjs";
import { PAGES } from "./pages.mjs";
import { REFUSALS, tooManyLookUps } from "./refusals.mjs";
import { SCRIPTS } from "./scripts.mjs";
import { PHONE, agree, close, inspect, login, open, refused, axeFindings, settled, shop, shownNow, visitor } from "./visitor.mjs";

/** Every link of the menu and the footer that stays in the shop leads to a page. */
async function everyLinkLeadsSomewhere() {
  const page = await visitor();
  await login(page, "Pebble");
  const paths = await page.$$eval("#menu a, #footer a", (links) => links.map((link) => new URL(link.href)).filter((url) => url.origin === location.origin).map((url) => url.pathname));
  assert(paths.length > 12, paths.join(" "));
  for (const path of new Set(paths)) {
    await open(page, path);
    assert.notEqual(await page.locator("h1").first().textContent(), "Not found", path);
  }
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

async function loggedOut() {
  const page = await visitor();
  await open(page, "/");
  assert((await page.locator(".card").count()) >= 3, "featured deals");
  await inspect(page, "home");
  await page.getByRole("link", { name: "Ranks", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Ranks" }).waitFor();
  await page.getByRole("link", { name: "Crates and keys", exact: true }).click();
  await page.getByRole("button", { name: "Add to cart Ember Key" }).click();
  await page.getByText("Log in, and Ember Key is put into your cart.").waitFor();
  await inspect(page, "login");
  const name = page.getByLabel("Your name in the game");
  await name.fill("not a name!");
  await name.press("Enter");
  await page.getByText("A name in the game has 3 to 24 letters, digits or underscores, and no spaces.").waitFor();
  assert.equal(await name.inputValue(), "not a name!", "what was typed stays");
  await refused(page, "/auth/username", () => page.getByRole("button", { name: "Grimble" }).click(), /locked/);
  await name.fill("Nettle");
  await name.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Crates and keys" }).waitFor();
  await page.getByText("The item was added to your cart.").waitFor();
  await page.getByRole("link", { name: "Cart, 1 unit" }).waitFor();
  assert.equal((await page.goto(`${shop.url}/nowhere`)).status(), 404);
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  await open(page, shop.url.replace("127.0.0.1", "localhost"));
  assert(page.url().startsWith(shop.url), "what a browser keeps is kept for one address");
  await page.context().close();
}

/** The first player that the login suggests pays without a word of advice. */
async function theFirstPlayerPays() {
  const page = await visitor(PHONE);
  await open(page, "/login");
  await page.locator(".chip").first().click();
  await page.getByRole("link", { name: /^Cart, [1-9]/ }).click();
  await agree(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Thank you!" }).waitFor();
  await inspect(page, "phone-thanks");
  await page.context().close();
}

async function fromHomeToPaid() {
  const page = await visitor();
  await login(page, "Bramble");
  await page.getByRole("link", { name: "Crates and keys", exact: true }).click();
  const addKey = page.getByRole("button", { name: "Add to cart Ember Key" });
  await addKey.click();
  await page.getByText("The item was added to your cart.").waitFor();
  assert(await addKey.evaluate((button) => button === document.activeElement), "the focus stays");
  await page.getByRole("link", { name: "Cart, 1 unit" }).click();
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  const terms = page.getByLabel("I accept the terms and conditions");
  await terms.check();
  const units = page.getByLabel("Units – Ember Key");
  await units.fill("2");
  await units.press("Tab");
  await page.getByRole("link", { name: "Cart, 2 units" }).waitFor();
  await settled(page);
  assert(await terms.isChecked(), "what was ticked stays");
  await terms.uncheck();
  const coupon = page.getByLabel("Coupon or gift card");
  await coupon.fill("NOSUCHCODE");
  await refused(page, "/cart/acceptCoupon", () => coupon.press("Enter"), /./);
  assert.equal(await coupon.inputValue(), "NOSUCHCODE", "what was typed stays");
  await coupon.fill(shop.server.ready.try.coupon);
  await coupon.press("Enter");
  await page.getByRole("button", { name: "Remove Coupon" }).waitFor();
  await settled(page);
  assert(await coupon.evaluate((one) => one === document.activeElement), "the focus stays");
  const referral = page.getByLabel("Referral code");
  await referral.fill("nobody");
  await refused(page, "/cart/setReferral", () => referral.press("Enter"), /./);
  await referral.fill(shop.server.ready.try.referral);
  await referral.press("Enter");
  await page.getByRole("button", { name: "Remove Referral" }).waitFor();
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Codes", "the focus stays in the section");
  const pay = page.getByRole("button", { name: /^Pay/ });
  await pay.click();
  await page.getByText("3 things are left to do. They are marked.").waitFor();
  assert.equal(await page.locator("[aria-invalid=true]").count(), 3);
  assert(await page.getByLabel("Yes, Bramble is my name in the game.").evaluate((box) => box === document.activeElement), "at the first");
  for (const word of ["terms and conditions", "privacy policy"]) {
    const popup = page.waitForEvent("popup");
    await page.getByRole("link", { name: new RegExp(word) }).click();
    await (await popup).getByRole("heading", { level: 1, name: new RegExp(word, "i") }).waitFor();
  }
  for (const next of ["Leave", "Pay"]) {
    await agree(page);
    await pay.click();
    await page.getByRole("button", { name: next, exact: true }).click();
    if (next === "Leave") await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  }
  await page.waitForURL(`${shop.url}/payment/flow?*`);
  await page.locator(".state.paid").waitFor();
  await page.getByRole("link", { name: "Cart, 0 units" }).waitFor();
  await page.getByRole("heading", { level: 1, name: "Thank you!" }).waitFor();
  await page.getByRole("heading", { name: "What happens next" }).waitFor();
  await inspect(page, "paid");
  await page.getByRole("link", { name: "The page of this order" }).click();
  await page.getByText("2 × Ember Key").waitFor();
  await open(page, "/orders");
  await page.getByRole("link", { name: "2 × Ember Key" }).click();
  await page.locator(".state.paid").waitFor();
  await page.context().close();
}

async function refusals() {
  const page = await visitor();
  await login(page, "Sorrel");
  const add = page.getByRole("button", { name: "Add to cart", exact: true });
  await open(page, "/item/204");
  await page.getByText("Sold out.").waitFor();
  assert.equal(await add.count(), 0, "what is sold out has no button");
  await open(page, "/item/601");
  const price = page.getByLabel(/^Your price/);
  await price.fill("0.10");
  await refused(page, "/cart/add/601", () => add.click(), /./);
  assert.equal(await price.inputValue(), "0.10", "what was typed stays");
  await open(page, "/item/301");
  await add.click();
  await page.getByText("The item was added to your cart.").waitFor();
  await open(page, "/cart");
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByText("5 things are left to do. They are marked.").waitFor();
  const fox = page.getByLabel("Name of the fox – Cinder Fox");
  await fox.fill("No / slashes");
  await refused(page, "/cart/setVariable/", () => fox.press("Tab"), /must be/);
  assert.equal(await fox.inputValue(), "No / slashes", "what was typed stays");
  await page.getByRole("button", { name: "Remove Cinder Fox" }).click();
  await page.getByText("Your cart is empty.").first().waitFor();
  await page.context().close();
}

async function aFullCart() {
  const page = await visitor();
  await login(page, "Thornwick");
  await open(page, "/cart");
  await inspect(page, "cart");
  await page.getByLabel("Currency").selectOption("USD");
  await page.getByText(/^You are charged €/).waitFor();
  const chat = page.getByRole("button", { name: "Log in with chat" });
  await page.evaluate(() => { [window.opens, window.open] = [window.open, () => null]; });
  await chat.click();
  await page.getByText("Your browser opened no window for the chat's login.").waitFor();
  await page.evaluate(() => { window.open = window.opens; });
  const popup = page.waitForEvent("popup");
  await chat.click();
  await (await popup).getByRole("button", { name: "Log in as thornwick" }).click();
  await page.getByText("Chat account: thornwick.").waitFor();
  for (const path of ["/category/ranks/player", "/item/311", "/pages/rules", "/staff", "/patrons", "/orders/knqgzewntc6hqf7g"]) {
    await open(page, path);
    await inspect(page, path.slice(1).replaceAll("/", "-"));
  }
  await open(page, "/orders/qv6qv4vqbqtgggak");
  await page.getByText("This page shows by itself when the payment has arrived.").waitFor();
  await page.context().close();
  const other = await visitor();
  await login(other, "Quillfeather");
  await open(other, "/cart");
  assert.equal(await other.locator(".line.off").count(), 2, "lines that cannot be bought");
  await inspect(other, "cart-unavailable");
  await other.context().close();
}

async function onAPhone() {
  const page = await visitor(PHONE);
  await open(page, "/");
  await inspect(page, "phone-home");
  await login(page, "Thornwick");
  for (const path of ["/category/ranks/player", "/item/311", "/cart", "/patrons"]) {
    await open(page, path);
    await inspect(page, `phone-${path.slice(1).replaceAll("/", "-")}`);
  }
  await open(page, "/category/ranks/player");
  const hint = page.getByText("More to the right →");
  await hint.waitFor();
  await page.locator(".scroll").evaluate((table) => table.scrollTo(table.scrollWidth, 0));
  await hint.waitFor({ state: "hidden" });
  assert.equal(await page.getByText("Yours already").count() > 1, true, "a rank that is owned says so");
  assert.equal(await page.locator(".badge.sale").count(), 1, "a credit is not a sale");
  await page.context().close();
}

/** A chat login that begins on localhost ends there, where its cookie is. */
async function chatOnLocalhost() {
  const page = await visitor();
  await page.goto(`${shop.server.ready.base_url.replace("127.0.0.1", "localhost")}/auth/chat`);
  const { url } = JSON.parse(await page.locator("body").innerText());
  await page.goto(url);
  await page.getByRole("button", { name: "Log in as thornwick" }).click();
  await page.getByText("You are logged in. You can close this window.").waitFor();
  await page.context().close();
}

/** By keyboard: the skip link, and the focus after a change of page. */
async function byKeyboard() {
  const page = await visitor();
  await open(page, "/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await page.getByRole("link", { name: "Staff" }).press("Enter");
  await page.getByRole("heading", { level: 1, name: "Staff" }).waitFor();
  await settled(page);
  await page.getByRole("button", { name: /light and dark/ }).press("Enter");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await inspect(page, "dark-staff");
  await page.context().close();
}

/** The tests so far have made almost as many checkouts as one address may. */
async function aNewTable() {
  await shop.server.stop();
  await shop.restart();
}

/** Three calls are tried from the reference page: without a token, with one, and with a body. Then the walk to a payment. */
async function theReference() {
  for (const options of [undefined, { ...PHONE, viewport: { width: 1280, height: 860 } }]) await tryTheReference(options);
}

async function tryTheReference(options) {
  const page = await visitor(options);
  await page.goto(`${shop.server.ready.base_url}/reference`);
  await page.locator(".opblock").first().waitFor();
  const beyond = await page.getByText("Beyond the documented interface", { exact: true }).count();
  assert.equal(beyond >= 16, true, `${beyond} calls are marked as beyond the documented interface`);
  for (const [id, status] of [["categoriesGet", "200"], ["user", "200"], ["pagesGet", "200"]]) {
    const call = page.locator(`.opblock[id$="-${id}"]`);
    await call.locator(".opblock-summary-control").click();
    await call.getByRole("button", { name: "Execute" }).click();
    await call.locator(".live-responses-table .response-col_status").getByText(status).waitFor();
    await call.locator(".curl").getByText("curl -X").first().waitFor();
  }
  for (const [step, id] of [["Log in", "authUsername"], ["Add an item to the cart", "cartAddById"], ["Pay", "paymentsCreate"]]) {
    await page.getByRole("button", { name: step, exact: true }).click();
    const call = page.locator(`.opblock[id$="-${id}"]`);
    await call.getByRole("button", { name: "Execute" }).click();
    await call.locator(".live-responses-table .response-col_status").getByText("200").waitFor();
  }
  const popup = page.waitForEvent("popup");
  await page.getByRole("link", { name: "Open the payment page" }).click();
  await (await popup).getByRole("button", { name: "Pay", exact: true }).waitFor();
  // The page is of others.
  assert.deepEqual(await axeFindings(page, ["serious", "critical"]), [], "axe");
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

async function theServerStops() {
  const page = await visitor();
  await open(page, "/login");
  const name = page.getByLabel("Your name in the game");
  await name.fill("Yarrow");
  await shop.server.stop();
  await name.press("Enter");
  await page.getByRole("alert").filter({ hasText: "The store does not respond. Nothing" }).waitFor();
  assert.equal(await name.inputValue(), "Yarrow", "what was typed stays");
  await shop.restart();
  await page.getByText("The store responds again.").waitFor();
  assert.equal(await name.inputValue(), "Yarrow", "what was typed stays");
  await name.press("Enter");
  await page.getByRole("button", { name: "Log out Yarrow" }).waitFor();
  await page.context().close();
}

const TESTS = [...PAGES, ...BLOCKED, ...ACCESS, ...BUYERS, ...DELIVERY, loggedOut, theFirstPlayerPays, everyLinkLeadsSomewhere, fromHomeToPaid, ...FAILURES, ...LOGINS, ...OFFERS, ...SCRIPTS, refusals, aNewTable, ...REFUSALS, aFullCart, onAPhone, byKeyboard, chatOnLocalhost, theReference, tooManyLookUps, theServerStops];
const chosen = process.argv.slice(2).filter((name) => !name.startsWith("--"));

try {
  for (const test of TESTS.filter(({ name }) => chosen.length === 0 || chosen.includes(name))) {
    const began = Date.now();
    try {
      await test();
    } catch (error) {
      console.error(`${test.name}: ${error.stack}`);
      for (const shown of await shownNow()) console.error(shown);
      process.exitCode = 1;
      // A step may have left the shop in any state: the next ones count only for who looks for everything that fails.
      if (!process.argv.includes("--keep-going")) break;
    }
    console.log(`${test.name}: ${Date.now() - began} ms`);
  }
} finally {
  await close();
  await shop.server.stop();
}
