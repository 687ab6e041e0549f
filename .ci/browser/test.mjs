// Clicks through the demo storefront in Chromium, as visitors do: from the first page to a paid order, refusals, a phone, the
// dark, and a server that stops. No request is intercepted, because that would hide faults of CORS. Screenshots: target/browser;
// with --readme also those of README.md.

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { start } from "./server.mjs";

const SCREENSHOTS = new URL("../../target/browser/", import.meta.url).pathname;
const README = new URL("../../infra/docs/img/", import.meta.url).pathname;
/** The screenshots in README.md, which --readme writes anew: by the name of the inspection. */
const IN_README = { home: "home", "category-ranks-player": "ranks", cart: "cart", "phone-home": "phone" };
const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** The largest cumulative layout shift that Chromium's own scale calls good. */
const LARGEST_SHIFT = 0.1;
const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true };
const DESK = { viewport: { width: 1280, height: 860 }, colorScheme: "light" };

mkdirSync(SCREENSHOTS, { recursive: true });
let server = await start("--port", "0");
const shop = server.ready.shop;
const executablePath = BROWSERS.find((path) => path && existsSync(path));
assert(executablePath, "no Chromium: apt-get install chromium");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** A visitor with a browser profile of their own. What the page reports as an error fails the test. */
async function visitor(options = DESK) {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  // A refusal's status is also printed as an error; the test looks at refusals itself.
  page.on("console", (line) => line.type() === "error" && !/Failed to load resource/.test(line.text()) && page.faults.push(line.text()));
  await page.addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.shift += entry.hadRecentInput ? 0 : entry.value))).observe({ type: "layout-shift", buffered: true });
  });
  return page;
}

const settled = (page) => page.waitForSelector("main[aria-busy=false] h1");

async function open(page, path) {
  await page.goto(shop + path);
  await settled(page);
}

async function login(page, name) {
  await open(page, "/login");
  await page.getByLabel("Your name in the game").fill(name);
  await page.locator("main").getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("button", { name: `Log out ${name}` }).waitFor();
  await settled(page);
}

/** Does something that the API refuses, and expects the API's own words on the page. */
async function refused(page, path, act, expected) {
  const response = page.waitForResponse((one) => one.url().includes(path) && one.request().method() === "POST");
  await act();
  const body = await (await response).json();
  const message = body.message ?? body.error;
  assert(message && body.success !== true, `${path} was not refused: ${JSON.stringify(body)}`);
  assert.match(message, expected);
  await page.getByText(message, { exact: true }).first().waitFor();
}

/** Axe's findings, pictures that are missing, things that jump, and pages wider than the screen. */
async function inspect(page, name) {
  await settled(page);
  await page.evaluate(async () => {
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
  });
  const found = await page.evaluate(() => ({
    broken: [...document.images].filter((image) => image.naturalWidth === 0).map((image) => image.src),
    wide: document.documentElement.scrollWidth > innerWidth,
    shift: window.shift,
  }));
  assert.deepEqual(found.broken, [], `${name}: pictures that are missing`);
  assert.equal(found.wide, false, `${name}: wider than the screen`);
  assert(found.shift < LARGEST_SHIFT, `${name}: layout shift of ${found.shift}`);
  assert.deepEqual(page.faults, [], `${name}: errors in the console`);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html)}`), [], `${name}: axe`);
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png`, fullPage: true });
  const shown = process.argv.includes("--readme") && IN_README[name];
  if (shown) await page.screenshot({ path: `${README}${shown}.jpg`, type: "jpeg", quality: 80 });
}

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
  await page.getByText("Unauthorized: a valid access token is required.").waitFor();
  await inspect(page, "login");
  const name = page.getByLabel("Your name in the game");
  await name.fill("not a name!");
  await refused(page, "/auth/username", () => name.press("Enter"), /Incorrect username/);
  assert.equal(await name.inputValue(), "not a name!", "what was typed stays");
  await refused(page, "/auth/username", () => page.getByRole("button", { name: "Grimble" }).click(), /locked/);
  await page.getByRole("button", { name: "Thornwick" }).click();
  await page.getByRole("heading", { level: 1, name: "Ranks" }).waitFor();
  await open(page, "/nowhere");
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  await page.context().close();
}

async function fromHomeToPaid() {
  const page = await visitor();
  await login(page, "Bramble");
  await page.getByRole("link", { name: "Crates and keys", exact: true }).click();
  await page.getByRole("button", { name: "Add to cart Ember Key" }).click();
  await page.getByText("The item was added to your cart.").waitFor();
  await page.getByRole("link", { name: "Cart, 1 unit" }).click();
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  const terms = page.getByLabel("I accept the terms and conditions.");
  await terms.check();
  const units = page.getByLabel("Units of Ember Key");
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
  await coupon.fill(server.ready.try.coupon);
  await coupon.press("Enter");
  await page.getByRole("button", { name: "Remove Coupon" }).waitFor();
  const referral = page.getByLabel("Referral code");
  await referral.fill("nobody");
  await refused(page, "/cart/setReferral", () => referral.press("Enter"), /./);
  await referral.fill(server.ready.try.referral);
  await referral.press("Enter");
  await page.getByRole("button", { name: "Remove Referral" }).waitFor();
  const pay = page.getByRole("button", { name: /^Pay/ });
  await refused(page, "/payments/create", () => pay.click(), /accept the terms/);
  for (const next of ["Leave", "Pay"]) {
    await terms.check();
    await page.getByLabel("I have read the privacy policy.").check();
    await pay.click();
    await page.getByRole("button", { name: next, exact: true }).click();
    if (next === "Leave") await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  }
  await page.waitForURL(`${shop}/payment/flow?*`);
  await page.locator(".state.paid").waitFor();
  await page.getByRole("link", { name: "Cart, 0 units" }).waitFor();
  await inspect(page, "paid");
  await page.context().close();
}

async function refusals() {
  const page = await visitor();
  await login(page, "Sorrel");
  const add = page.getByRole("button", { name: "Add to cart", exact: true });
  await open(page, "/item/204");
  await page.getByText("Sold out").waitFor();
  await refused(page, "/cart/add/204", () => add.click(), /./);
  await open(page, "/item/601");
  const price = page.getByLabel(/^Your price/);
  await price.fill("0.10");
  await refused(page, "/cart/add/601", () => add.click(), /./);
  assert.equal(await price.inputValue(), "0.10", "what was typed stays");
  await open(page, "/item/301");
  await add.click();
  await page.getByText("The item was added to your cart.").waitFor();
  await open(page, "/cart");
  await page.getByLabel("I accept the terms and conditions.").check();
  await page.getByLabel("I have read the privacy policy.").check();
  await refused(page, "/payments/create", () => page.getByRole("button", { name: /^Pay/ }).click(), /not complete/);
  const fox = page.getByLabel("Name of the fox of Cinder Fox");
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
  const popup = page.waitForEvent("popup");
  await page.getByRole("button", { name: "Log in with chat" }).click();
  await (await popup).getByRole("button", { name: "Log in as thornwick" }).click();
  await page.getByText("Chat account: thornwick.").waitFor();
  for (const path of ["/category/ranks/player", "/item/311", "/pages/rules", "/staff", "/patrons", "/orders/knqgzewntc6hqf7g"]) {
    await open(page, path);
    await inspect(page, path.slice(1).replaceAll("/", "-"));
  }
  await open(page, "/orders/qv6qv4vqbqtgggak");
  await page.getByText(/of 18 look-ups left in this minute/).waitFor();
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
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.getByRole("button", { name: /light and dark/ }).press("Enter");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await inspect(page, "dark-staff");
  await page.context().close();
}

async function theServerStops() {
  const page = await visitor();
  await open(page, "/login");
  const name = page.getByLabel("Your name in the game");
  await name.fill("Yarrow");
  await server.stop();
  await name.press("Enter");
  await page.getByRole("alert").filter({ hasText: "The store does not respond. Nothing" }).waitFor();
  assert.equal(await name.inputValue(), "Yarrow", "what was typed stays");
  const port = (url) => new URL(url).port;
  server = await start("--port", port(server.ready.base_url), "--demo-port", port(shop));
  await page.getByText("The store responds again.").waitFor();
  assert.equal(await name.inputValue(), "Yarrow", "what was typed stays");
  await name.press("Enter");
  await page.getByRole("button", { name: "Log out Yarrow" }).waitFor();
  await page.context().close();
}

try {
  for (const test of [loggedOut, everyLinkLeadsSomewhere, fromHomeToPaid, refusals, aFullCart, onAPhone, byKeyboard, theServerStops]) {
    const began = Date.now();
    try {
      await test();
    } catch (error) {
      console.error(`${test.name}: ${error.stack}`);
      process.exitCode = 1;
      break;
    }
    console.log(`${test.name}: ${Date.now() - began} ms`);
  }
} finally {
  await browser.close();
  await server.stop();
}
