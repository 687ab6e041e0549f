// A visit to a deployed shop and a purchase there: SHOP=address EMULATOR=address node .ci/browser/deployed.mjs

import assert from "node:assert/strict";
import { agree, close, inspect, login, open, shop, visitor } from "./visitor.mjs";

try {
  const page = await visitor();
  await open(page, "/");
  const pictures = await page.locator("img").evaluateAll((images) => images.map((image) => new URL(image.currentSrc || image.src).pathname));
  assert(pictures.some((path) => /^\/img\/[0-9a-f]{32}(-\d+)?\.webp$/.test(path)), `no published picture: ${pictures}`);
  await inspect(page, "deployed-home");
  await login(page, "Deploy_Visitor");
  await page.getByRole("link", { name: "Crates and keys", exact: true }).click();
  await page.getByRole("button", { name: "Add to cart Ember Key" }).click();
  await page.getByRole("link", { name: "Cart, 1 unit" }).click();
  await agree(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.waitForURL(`${shop.url}/payment/flow?*`);
  await page.locator(".state.paid").waitFor();
  await inspect(page, "deployed-paid");
  console.log(`${pictures.length} pictures, an order is paid`);
} finally {
  await close();
}
