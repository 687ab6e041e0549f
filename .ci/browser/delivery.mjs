// A purchase runs on a game server of the demo, and a refund takes it back, as the buyer and the console see it.

import assert from "node:assert/strict";
import { startWith } from "./server.mjs";
import { DESK, PHONE, agree, inspect, login, open, shop, visitor } from "./visitor.mjs";

/** Milliseconds in which a game server, which polls every ten seconds, has run what is due. */
const RUNS = { timeout: 30_000 };
/** The same after a lost answer: the store waits for 60 seconds before it serves the commands again. */
const RUNS_AGAIN = { timeout: 90_000 };

async function buy(page, item, url = "") {
  await open(page, `${url}/item/${item}`);
  await page.getByRole("button", { name: "Add to cart", exact: true }).click();
  await page.getByText("The item was added to your cart.").first().waitFor();
}

async function pay(page, url = "") {
  await open(page, `${url}/cart`);
  await agree(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Thank you!" }).waitFor();
}

/** The money goes back at the payment provider. */
async function refund(page) {
  const checkout = new URL(page.url()).searchParams.get("checkout_id");
  await page.goto(`${shop.server.ready.payments}/c/pay/${checkout}`);
  await page.getByRole("button", { name: "Refund in full" }).click();
}

/** An Ember Key, which runs at once, and a Frost Key, which waits for its player. */
async function deliveredAndTakenBack() {
  const watcher = await visitor({ ...DESK, colorScheme: "dark" });
  await open(watcher, "/console");
  await watcher.locator(".state.paid").filter({ hasText: "Running" }).waitFor(RUNS);
  const command = (text) => watcher.locator(".commands li").filter({ hasText: text });
  const page = await visitor();
  await login(page, "Clover");
  await buy(page, 201);
  await buy(page, 211);
  await pay(page);
  const line = (name) => page.locator(".bought li").filter({ hasText: name });
  await line("Ember Key").getByText("On its way into the game").waitFor();
  await inspect(page, "order-on-its-way");
  await command("crate key give Clover ember 1").getByText(/^ran/).waitFor(RUNS);
  await command("crate key give Clover frost 1").getByText("waits for the player").waitFor(RUNS);
  await line("Ember Key").getByText("Arrived in the game").waitFor(RUNS);
  await line("Frost Key").getByText("Waits until Clover joins Hearth").waitFor(RUNS);
  await inspect(page, "order-waits");
  await watcher.getByLabel("Player", { exact: true }).fill("Clover");
  await watcher.getByLabel("Player", { exact: true }).press("Enter");
  // What was asked about and did not run may still run, so that a refund waits with its commands.
  await command("crate key give Clover frost 1").getByText("ran, and the store knows").waitFor(RUNS);
  await inspect(watcher, "dark-console");
  const order = page.url();
  await refund(page);
  await command("crate key take Clover ember 1").getByText(/^ran/).waitFor(RUNS);
  await command("crate key take Clover frost 1").getByText(/^ran/).waitFor(RUNS);
  await page.goto(order);
  await line("Ember Key").getByText("Taken back with the refund").waitFor();
  await inspect(page, "order-taken-back");
  await page.context().close();
  await watcher.context().close();
}

/** A server that crashes and starts again still has what waits for its player. On a phone. */
async function aCrashKeepsWhatWaits() {
  const page = await visitor(PHONE);
  await login(page, "Larkspur");
  await buy(page, 211);
  await pay(page);
  await page.getByText("Waits until Larkspur joins Hearth").waitFor(RUNS);
  await inspect(page, "phone-order-waits");
  await open(page, "/console");
  await page.getByRole("button", { name: "Crash" }).click();
  await page.locator(".state.failed").filter({ hasText: "Crashed" }).waitFor();
  const command = page.locator(".commands li").filter({ hasText: "crate key give Larkspur frost 1" });
  await command.getByText("waits for the player").waitFor();
  await page.getByRole("button", { name: "Start again" }).click();
  await page.locator(".state.paid").filter({ hasText: "Running" }).waitFor(RUNS);
  await page.getByLabel("Player", { exact: true }).fill("Larkspur");
  await page.getByRole("button", { name: "Join" }).click();
  await command.getByText(/^ran/).waitFor();
  await inspect(page, "phone-console");
  await page.context().close();
}

/**
 * A player confirms a login in the game. Then the server is silent while two things are bought, and loses the first answer after
 * that: the Pointed hat's command runs later, the Frost Key's, which is marked `once`, never.
 */
async function confirmedInTheGame() {
  const server = await startWith({ "auth_type: username": "auth_type: ingame" });
  const url = server.ready.shop;
  try {
    const watcher = await visitor();
    await open(watcher, `${url}/console`);
    await watcher.locator(".state.paid").filter({ hasText: "Running" }).waitFor(RUNS);
    await watcher.getByLabel("Player", { exact: true }).fill("Larkspur");
    await watcher.getByRole("button", { name: "Join" }).click();
    const page = await visitor(PHONE);
    await open(page, `${url}/login`);
    const name = page.getByLabel("Your name in the game");
    await name.fill("not a name!");
    await name.press("Enter");
    await page.getByText(/^A name in the game has 3 to 24/).waitFor();
    await inspect(page, "phone-login-in-game");
    await name.fill("Larkspur");
    await name.press("Enter");
    const waiting = page.locator(".state").filter({ hasText: "Waiting for Larkspur" });
    await waiting.waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await name.inputValue(), "Larkspur", "what was typed stays");
    await name.press("Enter");
    await waiting.waitFor();
    await page.reload();
    await waiting.waitFor();
    await inspect(page, "phone-login-waits");
    await watcher.getByRole("button", { name: "/ms auth for Larkspur" }).click(RUNS_AGAIN);
    await page.getByRole("button", { name: "Log out Larkspur" }).waitFor();
    const [silence, lose] = ["Go silent", "Lose the next commands"].map((text) => watcher.getByRole("button", { name: text }));
    await silence.click();
    await watcher.locator(".state").filter({ hasText: "Silent" }).waitFor();
    await lose.click();
    await buy(page, 211, url);
    await buy(page, 901, url);
    await pay(page, url);
    // The page asks after 4, 6 and 9 seconds; a server that speaks polls within 10.
    for (let asked = 0; asked < 3; asked += 1) await page.waitForResponse((response) => response.url().endsWith("/payments/delivery"));
    await page.locator(".bought li").filter({ hasText: "Pointed hat" }).getByText("On its way into the game").waitFor();
    await watcher.locator("[aria-pressed=true]").filter({ hasText: "Lose the next commands" }).waitFor();
    await silence.click();
    await watcher.getByText("the answer was lost").waitFor(RUNS);
    const commands = watcher.locator(".commands li");
    assert.equal(await commands.count(), 0, "a lost answer runs nothing");
    await commands.filter({ hasText: "wardrobe unlock Larkspur pointed_hat" }).getByText(/^ran/).waitFor(RUNS_AGAIN);
    const texts = (await commands.locator("code").allTextContents()).join();
    assert.equal(texts.match(/pointed_hat/g).length, 1);
    assert.doesNotMatch(texts, /frost/);
    await watcher.context().close();
    await page.context().close();
  } finally {
    await server.stop();
  }
}

/** The last server has RCON and an agent: while its password is refused nothing is fetched, then the console's response is seen. */
async function runByAnAgent() {
  const watcher = await visitor();
  await open(watcher, "/console");
  await watcher.getByRole("button", { name: /^The Pit/ }).click();
  const refuses = watcher.getByRole("button", { name: "Refuse the password" });
  await refuses.click();
  await watcher.locator("[aria-pressed=true]").filter({ hasText: "Refuse the password" }).waitFor();
  const page = await visitor();
  await login(page, "Pebble");
  await buy(page, 405);
  await pay(page);
  await page.locator(".bought li").filter({ hasText: "Arena Drums" }).getByText("On its way into the game").waitFor();
  const command = watcher.locator(".commands li").filter({ hasText: "drums announce Pebble" });
  assert.equal(await command.count(), 0);
  await refuses.click();
  // It tries again after pauses of up to a minute.
  await command.getByText("[drums] Done: announce Pebble").waitFor(RUNS_AGAIN);
  await inspect(watcher, "console-agent");
  await page.context().close();
  await watcher.context().close();
}

export const DELIVERY = [deliveredAndTakenBack, aCrashKeepsWhatWaits, confirmedInTheGame, runByAnAgent];
