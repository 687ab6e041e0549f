// Applies the chosen theme before the first paint; without a choice the system decides.
const chosen = localStorage.getItem("theme");
if (chosen) document.documentElement.dataset.theme = chosen;
