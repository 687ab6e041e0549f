// Lighthouse on the local server: node .ci/browser/lighthouse.mjs, after `cargo build`, with nothing else running. Three runs a page, whose
// medians count. It downloads Lighthouse with npm, and needs Chromium (CHROME_PATH says which). Not a step of `.ci/run`: its figures are times.

import { execFileSync } from "node:child_process";
import { start } from "./server.mjs";

const LIGHTHOUSE = "lighthouse@12.8.2";
const LEAST = { performance: 95, accessibility: 100, "best-practices": 100, seo: 95 };
/** A cart is not for search engines. */
const PAGES = { "/": [], "/category/crates": [], "/item/201": [], "/cart": ["seo"] };
const RUNS = 3;

/** The scores of a page in percent, by category. */
function scores(url) {
  const options = ["--quiet", "--output=json", `--only-categories=${Object.keys(LEAST)}`, "--chrome-flags=--headless=new --no-sandbox"];
  const environment = { CHROME_PATH: "/usr/bin/chromium", ...process.env };
  const report = execFileSync("npx", ["--yes", LIGHTHOUSE, url, ...options], { env: environment, maxBuffer: 2 ** 27, stdio: ["ignore", "pipe", "inherit"] });
  return Object.fromEntries(Object.entries(JSON.parse(report).categories).map(([name, { score }]) => [name, Math.round(score * 100)]));
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const server = await start("--port", "0");
try {
  for (const [page, leftOut] of Object.entries(PAGES)) {
    const runs = Array.from({ length: RUNS }, () => scores(server.ready.shop + page));
    const wanted = Object.entries(LEAST).filter(([name]) => !leftOut.includes(name));
    const found = wanted.map(([name, least]) => [name, median(runs.map((run) => run[name])), least]);
    console.log(`${page}: ${found.map(([name, score]) => `${name} ${score}`).join(", ")}`);
    for (const [name, score, least] of found) if (score < least) {
      console.error(`${page}: ${name} is ${score}, at least ${least} is wanted`);
      process.exitCode = 1;
    }
  }
} finally {
  await server.stop();
}
