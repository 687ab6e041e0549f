// A visitor in Chromium, and what is expected of every page.

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { start } from "./server.mjs";

export const SCREENSHOTS = new URL("../../target/browser/", import.meta.url).pathname;
const README = new URL("../../infra/docs/img/", import.meta.url).pathname;
/** The screenshots in README.md, which --readme writes anew: by the name of the inspection. */
const IN_README = { home: "home", "category-ranks-player": "ranks", cart: "cart", "phone-home": "phone" };
const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** The largest cumulative layout shift that Chromium's own scale calls good. */
const LARGEST_SHIFT = 0.1;
export const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true };
export const DESK = { viewport: { width: 1280, height: 860 }, colorScheme: "light" };

mkdirSync(SCREENSHOTS, { recursive: true });
/** The address of a deployed shop, and that of the emulator which has its requests as if decrypted; otherwise the local server is tested. */
const { SHOP, EMULATOR } = process.env;
/** The server of the tests, and its shop. */
export const shop = SHOP ? { url: SHOP } : { server: await start("--port", "0") };
shop.url ??= shop.server.ready.shop;

/** Starts the server that was stopped again, on the same ports and with a new table. */
shop.restart = async () => {
  const port = (url) => new URL(url).port;
  shop.server = await start("--port", port(shop.server.ready.base_url), "--demo-port", port(shop.url));
};
const executablePath = BROWSERS.find((path) => path && existsSync(path));
assert(executablePath, "no Chromium: apt-get install chromium");
export const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function throughEmulator(route) {
  const request = route.request();
  const headers = { ...(await request.allHeaders()), host: new URL(SHOP).host, "x-forwarded-proto": "https" };
  await route.fulfill({ response: await route.fetch({ url: request.url().replace(SHOP, EMULATOR), headers, maxRedirects: 0 }) });
}

/** A visitor with a browser profile of their own. What the page reports as an error fails the test. */
export async function visitor(options = DESK) {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  if (SHOP) await context.route(`${SHOP}/**`, throughEmulator);
  return watched(await context.newPage());
}

const profiles = [];

/** The address and the beginning of the text of each page that is open: what a visitor sees where a test fails. */
export async function shownNow() {
  const pages = browser.contexts().flatMap((context) => context.pages());
  return Promise.all(pages.map(async (page) => `${page.url()}: ${(await page.innerText("body").catch(String)).replaceAll(/\s+/g, " ").slice(0, 600)}`));
}

/** Closes what was opened. A page may be waiting for an answer still, which then has nowhere to go. */
export async function close() {
  for (const context of browser.contexts()) await context.unrouteAll({ behavior: "ignoreErrors" });
  for (const context of profiles) await context.close();
  await browser.close();
}

/** A visitor with a browser profile that exists. */
export async function persistent(profile) {
  const context = await chromium.launchPersistentContext(profile, { executablePath, args: ["--no-sandbox"], reducedMotion: "reduce", ...DESK });
  profiles.push(context);
  return watched(context.pages()[0]);
}

async function watched(page) {
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

export const settled = (page) => page.waitForSelector("main[aria-busy=false] h1");

export async function open(page, path) {
  await page.goto(path.startsWith("http") ? path : shop.url + path);
  await settled(page);
}

export async function login(page, name, url = shop.url) {
  await open(page, `${url}/login`);
  await page.getByLabel("Your name in the game").fill(name);
  // All visitors have one address, from which there can be 20 logins in a minute: whoever is told to wait waits.
  for (let pause = 0; pause !== undefined; ) {
    await page.waitForTimeout(pause * 1000);
    const answer = page.waitForResponse((one) => one.url().endsWith("/auth/username"));
    await page.locator("main").getByRole("button", { name: "Log in", exact: true }).click();
    pause = (await answer).headers()["retry-after"];
  }
  await page.getByRole("button", { name: `Log out ${name}` }).waitFor();
  await settled(page);
}

export async function agree(page) {
  await page.getByLabel("I accept the terms and conditions").check();
  await page.getByLabel("I have read the privacy policy").check();
  // It is shown together with them.
  const name = page.getByLabel(/is my name in the game/);
  if (await name.count()) await name.check();
}

/** Does something that the API refuses, and expects the API's own words on the page; a field has its label there. */
export async function refused(page, path, act, expected, label) {
  const response = page.waitForResponse((one) => one.url().includes(path) && one.request().method() === "POST");
  await act();
  const body = await (await response).json();
  const message = body.message ?? body.error;
  assert(message && body.success !== true, `${path} was not refused: ${JSON.stringify(body)}`);
  assert.match(message, expected);
  const shown = label ? message.replace(/^The \w+ field/, `“${label}”`) : message;
  await page.getByText(shown, { exact: true }).first().waitFor();
}

// A single symbol has no contrast that axe would measure.
const UNMEASURED = ["nonBmp", "imgNode", "bgImage", "bgGradient", "pseudoContent", "bgOverlap", "elmPartiallyObscured", "elmPartiallyObscuring", "shortTextContent"];

/** What axe finds, of any impact or of these. */
export async function axeFindings(page, impacts) {
  await page.evaluate(axe.source);
  const { violations, incomplete } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations", "incomplete"] }));
  // What axe leaves to a person, but for the contrast of what is above a picture or a gradient, which it cannot measure.
  const isUnmeasured = (node) => node.any.every(({ data }) => UNMEASURED.includes(data?.messageKey));
  const left = incomplete.map((one) => (one.id === "color-contrast" ? { ...one, nodes: one.nodes.filter((node) => !isUnmeasured(node)) } : one));
  const found = [...violations, ...left.filter(({ nodes }) => nodes.length > 0)];
  return found.filter(({ impact }) => !impacts || impacts.includes(impact)).map(({ id, nodes }) => `${id}: ${nodes.map((node) => [node.html, ...node.any.map(({ data }) => data?.messageKey ?? "")].join(" "))}`);
}

/** Axe's findings, pictures that are missing, things that jump, and pages wider than the screen. */
export async function inspect(page, name) {
  await settled(page);
  await page.evaluate(async () => {
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
  });
  // The shop puts a sign in the place of a picture that is missing, once the browser has told it.
  await page.waitForFunction(() => [...document.images].every((image) => image.naturalWidth > 0), null, { timeout: 5000 }).catch(() => {});
  const found = await page.evaluate(() => ({
    broken: [...document.images].filter((image) => image.naturalWidth === 0).map((image) => image.src),
    wide: document.documentElement.scrollWidth > innerWidth
      ? [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80)) : [],
    empty: [...document.querySelectorAll(".toast")].filter((toast) => !toast.textContent).length,
    shift: window.shift,
    twice: [...document.querySelectorAll("[id]")].map((one) => one.id).filter((id, place, all) => all.indexOf(id) !== place),
  }));
  assert.deepEqual(found.twice, [], `${name}: ids that are used twice`);
  const unnamed = (await page.locator("body").ariaSnapshot()).split("\n").filter((line) => /^\s*- (button|link|textbox|combobox|checkbox|spinbutton)(?! ")/.test(line));
  assert.deepEqual(unnamed, [], `${name}: controls without a name`);
  assert.deepEqual(found.broken, [], `${name}: pictures that are missing`);
  assert.equal(found.empty, 0, `${name}: a message without a text`);
  assert.deepEqual(found.wide, [], `${name}: wider than the screen`);
  assert(found.shift < LARGEST_SHIFT, `${name}: layout shift of ${found.shift}`);
  assert.deepEqual(page.faults, [], `${name}: errors in the console`);
  assert.deepEqual(await axeFindings(page), [], `${name}: axe`);
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png`, fullPage: true });
  const shown = process.argv.includes("--readme") && IN_README[name];
  if (shown) await page.screenshot({ path: `${README}${shown}.jpg`, type: "jpeg", quality: 80 });
}

