// What the page costs: bytes, first paint, a list of 1,000 jobs, a curve of 200,000 epochs. Figures are printed.

import { ask, check, endless, run, trained, xor } from "./page.mjs";

const most = { first_view_bytes: 150000, paint_ms: 500, list_ms: 4000, list_task_ms: 1500, idle_task_ms: 400, curve_ms: 5000, zoom_task_ms: 1000, hover_task_ms: 400 };
const measured = {};

// Notes the figures of `measure` ({name: value}, in the unit that the name ends in), and holds them to their bounds:
// the best of some tries, because a busy machine only adds, and a page that hangs does so each time.
async function figures(measure) {
  const least = {};
  const within = () => Object.keys(least).every((name) => least[name] <= most[name]);
  for (let i = 0; i < 6 && (i === 0 || !within()); i++)
    for (const [name, value] of Object.entries(await measure())) least[name] = Math.min(least[name] ?? Infinity, Math.round(value));
  Object.assign(measured, least);
  check(within(), `${JSON.stringify(least)} is more than ${JSON.stringify(most)}`);
}

async function firstPaint(open) {
  await figures(async () => {
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
    return { first_view_bytes: seen.bytes, paint_ms: seen.paint };
  });
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
  await figures(async () => {
    await size.selectOption("50");
    await count(50);
    const shown = await timed(page, async () => {
      await size.selectOption("1000");
      await count(1000);
    });
    return { list_ms: shown.ms, list_task_ms: shown.task_ms };
  });
  await figures(async () => ({ idle_task_ms: (await timed(page, () => page.waitForTimeout(4000))).task_ms }));
  await page.context().close();
}

async function longCurve(url, open) {
  const epochs = 200000;
  const id = await trained(url, xor({ name: "long-curve", epochs, report_every: 1, optimizer: { type: "sgd", lr: 0.05 } }));
  await figures(async () => {
    const page = await open();
    await page.goto("/#/jobs");
    await page.locator("h1").waitFor();
    const shown = await timed(page, async () => {
      await page.goto(`/#/jobs/${id}`);
      await page.waitForFunction(() => Number(document.querySelector("[data-points]")?.dataset.points) > 0 && document.querySelector(".plot canvas"));
    });
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
    console.log(`of ${epochs} epochs ${await page.locator("[data-points]").getAttribute("data-points")} points are drawn, the last time in ${redraw} ms`);
    await page.context().close();
    return { curve_ms: shown.ms, zoom_task_ms: zoom.task_ms, hover_task_ms: hover.task_ms };
  });
}

run(async ({ url, open }) => {
  await firstPaint(open);
  await longCurve(url, open);
  await thousandJobs(url, open);
  console.log(JSON.stringify(measured));
  console.log("ok: light, quick, and responsive at 1,000 jobs and 200,000 epochs");
});
