// Two clients of RCON, driven by test.py: prints their responses as a line of JSON each.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Rcon } = require("rcon-client");
const { default: Srcds } = require("rcon-srcds");
const [port, password, ...commands] = process.argv.slice(2);

const first = await Rcon.connect({ host: "127.0.0.1", port: Number(port), password });
const responses = [];
for (const command of commands) responses.push(await first.send(command));
await first.end();
console.log(JSON.stringify({ client: "rcon-client", responses }));

const second = new Srcds({ host: "127.0.0.1", port: Number(port), encoding: "utf8" });
await second.authenticate(password);
const others = [];
for (const command of commands) others.push(await second.execute(command));
await second.disconnect();
console.log(JSON.stringify({ client: "rcon-srcds", responses: others }));

for (const wrong of [
  () => Rcon.connect({ host: "127.0.0.1", port: Number(port), password: "wrong" }),
  () => new Srcds({ host: "127.0.0.1", port: Number(port) }).authenticate("wrong"),
]) {
  const refused = await wrong().then(() => false, () => true);
  if (!refused) throw new Error("a wrong password was accepted");
}
