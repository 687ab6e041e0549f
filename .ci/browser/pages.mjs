// The pages themselves: what they weigh, what they are without JavaScript, the account, and a purchase only by keyboard.

import assert from "node:assert/strict";
import { brotliCompressSync } from "node:zlib";
import { DESK, PHONE, inspect, login, open, settled, shop, visitor } from "./visitor.mjs";

/** The most of a first visit: bytes of HTML, CSS and JavaScript as an edge compresses them, such files, calls of the API, and requests in all. */
const BUDGET = { bytes: 60 * 1024, files: 10, calls: 4, requests: 22 };

async function theFirstPageIsLight() {
  for (const options of [DESK, PHONE]) {
    const page = await visitor(options);
    const responses = [];
    page.on("response", (response) => responses.push(response));
    await open(page, "/");
    await page.waitForLoadState("networkidle");
    const own = responses.filter((response) => !new URL(response.url()).pathname.startsWith("/local/"));
    const calls = own.filter((response) => response.url().includes("/api/"));
    const files = own.filter((response) => /html|css|javascript/.test(response.headers()["content-type"]));
    const bytes = (await Promise.all(files.map((file) => file.body()))).reduce((sum, body) => sum + brotliCompressSync(body).length, 0);
    const found = { bytes, files: files.length, calls: calls.length, requests: own.length };
    console.log(`  first page: ${JSON.stringify(found)}`);
    for (const [name, most] of Object.entries(BUDGET)) assert(found[name] <= most, `${name}: ${found[name]}, at most ${most}`);
    await page.context().close();
  }
}

async function withoutJavaScript() {
  const page = await visitor({ ...DESK, javaScriptEnabled: false });
  for (const [path, text] of [["/", "Featured deals"], ["/category/crates", "Ember Key"], ["/pages/terms", "Terms and conditions"], ["/item/201", "Ember Key"]]) {
    assert.equal((await page.goto(shop.url + path)).status(), 200);
    await page.getByRole("heading", { name: text }).first().waitFor();
  }
  await page.locator(".price").getByText(/^€/).first().waitFor();
  await page.context().close();
}

/** The account, on a desk and in the dark on a phone; the currency is remembered, and the server's address is copied. */
async function theAccount() {
  for (const [options, name] of [[DESK, "account"], [PHONE, "phone-account"]]) {
    const page = await visitor({ ...options, permissions: ["clipboard-read", "clipboard-write"] });
    await login(page, "Thornwick");
    await page.locator("a.player").click();
    await page.getByRole("heading", { level: 1, name: "Thornwick" }).waitFor();
    await page.getByRole("heading", { name: "What you bought" }).waitFor();
    await page.getByText("Your balance: 1,250 Embers").waitFor();
    await inspect(page, name);
    await page.getByLabel("Currency").selectOption("USD");
    await open(page, "/item/201");
    await page.locator(".price").getByText(/≈ \$/).waitFor();
    assert.equal(await page.getByLabel("Currency").inputValue(), "USD");
    await open(page, "/");
    await page.getByRole("button", { name: /play\.emberfall\.example/ }).click();
    await page.getByText("play.emberfall.example is copied.").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "play.emberfall.example");
    await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new DOMException("denied", "NotAllowedError")); });
    await page.getByRole("button", { name: /play\.emberfall\.example/ }).click();
    await page.getByText("Your browser did not copy it. Please type play.emberfall.example.").waitFor();
    assert.deepEqual(page.faults, []);
    await page.context().close();
  }
}

/** Presses Tab until a control with this accessible name has the focus. */
async function tabTo(page, name) {
  for (let pressed = 0; pressed < 120; pressed += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const one = document.activeElement;
      return one.ariaLabel || [...(one.labels ?? [])].map((label) => label.textContent).join(" ") || one.textContent;
    });
    if (name.test(focused.trim())) return;
  }
  assert.fail(`no ${name} by Tab`);
}

/** From the first page to a paid order without a mouse. What changes is announced: each outcome is in a live region. */
async function aPurchaseByKeyboard() {
  const page = await visitor();
  const announced = (role, text) => page.getByRole(role).filter({ hasText: text }).first().waitFor();
  await open(page, "/");
  await tabTo(page, /^Crates and keys$/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Crates and keys" }).waitFor();
  await settled(page);
  await tabTo(page, /^Add to cart Ember Key$/);
  await page.keyboard.press("Enter");
  await announced("status", "Log in, and Ember Key is put into your cart.");
  await tabTo(page, /^Your name in the game$/);
  await page.keyboard.type("Campion");
  await page.keyboard.press("Enter");
  await announced("status", "The item was added to your cart.");
  await tabTo(page, /^Cart, 1 unit$/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  await settled(page);
  await tabTo(page, /^Pay €/);
  await page.keyboard.press("Enter");
  await announced("alert", "3 things are left to do. They are marked.");
  for (const box of [/is my name in the game/, /I accept the terms/, /I have read the privacy/]) {
    if (!box.test(await page.evaluate(() => document.activeElement.labels?.[0]?.textContent ?? ""))) await tabTo(page, box);
    await page.keyboard.press("Space");
  }
  await tabTo(page, /^Pay €/);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Pay", exact: true }).press("Enter");
  await page.getByRole("heading", { level: 1, name: "Thank you!" }).waitFor();
  const told = await page.locator("main").ariaSnapshot();
  for (const part of [/heading "What happens next"/, /list "What you bought"/, /Paid/]) assert.match(told, part);
  await inspect(page, "paid-by-keyboard");
  await page.context().close();
}

export const PAGES = [theFirstPageIsLight, withoutJavaScript, theAccount, aPurchaseByKeyboard];
