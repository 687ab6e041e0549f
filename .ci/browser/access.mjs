// Small screens, large text, and where the focus is.

import assert from "node:assert/strict";
import { PHONE, inspect, login, open, shop, visitor } from "./visitor.mjs";

const SMALL = { ...PHONE, viewport: { width: 320, height: 640 }, colorScheme: "light" };
const LARGE = { ...PHONE, colorScheme: "light" };
const PATHS = ["/", "/category/ranks/player", "/item/301", "/cart", "/account", "/orders/knqgzewntc6hqf7g", "/subscriptions", "/pages/rules"];

/** On 320 px, and with text twice as large, nothing is wider than the screen, and nothing is cut off in a button. The cart's badge is above its
 * link's edge. */
async function smallScreensAndLargeText() {
  for (const [name, options, size] of [["small", SMALL, "100%"], ["large", LARGE, "200%"]]) {
    const page = await visitor(options);
    await page.addInitScript((size) => document.addEventListener("DOMContentLoaded", () => { document.documentElement.style.fontSize = size; }), size);
    await open(page, "/login");
    // What appears when large text arrives is not a shift of the page's own.
    await page.evaluate(() => { window.shift = 0; });
    await inspect(page, `${name}-login`);
    await login(page, "Thornwick");
    for (const path of PATHS) {
      await open(page, path);
      await page.evaluate(() => { window.shift = 0; });
      await inspect(page, `${name}-${path.slice(1).replaceAll("/", "-") || "home"}`);
      const cut = await page.locator("main button, main .button, .bar button, .bar a:not([href='/cart'])").evaluateAll((all) => all.filter((one) => one.offsetWidth > 0 && one.scrollWidth > one.clientWidth + 2).map((one) => one.textContent));
      assert.deepEqual(cut, [], `${name} ${path}: cut off`);
    }
    await page.context().close();
  }
}

/** The widest name that a player can have is not wider than a small screen. */
async function aWideName() {
  const page = await visitor(SMALL);
  await login(page, "W".repeat(24));
  await open(page, "/item/201");
  await page.getByRole("button", { name: "Add to cart", exact: true }).click();
  await page.getByText("The item was added to your cart.").waitFor();
  for (const path of ["/cart", "/account"]) {
    await open(page, path);
    await inspect(page, `small-wide-name-${path.slice(1)}`);
  }
  await page.context().close();
}

/** Backwards through a long page: what has the focus is never under the header. */
async function theFocusIsInSight() {
  for (const options of [undefined, PHONE]) {
    const page = await visitor(options);
    await open(page, "/category/crates");
    await page.locator("footer a").last().focus();
    let moved = 0;
    for (let pressed = 0; pressed < 60; pressed += 1) {
      await page.keyboard.press("Shift+Tab");
      const [text, isHidden] = await page.evaluate(() => {
        const one = document.activeElement;
        const top = document.querySelector(".top");
        const isUnder = !top.contains(one) && !one.matches(".skip, body") && one.getBoundingClientRect().top < top.getBoundingClientRect().bottom - 1;
        return [one.textContent.trim(), isUnder];
      });
      assert.equal(isHidden, false, `under the header: ${text}`);
      moved += 1;
    }
    assert.equal(moved, 60);
    await page.context().close();
  }
}

/** On a phone the menu shows the entry of the page. */
async function theMenuShowsWhereAVisitorIs() {
  const page = await visitor(PHONE);
  await open(page, "/category/support");
  const place = await page.locator("#menu [aria-current]").evaluate((one) => one.getBoundingClientRect().toJSON());
  assert(place.left >= 0 && place.right <= 390, JSON.stringify(place));
  await page.context().close();
}

/** A browser that does not know light-dark() has the colours of the light half. */
async function aBrowserOfBefore() {
  const page = await visitor();
  await page.route("**/*.css", async (route) => {
    const response = await route.fetch();
    const css = (await response.text()).replaceAll("@supports not (color: light-dark(#000, #fff))", "@supports (display: block)").replaceAll("light-dark(", "unknown(");
    await route.fulfill({ response, body: css });
  });
  await open(page, "/category/crates");
  const [ground, ink] = await page.evaluate(() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]);
  assert.notEqual(ground, "rgba(0, 0, 0, 0)");
  assert.notEqual(ground, ink);
  await inspect(page, "without-light-dark");
  await page.context().close();
}

/** A path that cannot be decoded is a page, too. */
async function aMalformedPath() {
  const page = await visitor();
  for (const path of ["/item/%ff", "/%c3%28", "/category/%E0%A4%A", "/item/1/2/3", "/orders/a/b"]) {
    const response = await page.goto(shop.url + path);
    assert.deepEqual([response.status(), response.headers()["content-type"]], [404, "text/html; charset=utf-8"], path);
    await page.getByRole("heading", { name: "Not found" }).waitFor();
  }
  await page.context().close();
}

export const ACCESS = [smallScreensAndLargeText, aWideName, theFocusIsInSight, theMenuShowsWhereAVisitorIs, aBrowserOfBefore, aMalformedPath];
