// main.js: the hash router, the navigation and the theme. Start reading here.
//
// The page has no framework and no build step beyond embedding: plain ES modules below /assets/, under
// "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:",
// and may lie below any path: its addresses are relative.
// So no inline script, no style attribute in HTML (element.style.width = "…" by CSSOM is fine), no
// innerHTML with text from the daemon.
//
// A view is a module in views/, in the room of what it shows, that exports
//   title                          text of the tab, announced on navigation
//   mount(root, params, signal)    builds itself into root (empty, inside <main>); may be async. params is
//                                  {id, query}: id of #/jobs/ID (or null), query a URLSearchParams of what
//                                  follows "?" in the hash. signal aborts when the user leaves: give it to
//                                  every poll, fetch, stream and addEventListener; nothing else to clean up.
// Its first child is an <h1> (focus goes there on navigation). A mount that throws shows the error.
// A change of the query alone mounts the view afresh; to note state in the URL without that, use
// history.replaceState.
//
// Data (api.js)
//   getJson(path, {signal})                      one response
//   sendJson(method, path, body, {signal})       POST, PATCH, PUT, DELETE with JSON
//   poll(path, onData, {signal, interval, onError})  at once and every interval ms (or interval(data)), by
//                                                ETag: onData only when something changed; waits longer
//                                                after errors, rests while the page is hidden. Returns
//                                                {refresh(), move(path)}
//   stream(path, onEvent, {signal, after, follow})   a job's events, over a connection that all tabs share (streams.js), while the page
//                                                is seen; resolves at its end
//   upload(path, file, {signal, onProgress}), download(path, name, {signal})
//   ApiError {status, title, detail, errors: [{pointer, detail}]}; its message is for the user.
//   A 401 opens the dialog for the token and repeats the request.
//
// Nodes (dom.js): h(tag, attrs, …children), s() for SVG, replace(element, …), setText(element, text),
//   keyed(parent, items, key, create, update) for lists that are polled.
// Words (format.js): number, integer, seconds, duration, bytes, percent, age, dateTime, value ("NaN" -> NaN),
//   stateWord, and metricNames (name and unit of each metric).
// Charts (chart.js): createChart(root, {title, x: {label, log, whole}, y, height}) gives
//   {setData([{label, x: [], y: [], dash, points, faint}], [{x, interval, word}]), setLog(axis, on), setSmoothing(0…0.99), resetZoom(),
//   destroy()}: curves may each have their own x. It brings its own summary for screen readers, a table on
//   demand, drag and keyboard zoom, resize, theme. Pass signal in the options and it destroys itself.
//   bars.js, rows.js and parallel.js draw the other pictures, cells.js and trials.js have what they show.
// Shell (shell.js): announce(text) to the live region, setTitle(text), navigate(hash), notify(…nodes) above the next view.
// Files (drop.js): takeFiles(onFiles, signal) gets what is dropped anywhere; without a taker Data uploads it.
//
// Classes (style.css): .card (a section with a border) and .grid (cards side by side); .table (a wrapper
//   that scrolls) around <table>, td.number (tabular digits, right), table.stack (rows become cards on a
//   phone; give each td a data-label); .button, .button.primary, .button.quiet, .button.danger; .field
//   (label, control, .hint, .error) and .fields; .toolbar (a row of controls); .badge[data-state=running…];
//   .meter (a <progress>); .facts (a <dl> of name and value); .muted; .notice, .notice.error; .code (a <pre>);
//   .hidden (for screen readers only); .empty (nothing to show yet).
// Colours are custom properties: --text, --muted, --line, --surface, --raised, --accent, --good, --bad,
//   --warn, and --series-1 … --series-8 for charts.

import { h, replace } from "./dom.js";
import { watchDrops } from "./drop.js";
import { noticeLeft, setTitle } from "./shell.js";

const views = {
  jobs: () => import("./views/jobs/jobs.js"),
  job: () => import("./views/jobs/job.js"),
  datasets: () => import("./views/data/datasets.js"),
  dataset: () => import("./views/data/dataset.js"),
  sweeps: () => import("./views/sweeps/sweeps.js"),
  sweep: () => import("./views/sweeps/sweep.js"),
  models: () => import("./views/models/models.js"),
  model: () => import("./views/models/model.js"),
  submit: () => import("./views/submit/submit.js"),
  compare: () => import("./views/jobs/compare.js"),
  studies: () => import("./views/studies/studies.js"),
  study: () => import("./views/studies/study.js"),
  devices: () => import("./views/devices/devices.js"),
};

const main = document.getElementById("main");
let leaving = new AbortController();
let first = true;

const ofOne = { jobs: "job", datasets: "dataset", sweeps: "sweep", models: "model", studies: "study" }; // the view of one of a list

// A word as it is where it was not encoded well: nothing is called so.
function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

// "#/jobs/ID?x=y" -> {name: "job", id: "ID", query}.
function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [section, id] = path.split("/");
  const name = (id && Object.hasOwn(ofOne, section) && ofOne[section]) || section || "jobs";
  return { name, id: id ? decoded(id) : null, query: new URLSearchParams(query ?? "") };
}

async function route() {
  if (location.hash === "#main") return;
  const { name, id, query } = parse(location.hash), known = Object.hasOwn(views, name);
  leaving.abort();
  leaving = new AbortController();
  noticeLeft();
  const { signal } = leaving;
  mark(Object.keys(ofOne).find((list) => ofOne[list] === name) ?? name);
  const root = h("div", { class: `view view-${name}` });
  try {
    if (!known) throw new Error(`Page "${name}" not found.`);
    const view = await views[name]();
    if (signal.aborted) return;
    setTitle(view.title);
    replace(main, root);
    scrollTo(0, 0);
    await view.mount(root, { id, query }, signal);
  } catch (error) {
    if (signal.aborted) return;
    replace(main, root);
    const words = known ? "Something went wrong" : "Page not found";
    setTitle(words);
    replace(root, h("h1", null, words), h("p", { class: "notice error", role: "alert" }, error.message));
  }
  if (!signal.aborted) focus(root);
}

// Moves the focus to the new view; at the first load the browser decides.
function focus(root) {
  if (!first) {
    const heading = root.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }
  first = false;
}

function mark(name) {
  for (const link of document.querySelectorAll(".nav a")) {
    const here = link.getAttribute("href") === `#/${name}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// Two themes; the button names the other one. Until one is chosen the page follows the system.
function theme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const other = () => (root.dataset.theme === "dark" ? "light" : "dark");
  const show = () => {
    button.textContent = other() === "dark" ? "Dark theme" : "Light theme";
    dispatchEvent(new Event("epochd-theme"));
  };
  button.addEventListener("click", () => {
    root.dataset.theme = other();
    root.toggleAttribute("data-chosen", true);
    try {
      localStorage.setItem("epochd-theme", root.dataset.theme);
    } catch {
      // without storage the choice lasts as long as the page
    }
    show();
  });
  dark.addEventListener("change", () => {
    if (!("chosen" in root.dataset)) root.dataset.theme = dark.matches ? "dark" : "light";
    show();
  });
  show();
}

// A link to "#main" must not become a route.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

theme();
watchDrops();
addEventListener("hashchange", route);
route();
