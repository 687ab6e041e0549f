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

// What is clicked or sent before the page's script is there is done when it is.
for (const [kind, tag] of [["click", "button"], ["submit", "form"]]) document.addEventListener(kind, (event) => {
  const action = event.target.closest?.(`${tag}[data-action]`);
  if (!action || action.closest("[data-bound]")) return;
  event.preventDefault();
  window.early = action;
});
