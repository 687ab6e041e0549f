// Before the first paint: the chosen theme (without a choice the system decides), and whether someone is logged in. A browser that keeps
// nothing says so on the page.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  if (localStorage.getItem("token")) document.documentElement.dataset.session = "";
  localStorage.setItem("kept", "");
  localStorage.removeItem("kept");
} catch {
  document.documentElement.dataset.forgets = "";
}

// A script that is not there, or fails before the page works: the page says so.
for (const kind of ["error", "unhandledrejection"]) addEventListener(kind, ({ target }) => {
  const { dataset } = document.documentElement;
  if ((target === window || target.tagName === "SCRIPT") && !("ready" in dataset)) dataset.broken = "";
}, true);

// What is clicked or sent before the page's script is there is done when it is.
for (const [kind, tag] of [["click", "button"], ["submit", "form"]]) document.addEventListener(kind, (event) => {
  const action = event.target.closest?.(`${tag}[data-action]`);
  if (!action || action.closest("[data-bound]")) return;
  event.preventDefault();
  window.early = action;
});
