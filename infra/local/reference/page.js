"use strict";

const byId = (id) => document.getElementById(id);
const player = byId("player");
const reference = byId("reference");
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

/** Marks the calls that the documented interface, version 3.8.7, does not have. */
const beyondMark = () => ({
  wrapComponents: {
    OperationSummary: (Original, { React, specSelectors }) => (props) => {
      const summary = React.createElement(Original, props);
      const [path, method] = ["path", "method"].map((name) => props.operationProps.get(name));
      // The viewer fills `op` only when the call is opened, so this reads the document itself.
      if (!specSelectors.specJson().getIn(["paths", path, method, "x-beyond-contract"])) return summary;
      const mark = React.createElement("p", { className: "beyond" }, "Beyond the documented interface");
      return React.createElement("div", {}, summary, mark);
    },
  },
});

/** What the viewer leaves without a name for assistive technology, and controls that it puts into another one. */
function repair() {
  const unnamed = (selector) => [...reference.querySelectorAll(selector)].filter((one) => !one.getAttribute("aria-label") && ![...(one.labels ?? [])].some((label) => label.firstChild?.textContent.trim() && label.firstChild !== one));
  const parameter = (control) => control.closest("tr[data-param-name]")?.dataset.paramName;
  for (const select of unnamed("select")) select.setAttribute("aria-label", parameter(select) ?? (select.id === "servers" ? "Server" : select.closest("[class*=example]") ? "Example" : "Media type"));
  for (const field of unnamed("textarea, input")) field.setAttribute("aria-label", parameter(field) || field.placeholder || "Request body");
  for (const button of unnamed("button")) if (!button.textContent.trim()) button.setAttribute("aria-label", "Copy");
  for (const text of reference.querySelectorAll("pre.microlight:not([tabindex])")) text.tabIndex = 0;
  for (const table of reference.querySelectorAll("table[role=region]")) table.removeAttribute("role");
  // The path of a call is a link in the button that opens it.
  for (const link of reference.querySelectorAll(".opblock-summary-control a[href]")) link.removeAttribute("href");
  // The heading of a group opens and closes it: the button in it does the same.
  for (const heading of reference.querySelectorAll(".opblock-tag[tabindex], .opblock-tag[role]")) {
    heading.removeAttribute("tabindex");
    heading.removeAttribute("role");
  }
}

/** What a call of the walk returns is at hand for the next one. */
function note(response, ui) {
  const path = new URL(response.url).pathname;
  const body = response.obj ?? response.body;
  if (response.status !== 200) return response;
  if (path.endsWith("/auth/username") && typeof body === "string") {
    player.add(new Option("the login of this page", body), 0);
    player.selectedIndex = 0;
    ui().preauthorizeApiKey("bearerAuth", body);
  }
  if (path.endsWith("/payments/create") && body?.success) {
    byId("pay").href = body.data.url;
    byId("order").textContent = body.order_id;
    for (const id of ["pay", "order"]) byId(id).hidden = false;
  }
  return response;
}

async function start() {
  const tokens = await (await fetch("/reference/tokens.json")).json();
  for (const { name, token } of [...tokens, { name: "anonymous (no token)", token: "" }]) {
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
    plugins: [beyondMark],
    responseInterceptor: (response) => note(response, () => ui),
    // The usual validator is a service on the internet.
    validatorUrl: null,
    onComplete: choose,
  });
  function choose() {
    if (player.value) ui.preauthorizeApiKey("bearerAuth", player.value);
    else ui.authActions.logout(["bearerAuth"]);
  }
  player.addEventListener("change", choose);
  new MutationObserver(repair).observe(reference, { childList: true, subtree: true });
  for (const step of document.querySelectorAll("[data-operation]")) step.addEventListener("click", () => show(step.dataset.operation));
}

/** Opens a call and stands at it. */
function show(operation) {
  const call = reference.querySelector(`.opblock[id$="-${operation}"]`);
  const control = call?.querySelector(".opblock-summary-control");
  if (!control) return;
  if (control.getAttribute("aria-expanded") !== "true") control.click();
  call.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  control.focus({ preventScroll: true });
}

start().catch((error) => {
  reference.textContent = `The reference cannot be shown: ${error.message}`;
});
