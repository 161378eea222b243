// theme.js: the chosen theme, set before the first paint (a classic script, so that nothing flashes).
// "light" or "dark" on <html data-theme>; without one the system's preference counts.
try {
  const chosen = localStorage.getItem("epochd-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // a browser without storage follows the system
}
