// What the page costs: bytes of the first view, rows that change in a list of 1,000 jobs, points of a curve of 200,000
// epochs. How long these take is printed, and depends on the machine.

import { ask, check, endless, run, trained, xor } from "./page.mjs";

const most = { first_view_bytes: 150000, rows_made: 100, points: 4000 };
const measured = {};

// Notes figures ({name: value}, in the unit that the name ends in), and holds those that depend on the page alone to
// their bounds.
function figures(found) {
  for (const [name, value] of Object.entries(found)) {
    measured[name] = Math.round(value);
    check(!(name in most) || value <= most[name], `${name} is ${value}, more than ${most[name]}`);
  }
}

async function firstPaint(open) {
  const page = await open();
  await page.goto("/");
  await page.locator("h1").waitFor();
  const seen = await page.evaluate(async () => {
    const paint = await new Promise((resolve) => {
      const found = () => performance.getEntriesByName("first-contentful-paint")[0];
      if (found()) return resolve(found());
      new PerformanceObserver((_, observer) => found() && (observer.disconnect(), resolve(found()))).observe({ type: "paint", buffered: true });
    });
    const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/assets/"))];
    return { paint: paint.startTime, bytes: entries.reduce((sum, entry) => sum + entry.encodedBodySize, 0) };
  });
  await page.context().close();
  figures({ first_view_bytes: seen.bytes, paint_ms: seen.paint });
}

// Runs `work` on the page; {ms, task_ms: its longest task}.
async function timed(page, work) {
  await page.evaluate(() => {
    window.longest = 0;
    window.observer = new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.longest = Math.max(window.longest, entry.duration))));
    window.observer.observe({ type: "longtask" });
  });
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const task_ms = await page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)));
    window.observer.disconnect();
    return window.longest; // 0: none took 50 ms
  });
  return { ms, task_ms };
}

async function thousandJobs(url, open) {
  const began = performance.now();
  const submit = async (count, extra) => {
    const one = async () => {
      for (let i = 0; i < count / 8; i++) await ask(url, "POST", "/v1/jobs", xor({ epochs: 1, tags: ["many"], ...extra }));
    };
    await Promise.all(Array.from({ length: 8 }, one));
  };
  await submit(200, {});
  await ask(url, "POST", "/v1/jobs", xor({ name: "long", ...endless, priority: 100 }));
  await submit(800, { name: "waits" });
  console.log(`1,000 jobs were submitted in ${Math.round((performance.now() - began) / 1000)} s`);
  const page = await open();
  await page.goto("/#/jobs");
  await page.locator("tbody tr").first().waitFor();
  const count = (rows) => page.waitForFunction((n) => document.querySelectorAll("tbody tr").length === n, rows);
  const size = page.locator("select").filter({ hasText: "1,000" });
  const shown = await timed(page, async () => {
    await size.selectOption("1000");
    await count(1000);
  });
  await page.evaluate(() => {
    window.rowsMade = 0;
    const made = (nodes) => [...nodes].filter((node) => node.nodeName === "TR").length;
    window.watch = new MutationObserver((list) => list.forEach((change) => (window.rowsMade += made(change.addedNodes))));
    window.watch.observe(document.body, { childList: true, subtree: true });
  });
  const idle = await timed(page, () => page.waitForTimeout(4000));
  const rows_made = await page.evaluate(() => window.rowsMade);
  figures({ list_ms: shown.ms, list_task_ms: shown.task_ms, idle_task_ms: idle.task_ms, rows_made });
  await page.context().close();
}

async function longCurve(url, open) {
  const epochs = 200000;
  const id = await trained(url, xor({ name: "long-curve", epochs, report_every: 1, optimizer: { type: "sgd", lr: 0.05 } }));
  const page = await open();
  await page.goto("/#/jobs");
  await page.locator("h1").waitFor();
  const points = async () => Number(await page.locator("[data-points]").getAttribute("data-points"));
  const shown = await timed(page, async () => {
    await page.goto(`/#/jobs/${id}`);
    await page.waitForFunction(() => Number(document.querySelector("[data-points]")?.dataset.points) > 0 && document.querySelector(".plot canvas"));
  });
  figures({ points: await points() });
  const plot = page.locator(".plot");
  const box = await plot.boundingBox();
  const middle = box.y + box.height / 2;
  const zoom = await timed(page, async () => {
    await page.mouse.move(box.x + 200, middle);
    await page.mouse.down();
    await page.mouse.move(box.x + 500, middle, { steps: 10 });
    await page.mouse.up();
    await page.waitForFunction(() => Number(document.querySelector("[data-points]").dataset.points) >= 40000);
  });
  const hover = await timed(page, async () => {
    for (let x = 100; x < 700; x += 10) await page.mouse.move(box.x + x, middle);
    await plot.focus();
    for (const key of ["+", "+", "ArrowRight", "ArrowLeft", "-"]) await page.keyboard.press(key);
  });
  const redraw = await page.locator("[data-redraw-ms]").getAttribute("data-redraw-ms");
  console.log(`of ${epochs} epochs ${await points()} points are drawn, the last time in ${redraw} ms`);
  await page.context().close();
  figures({ curve_ms: shown.ms, zoom_task_ms: zoom.task_ms, hover_task_ms: hover.task_ms });
}

run(async ({ url, open }) => {
  await firstPaint(open);
  await longCurve(url, open);
  await thousandJobs(url, open);
  console.log(JSON.stringify(measured));
  console.log("ok: light, also at 1,000 jobs and 200,000 epochs");
});
