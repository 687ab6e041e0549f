// The local server as a process, for the browser tests.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const SERVER = new URL("../../target/debug/local", import.meta.url).pathname;

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
