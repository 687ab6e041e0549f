// The game servers of the demo: who plays, which commands they have, and what can go wrong. They speak with the store as the
// plugin of a real game server does.

/** Makes an element. Properties that begin with "on" are listeners. */
function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
  return element;
}

const hidden = (text) => h("span", { class: "hidden" }, text);

/** Milliseconds between two looks. */
const PAUSE = 1000;
const POWER = { starting: "Starting", running: "Running", stopped: "Stopped", crashed: "Crashed" };
/** The outcome of a command, as the server knows it. */
const FATES = {
  soon: ["waits its turn", ""],
  kept: ["waits for the player", ""],
  ran: ["ran", "good"],
  told: ["ran, and the store knows", "good"],
  refused: ["the store took it back: it does not run", "bad"],
  lost: ["lost", "bad"],
};

async function ask(body) {
  const response = await fetch("/local/servers.json", body && { method: "POST", body: JSON.stringify(body) });
  return (await response.json()).servers;
}

/** The faults of a server with RCON. */
const SWITCHES = [["Break the next response", "drop"], ["Refuse the password", "refuse"], ["Hang", "hang"], ["Respond late", { late: 3000 }], ["Crash at the next command", "crash"]];

/** Shows the page of the game servers. */
function gameServers() {
  const tabs = h("p", { class: "chips", role: "group", "aria-label": "Server" });
  const panel = h("div", { class: "stack tight" });
  const view = h("div", { class: "wrap stack tight" }, h("h1", {}, "Game servers"),
    h("p", { class: "lead" }, "What is bought here runs here. These servers ask the store every few seconds, as the plugin of a real one does; the last one has an agent and RCON."), tabs, panel);
  let chosen;
  let shown = "";
  const act = async (action) => update(await ask({ server: chosen, act: action }));
  const update = (servers) => {
    const server = servers.find(({ id }) => id === chosen) ?? servers[0];
    chosen = server?.id;
    const text = JSON.stringify([chosen, servers]);
    if (text === shown) return;
    shown = text;
    tabs.replaceChildren(...servers.map(({ id, name, commands }) => h("button", { type: "button", class: "chip", "aria-pressed": String(id === chosen), onclick: () => {
      chosen = id;
      update(servers);
    } }, name, commands.length > 0 && h("span", { class: "badge" }, commands.length, hidden(" commands")))));
    keepingFocus(panel, () => panel.replaceChildren(...(server ? parts(server, act) : [h("p", { class: "soft" }, "This store has no servers.")])));
  };
  const look = async () => {
    try {
      if (!document.hidden || !shown) update(await ask());
    } catch {
      shown = "";
      panel.replaceChildren(h("p", { class: "note" }, "The game servers do not respond."));
    }
    setTimeout(look, PAUSE);
  };
  look();
  const main = document.getElementById("main");
  main.replaceChildren(view);
  main.ariaBusy = "false";
}

/** Changes what is in a box without losing the focus, or what is being typed. */
function keepingFocus(box, change) {
  const { name, value } = document.activeElement ?? {};
  const isInside = box.contains(document.activeElement);
  change();
  if (!isInside || !name) return;
  const control = box.querySelector(`[name="${CSS.escape(name)}"]`);
  if (control?.tagName === "INPUT") control.value = value;
  control?.focus({ preventScroll: true });
}

function parts(server, act) {
  const button = (text, action, pressed) =>
    h("button", { type: "button", name: text, "aria-pressed": pressed === undefined ? null : String(pressed), onclick: () => act(action) }, text);
  const isOff = ["crashed", "stopped"].includes(server.power);
  const isOn = (to) => JSON.stringify(to) === JSON.stringify(server.switch);
  const switches = () => SWITCHES.map(([text, to]) => button(text, { action: "switch", to: isOn(to) ? "none" : to }, isOn(to)));
  const name = h("input", { name: "player", autocomplete: "off", spellcheck: "false", maxlength: 64, "aria-label": "Player", placeholder: "A player's name" });
  const join = (event) => {
    event.preventDefault();
    const player = name.value.trim();
    name.value = "";
    if (player) act({ action: "join", player });
  };
  return [
    h("p", { class: `state ${server.power === "running" && !server.is_silent ? "paid" : isOff ? "failed" : ""}` },
      h("span", { "aria-hidden": "true" }, server.power === "running" && !server.is_silent ? "✓" : isOff ? "✕" : "…"), h("strong", {}, server.is_silent && !isOff ? "Silent" : POWER[server.power])),
    server.note && h("p", { class: "note", role: "status" }, server.note),
    h("div", { class: "columns" },
      h("section", { class: "panel", "aria-labelledby": "players" }, h("h2", { id: "players" }, "Players"),
        h("ul", { class: "players" }, server.players.map((player) => h("li", {}, h("strong", {}, player),
          server.logins.some((login) => login.toLowerCase() === player.toLowerCase()) && button(`/ms auth for ${player}`, { action: "confirm", player }),
          button(`${player} leaves`, { action: "leave", player })))),
        server.players.length === 0 && h("p", { class: "soft" }, "No player is on the server."),
        !isOff && h("form", { class: "join", onsubmit: join }, name, h("button", { name: "join", class: "primary" }, "Join"))),
      h("section", { class: "panel", "aria-labelledby": "trouble" }, h("h2", { id: "trouble" }, "Trouble"),
        h("p", { class: "chips" },
          server.switch ? switches() : isOff ? button("Start again", { action: "start" }) : [
            button("Lose the next commands", { action: "lose", on: !server.loses_next }, server.loses_next),
            button("Go silent", { action: "silence", on: !server.is_silent }, server.is_silent),
            button("Crash", { action: "crash" })]),
        h("p", { class: "soft" }, server.switch ? "The agent writes down what it begins: what has no response is unknown, and the owner decides. A server that has crashed accepts nothing until the switch is off." : isOff ? "What was in its memory is gone. What waits for players is on its disk." : "Lost commands are served again after a minute, unless they may run only once. A crash forgets what ran and was not reported; a silent server hangs until it speaks again."))),
    h("section", { "aria-labelledby": "commands" }, h("h2", { id: "commands" }, "Commands"),
      server.commands.length === 0
        ? h("p", { class: "soft" }, "Nothing yet. Buy something that runs on this server.")
        : h("ol", { class: "commands panel" }, server.commands.map(({ id, player, text, fate, response }) => h("li", {}, h("code", {}, text),
          fate ? h("span", { class: "soft" }, `no. ${id} · ${player} · `, h("strong", { class: FATES[fate]?.[1] }, FATES[fate]?.[0] ?? fate))
            : h("span", { class: "soft" }, response || "no text"))))),
  ].filter(Boolean);
}

gameServers();
