// plots.mjs: every plot of a job on its page, light, dark and on a phone, without a fault of accessibility; the picture
// that a network draws while it trains, and its time-lapse.
// Usage: plots.mjs URL SCREENSHOTS

import { accessibilityFaults, ask, check, colours, overhang, run, squaresPut, themeSet, trained } from "./page.mjs";

const dense = (outputs, hidden = 8) => ({ layers: [{ type: "linear", out_features: hidden }, { type: "tanh" }, { type: "linear", out_features: outputs }] });
const common = { batch_size: 16, epochs: 12, optimizer: { type: "adam", lr: 0.03 } };

async function tablePut(url, name, lines) {
  const put = await fetch(`${url}/v1/datasets/${name}?header=true`, { method: "PUT", headers: { "Content-Type": "text/csv" }, body: `${lines.join("\n")}\n` });
  check(put.ok, `${name} was refused: ${await put.text()}`);
}

// Rows of 26 kinds, some of which lie close together.
const alphabet = Array.from({ length: 26 }, (_, i) => `${String.fromCharCode(97 + i)}-kind ${i}`);
const kinds = ["width,<b>height</b>,colour,kind", ...Array.from({ length: 780 }, (_, i) => {
  const kind = i % 26;
  return [(5 * Math.sin(kind * 1.3) + ((i * 7919) % 100) / 50).toFixed(3), (5 * Math.cos(kind * 2.1) + ((i * 104729) % 100) / 50).toFixed(3), ["red", "green", ""][i % 3], alphabet[kind]].join(",");
})];

await run(async ({ url, shots, open }) => {
  await tablePut(url, "kinds", kinds);
  await squaresPut(url);
  const jobs = {
    binary: await trained(url, { ...common, name: "disc", data: { generator: "disc", rows: 300 }, loss: "bce_with_logits", model: dense(1), timelapse_every: 1 }),
    kinds: await trained(url, { ...common, name: "26 kinds", data: { dataset: "kinds", target: "kind", test: 0.3 }, loss: "cross_entropy", model: dense(26) }),
    plane: await trained(url, { ...common, name: "plane", data: { generator: "disc", rows: 200 }, loss: "mse", model: dense(1) }),
    squares: await trained(url, { ...common, name: "squares", data: { dataset: "squares" }, loss: "cross_entropy", model: { layers: [{ type: "flatten" }, { type: "linear", out_features: 6 }, { type: "relu" }, { type: "linear", out_features: 2 }] } }),
  };
  const faults = [];
  let count = 0;
  for (const width of [390, 1280]) {
    const page = await open({ width, height: 844 });
    for (const [name, job] of Object.entries(jobs)) {
      await page.goto(`/#/jobs/${job}`);
      await page.getByRole("button", { name: "Show plots" }).click();
      await page.locator("button[data-plot][aria-pressed=true]").waitFor();
      const tabs = await page.locator("button[data-plot]").evaluateAll((buttons) => buttons.map(({ dataset }) => dataset.plot));
      for (const plot of tabs) {
        await page.locator(`button[data-plot=${plot}]`).click();
        await page.locator(`button[data-plot=${plot}][aria-pressed=true]`).waitFor();
        const over = await overhang(page);
        if (over > 0) faults.push(`${name}, ${plot} at ${width} px hangs ${over} px over the edge`);
        for (const theme of width === 390 ? ["dark", "light"] : ["light"]) {
          await themeSet(page, theme);
          await page.locator(`img[data-plot=${plot}]`).evaluate((picture) => picture.hidden || picture.decode());
          await page.getByLabel("Plots", { exact: true }).screenshot({ path: `${shots}/${name}-${plot}-${theme}-${width}.png` });
          count++;
          if (width !== 390) continue; // the same nodes
          for (const { id, help, nodes } of await accessibilityFaults(page, "section[aria-label=Plots]", theme === "dark" ? colours : {})) faults.push(`${name}, ${plot}, ${theme}, ${width} px: ${id} (${help}): ${nodes.slice(0, 3).join(" | ")}`);
        }
      }
    }
    await page.close();
  }
  for (const fault of faults) console.log(`fault: ${fault}`);
  check(faults.length === 0, `${faults.length} faults`);
  console.log(`ok: ${count} pictures of plots are in ${shots}; none has a fault`);

  // A threshold goes on to predictions.
  const page = await open({ expected: [/repeats=7&/] }); // that one is refused, below
  await page.goto(`/#/jobs/${jobs.binary}`);
  await page.getByRole("button", { name: "Show plots" }).click();
  await page.getByRole("button", { name: "Precision and recall" }).click();
  await page.getByText(/^(logit|probability) of “1” [\d.−-]+: precision /).waitFor();
  await page.getByRole("button", { name: "Predict with it" }).click();
  await page.getByText(/^Class 1 from a probability of/).waitFor();
  await page.locator("#predict-json").fill("[0.5, 0.5]");
  const [asked] = await Promise.all([page.waitForRequest((request) => request.url().endsWith("/predict") && request.postDataJSON().threshold > 0), page.getByRole("button", { name: "Predict", exact: true }).click()]);
  check((await (await asked.response()).json()).threshold > 0, "no threshold decides");
  console.log("ok: the threshold of a slider decides in predictions");

  // By the keyboard alone: the field keeps the focus, and what is out of range is not asked for.
  await page.getByRole("button", { name: "Importance" }).click();
  const shuffles = page.getByLabel("Shuffles of each column");
  const repeats = []; // that the page asks for
  page.on("request", (request) => {
    if (request.url().includes("/plots/importance?")) repeats.push(new URL(request.url()).searchParams.get("repeats"));
  });
  await shuffles.focus();
  for (const [typed, asked] of [["0", null], ["1001", null], ["2.5", null], ["", null], ["1", "1"], ["1000", "1000"]]) {
    await page.keyboard.press("Control+A");
    await page.keyboard.press("Delete");
    await page.keyboard.type(typed);
    const drawn = asked && page.waitForResponse((response) => response.url().includes("/plots/importance?") && new URL(response.url()).searchParams.get("repeats") === asked);
    await page.keyboard.press("Enter");
    check(await shuffles.evaluate((field) => field === document.activeElement && field.checkValidity()) === Boolean(asked), `"${typed}" is ${asked ? "refused" : "taken"}`);
    if (asked) check((await drawn).ok(), `${asked} shuffles are refused`);
    if (asked) await page.getByText(`The importances are those of ${asked === "1" ? "1 shuffle" : "1,000 shuffles"}.`).waitFor({ state: "attached" });
  }
  check(repeats.join(" ") === "1 1000", `"${repeats.join('", "')}" shuffles are asked for`);
  // What could not be drawn is not saved either.
  await page.route(/repeats=7&/, (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"title": "full", "status": 503, "detail": "no worker is free"}' }));
  await shuffles.fill("7");
  await shuffles.press("Enter");
  await page.getByText("no worker is free").waitFor();
  const [shuffled] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download SVG" }).click()]);
  check(shuffled.url().startsWith("blob:") && shuffled.suggestedFilename() === "importance.svg", "the picture is not saved");
  check(repeats.join(" ") === "1 1000 7 1000", `the picture of ${repeats.at(-1)} shuffles is saved`);
  console.log("ok: importances by as many shuffles as one likes");

  // The picture has the page's theme, not the system's.
  const isDark = () => page.locator("img[data-plot=importance]").getAttribute("src").then((src) => /0d1117/.test(src));
  check(!(await isDark()), "a picture is dark on a light page");
  await page.getByRole("button", { name: "Dark theme" }).click();
  await page.waitForFunction(() => /0d1117/.test(document.querySelector("img[data-plot=importance]").src));
  await page.getByRole("button", { name: "Light theme" }).click();
  await page.waitForFunction(() => !/0d1117/.test(document.querySelector("img[data-plot=importance]").src));
  console.log("ok: a plot has the theme of the page");

  // A film that one can stop.
  await page.getByRole("button", { name: "Time-lapse" }).click();
  const moment = page.getByLabel("Moment", { exact: true });
  await moment.waitFor();
  const picture = page.locator("img[data-plot=timelapse]");
  const last = await picture.getAttribute("src");
  await moment.fill("0");
  await page.getByText("after epoch 0", { exact: true }).waitFor();
  await page.waitForFunction((before) => document.querySelector("img[data-plot=timelapse]").src !== before, last);
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => Number(document.querySelector("#plot-moment").value) > 1);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download animated PNG" }).click()]);
  check(file.suggestedFilename() === "timelapse.png", `the file is ${file.suggestedFilename()}`);
  console.log("ok: the time-lapse by a slider, and as a file");

  // The picture forms before one's eyes.
  const { id } = await ask(url, "POST", "/v1/jobs", { ...common, epochs: 200000, timelapse_every: 1000, data: { generator: "disc", rows: 2000 }, loss: "bce_with_logits", model: dense(1) });
  await page.goto(`/#/jobs/${id}`);
  await page.getByRole("button", { name: "Show plots" }).click();
  const live = page.locator("img[data-plot=boundary]");
  await live.waitFor();
  for (let i = 0; i < 2; i++) {
    const before = await live.getAttribute("src");
    await page.waitForFunction((seen) => document.querySelector("img[data-plot=boundary]").src !== seen, before);
  }
  await ask(url, "POST", `/v1/jobs/${id}/cancel`);
  console.log("ok: the picture of a training is drawn again and again");
});
