// What browsers block: storage and cookies, and calls that a filter takes for advertisements.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { agree, inspect, login, open, persistent, settled, visitor } from "./visitor.mjs";

const FORGETS = /^Your browser keeps nothing for this shop/;

/** Chromium with all cookies blocked, which blocks the storage too: from an item to a paid order, with a login on each page. */
async function cookiesAreBlocked() {
  const profile = mkdtempSync(`${tmpdir()}/shop-`);
  mkdirSync(`${profile}/Default`);
  writeFileSync(`${profile}/Default/Preferences`, JSON.stringify({ profile: { default_content_setting_values: { cookies: 2 } } }));
  const page = await persistent(profile);
  await open(page, "/item/201");
  assert(await page.evaluate(() => { try { return !localStorage; } catch { return true; } }), "the storage is blocked");
  await page.getByText(FORGETS).waitFor();
  await inspect(page, "forgets");
  await page.getByLabel("Currency").selectOption("USD");
  await page.getByRole("button", { name: /light and dark/ }).first().click();
  await page.getByRole("button", { name: "Add to cart", exact: true }).click();
  await page.getByText("Log in, and Ember Key is put into your cart.").waitFor();
  const enter = async () => {
    await page.getByLabel("Your name in the game").fill("Sundew");
    await page.getByLabel("Your name in the game").press("Enter");
  };
  await enter();
  await page.getByText("The item was added to your cart.").waitFor();
  await page.getByRole("link", { name: "Cart, 1 unit" }).click();
  await page.getByRole("heading", { level: 1, name: "Who is there?" }).waitFor();
  await enter();
  await page.getByRole("heading", { level: 1, name: "Your cart" }).waitFor();
  await settled(page);
  await agree(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByText("This order belongs to an account. Log in to see it.").waitFor();
  await enter();
  await page.getByRole("heading", { level: 1, name: "Thank you!" }).waitFor();
  await inspect(page, "forgets-paid");
  await page.context().close();
  rmSync(profile, { recursive: true });
}

/** A filter blocks calls that pages are complete without; the store responds, and no one says that it does not. */
async function optionalCallsAreBlocked() {
  const page = await visitor();
  await login(page, "Sundew");
  await open(page, "/item/211");
  await page.getByRole("button", { name: "Add to cart", exact: true }).click();
  await page.getByText("The item was added to your cart.").waitFor();
  for (const path of ["cart/getPromoted", "profile/*", "payments/delivery"]) await page.route(`**/api/${path}`, (route) => route.abort("blockedbyclient"));
  await open(page, "/cart");
  await page.getByRole("button", { name: /^Pay €/ }).waitFor();
  await open(page, "/account");
  await page.getByRole("heading", { level: 1, name: "Sundew" }).waitFor();
  await page.route("**/api/cart/get", (route) => route.abort("blockedbyclient"));
  await open(page, "/item/211");
  await page.getByRole("button", { name: "Log out Sundew" }).waitFor();
  assert.equal(await page.locator("#offline").isVisible(), false, "the store responds");
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

export const BLOCKED = [cookiesAreBlocked, optionalCallsAreBlocked];
