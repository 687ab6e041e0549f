// The local server as a process, for the browser tests.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const SERVER = new URL("../../target/debug/storefront", import.meta.url).pathname;
const STORE = new URL("../../infra/sample-store", import.meta.url).pathname;
const COPIES = new URL("../../target/browser/stores/", import.meta.url).pathname;

/** Starts the server and waits for its ready line. */
export async function start(...options) {
  const child = spawn(SERVER, ["--json", "--quiet", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const { value, done } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  if (done) throw new Error("the server did not start");
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { ready: JSON.parse(value), stop };
}

/** Starts a server of its own for the sample store with changes in store.yaml: of each, what it was and what it is; and with further files. */
export async function startWith(changes, files = {}) {
  const copy = COPIES + [...Object.values(changes), ...Object.keys(files)].join().replaceAll(/\W+/g, "-");
  // What an earlier run has left is of its own time.
  rmSync(copy, { recursive: true, force: true });
  cpSync(STORE, copy, { recursive: true });
  let text = readFileSync(`${STORE}/store.yaml`, "utf8");
  for (const [was, is] of Object.entries(changes)) {
    assert(text.includes(was), `store.yaml: ${was}`);
    text = text.replace(was, is);
  }
  for (const [path, content] of Object.entries({ ...files, "store.yaml": text })) writeFileSync(`${copy}/${path}`, content);
  return start("--port", "0", "--store", copy);
}
