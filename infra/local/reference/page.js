"use strict";

const player = document.getElementById("player");
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

async function start() {
  const tokens = await (await fetch("/reference/tokens.json")).json();
  for (const { name, token } of [...tokens, { name: "nobody (no token)", token: "" }]) {
    player.add(new Option(name, token));
  }
  const ui = SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#reference",
    deepLinking: true,
    filter: true,
    tryItOutEnabled: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    // The usual validator is a service on the internet.
    validatorUrl: null,
    onComplete: choose,
  });
  function choose() {
    if (player.value) ui.preauthorizeApiKey("bearerAuth", player.value);
    else ui.authActions.logout(["bearerAuth"]);
  }
  player.addEventListener("change", choose);
}

start().catch((error) => {
  document.getElementById("reference").textContent = `The reference cannot be shown: ${error.message}`;
});
