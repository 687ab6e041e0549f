// Logins and what becomes of them: one that is begun twice, the name of a Bedrock player, and another tab that logs in or out.

import assert from "node:assert/strict";
import { startWith } from "./server.mjs";
import { agree, login, open, settled, visitor } from "./visitor.mjs";

const nameOf = (page) => page.getByLabel("Your name in the game");
const logsIn = (page) => page.locator("main").getByRole("button", { name: "Log in", exact: true });

/** A store that asks in the game, which Bedrock players join too. */
async function inTheGame(act) {
  const server = await startWith({ "auth_type: username": "auth_type: ingame", 'players: {avatar: "/img/avatars/{player}.svg"}': 'players: {avatar: "/img/avatars/{player}.svg", bedrock: "."}' });
  try {
    const page = await visitor();
    await act(page, server.ready.shop);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  } finally {
    await server.stop();
  }
}

/** A browser is one caller from its first login on: after a double tap, and where a response was lost. */
const aLoginIsBegunTwice = () => inTheGame(async (page, url) => {
  const secrets = new Set();
  let begun = 0;
  page.on("request", (request) => {
    if (!request.url().includes("/game_auth/init/")) return;
    secrets.add(request.postDataJSON().secret);
    begun += 1;
  });
  await open(page, `${url}/login`);
  await page.getByLabel("Java").check();
  await nameOf(page).fill("Larkspur");
  await page.route("**/api/game_auth/init/**", async (route) => {
    await route.fetch();
    await route.abort();
  }, { times: 1 });
  await logsIn(page).click();
  await page.getByText("The store does not respond.", { exact: true }).waitFor();
  await logsIn(page).dblclick();
  await page.locator(".state").filter({ hasText: "Waiting for Larkspur" }).waitFor();
  assert.deepEqual([begun, secrets.size], [2, 1], "the second tap does nothing, and the browser is the same caller");
  assert.match([...secrets][0], /^[0-9a-f]{32}$/);
});

/** A page that is shown again leaves it to the player which edition is theirs. */
const theEditionStays = () => inTheGame(async (page, url) => {
  await open(page, `${url}/cart`);
  const java = page.getByLabel("Java");
  for (const one of [page.getByLabel(/^Bedrock/), java]) {
    await one.check();
    await nameOf(page).fill("Larkspur");
    const shown = page.evaluate(() => new Promise((resolve) => { addEventListener("shown", resolve, { once: true }); }));
    await page.getByLabel("Currency").selectOption(one === java ? "USD" : "GBP");
    await shown;
    await settled(page);
    assert(await one.isChecked());
  }
  await logsIn(page).click();
  await page.locator(".state").filter({ hasText: "Waiting for Larkspur" }).waitFor();
});

async function put(page, item) {
  await open(page, `/item/${item}`);
  await page.getByRole("button", { name: "Add to cart", exact: true }).click();
  await page.getByText("The item was added to your cart.").first().waitFor();
}

/** What a tab shows, and would change, is of who is logged in: it is shown again when another tab logs in as another player, or out. */
async function anotherTabLogsIn() {
  const other = await visitor();
  await login(other, "Campion");
  await put(other, 201);
  const page = await other.context().newPage();
  await open(page, "/cart");
  await page.locator(".who").filter({ hasText: "Campion" }).waitFor();
  await other.getByRole("button", { name: "Log out Campion" }).click();
  await page.getByRole("heading", { level: 1, name: "Who is there?" }).waitFor();
  await login(other, "Betony");
  await page.getByText("Your cart is empty.").waitFor();
  await page.getByRole("button", { name: "Log out Betony" }).waitFor();
  await put(other, 201);
  await page.reload();
  await page.locator(".who").filter({ hasText: "Betony" }).waitFor();
  await agree(page);
  // The other tab's login is known before the browser tells this one of it.
  const token = await page.evaluate(async () => {
    const response = await fetch("/api/auth/username", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ username: "Campion" }) });
    return response.json();
  });
  await page.evaluate((token) => localStorage.setItem("token", token), token);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByText("What you pay has changed since you saw it. Please look at your cart again.").waitFor();
  await page.locator(".who").filter({ hasText: "Campion" }).waitFor();
  await other.context().close();
}

export const LOGINS = [aLoginIsBegunTwice, theEditionStays, anotherTabLogsIn];
