// What the local server adds to the shop's pages: players to log in as, codes to try, and the way to the game servers.

const { console, players, coupon, gift, referral, refused } = await (await fetch("/local/demo.json")).json();

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Adds a part once to the box that a selector finds. */
function addTo(selector, name, make) {
  const box = document.querySelector(selector);
  if (box && !box.querySelector(`.${name}`)) box.append(element("div", { className: `demo ${name}` }, ...make(box)));
}

const chip = (box) => (name) => {
  const choose = () => {
    box.querySelector("[name=username]").value = name;
    box.querySelector("form").requestSubmit();
  };
  return element("button", { type: "button", className: "chip", onclick: choose }, name);
};

const code = ([text, about]) => element("li", {}, element("code", { className: "upper" }, text), ` ${about}`);

function show() {
  addTo("#footer", "demo-note", () => [
    ...(console ? [element("a", { href: "/console" }, "Game servers")] : []),
    element("p", { className: "soft" }, "This shop is shown by the local server, with a stand-in for the payment provider. Nothing here costs anything."),
  ]);
  const login = document.querySelector("#login-panel");
  if (login?.querySelector("form")) addTo("#login-panel", "demo-players", (box) => [
    element("p", { className: "soft" }, "Players of this sample store:"), element("p", { className: "chips" }, ...players.map(chip(box))),
  ]);
  else if (console) addTo("#login-panel", "demo-servers", () => [
    element("p", { className: "soft" }, "In this demo, players join on the page of the ", element("a", { href: "/console", target: "_blank" }, "game servers"), "."),
  ]);
  addTo("#codes-panel", "demo-codes", () => {
    const all = [[coupon, "a coupon"], [gift, "a gift card"], [referral, "a referral code"], ...refused.map((one) => [one.code, `refused: ${one.reason}`])];
    return [element("details", {}, element("summary", {}, "Codes to try"), element("ul", { className: "soft" }, ...all.filter(([text]) => text).map(code)))];
  });
}

addEventListener("shown", show);
show();
