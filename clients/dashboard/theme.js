// theme.js: the theme, "light" or "dark" on <html data-theme>, set before the first paint (a classic script, so that nothing
// flashes): the one that was chosen, which data-chosen marks, or the system's.
{
  const root = document.documentElement;
  let chosen = null;
  try {
    chosen = localStorage.getItem("epochd-theme");
  } catch {
    // a browser without storage follows the system
  }
  root.toggleAttribute("data-chosen", chosen === "light" || chosen === "dark");
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = "chosen" in root.dataset ? chosen : system;
}
