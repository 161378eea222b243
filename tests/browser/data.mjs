// From a file to an answer, in the page: dropped, looked at, trained on, asked.

import { readFileSync } from "node:fs";

import { peoplePut, accessibilityFaults, ask, begun, check, drop, ended, endless, peopleCsv, powerPut, run, squaresPut, trained, xor } from "./page.mjs";

async function dropped({ page, url }) {
  await page.goto("/");
  await page.getByRole("link", { name: "Data", exact: true }).click();
  await page.getByText("Drop a table, pictures or a series here").waitFor();
  await drop(page, "wrong.csv", "a,b\n1,inf\n2,3\n");
  await page.locator(".upload-said.bad").waitFor();
  const said = await page.locator(".upload-said.bad").textContent();
  check(/inf|finite/.test(said) && /1|2/.test(said), `a bad file is told of as ${said}`);
  check((await fetch(`${url}/v1/datasets/wrong`)).status === 404, "a bad file was stored");
  await page.fill("#upload-name", ""); // its name is that of the next file
  await drop(page, "Our people.csv", peopleCsv);
  await page.waitForURL(/#\/datasets\/Our-people$/);
  await page.goto("/#/datasets");
  await page.getByRole("link", { name: "Our-people" }).waitFor();
  await page.fill("#upload-name", "");
  await drop(page, "Our people.csv", peopleCsv);
  await page.waitForURL(/#\/datasets\/Our-people$/);
  const { data } = await ask(url, "GET", "/v1/datasets");
  check(data.map(({ name }) => name).join() === "Our-people", `the same file twice is ${data.map(({ name }) => name)}`);
  console.log("ok: a dropped file is a dataset, a wrong one is not, and the same one stays one");
}

// A file is read as the user says, where the daemon finds out otherwise.
async function readAs({ page, url }) {
  await page.goto("/#/datasets");
  await page.fill("#upload-name", "as-rows");
  await page.getByText("Reading options").click();
  await page.getByLabel("First line").selectOption("false");
  await page.getByLabel("Between cells").fill("semicolon");
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `the options of an upload: ${JSON.stringify(faults)}`);
  await drop(page, "rows.csv", `1;2\n${Array.from({ length: 20 }, (_, i) => `${i};${i % 3}`).join("\n")}\n`);
  await page.waitForURL(/#\/datasets\/as-rows$/);
  check((await ask(url, "GET", "/v1/datasets/as-rows")).rows === 21, "the first line was taken for names");
  await page.goto("/#/datasets");
  await page.getByText("Reading options").click();
  await page.getByLabel("It is", { exact: true }).selectOption("train/x");
  check(await page.getByLabel("JSON: the table").isHidden(), "a part has options that it does not take");
  await page.getByLabel("It is", { exact: true }).selectOption("");
  await page.fill("#upload-name", "");
  await drop(page, "two.json", JSON.stringify({ first: [{ a: 1, b: 2 }, { a: 2, b: 3 }], second: [{ a: 1, b: 2 }, { a: 2, b: 3 }, { a: 3, b: 5 }, { a: 4, b: 8 }] }));
  await page.locator(".upload-said.bad").filter({ hasText: "table" }).waitFor();
  check(await page.getByLabel("JSON: the table").isVisible(), "what may be said of the file is folded up");
  await page.getByLabel("JSON: the table").fill("second");
  await page.getByRole("button", { name: "Upload" }).click();
  await page.waitForURL(/#\/datasets\/two$/);
  check((await ask(url, "GET", "/v1/datasets/two")).rows === 4, "the other table was taken");
  await page.getByRole("combobox", { name: "Type of a" }).selectOption("category");
  const [submitted] = await Promise.all([page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/v1/jobs")), page.click("#train")]);
  check(JSON.stringify(submitted.postDataJSON().data) === '{"dataset":"two","target":"b","columns":{"a":{"type":"category"}}}', submitted.postData());
  await page.waitForURL(/#\/jobs\/job_/); // else the job opens above what comes next
  console.log("ok: header, delimiter, table and types are as the user says");
}

// Two readings of a file are a question, whose answer is given where it was refused; what was found is shown with its
// evidence, and read another way from there.
async function dialects({ page, url }) {
  const puts = [];
  page.on("request", (request) => ["PUT", "POST"].includes(request.method()) && puts.push(new URL(request.url()).search));
  await page.goto("/#/datasets");
  await page.fill("#upload-name", "");
  const lines = Array.from({ length: 60 }, (_, i) => `t${i % 3};${i + 1}.234;${i % 30 ? i : "unknown"}`);
  await drop(page, "prices.csv", `town;price;age\n${lines.join("\n")}\n`);
  await page.locator(".upload-said.bad").filter({ hasText: "may be a fraction or a thousand" }).waitFor();
  const asked = page.locator("#upload [aria-invalid=true]");
  check((await asked.evaluateAll((controls) => controls.map(({ id }) => id).join())) === "upload-decimal,upload-thousands" && (await asked.first().isVisible()), "the choice is not offered");
  await page.getByLabel("Decimal mark").selectOption(",");
  await page.getByLabel("Words for missing cells").fill(",");
  await page.getByRole("button", { name: "Upload" }).click();
  await page.waitForURL(/#\/datasets\/prices$/);
  check(puts.at(-1) === "?decimal=%2C&missing=&replace=false&file=prices.csv", `sent ${puts.at(-1)}`);
  const shown = page.getByRole("region", { name: "Detected options" });
  await shown.getByText("3 cells in 61 of").waitFor();
  check(/Decimal markcomma: 1,5/.test(await shown.textContent()) && !/1\/2\/2024/.test(await shown.textContent()), await shown.textContent());
  check(/unknown/.test(await page.locator(".column-note").textContent()) && /age.*unknown/.test(await page.locator(".notice:not(.warning)", { hasText: "unknown" }).textContent()), "a note is not shown");
  await page.getByText("Read it differently").click();
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `how a dataset was read: ${JSON.stringify(faults)}`);
  check((await page.getByLabel("Decimal mark").inputValue()) === ",", "what was chosen is forgotten");
  await page.getByLabel("Decimal mark").selectOption(".");
  await page.getByLabel("Words for missing cells").fill("unknown");
  await page.getByRole("button", { name: "Re-read the file" }).click();
  await shown.getByText("point: 1.5").waitFor();
  const { columns, dialect } = await ask(url, "GET", "/v1/datasets/prices");
  check(columns[1].max === 60.234 && columns[2].missing === 2 && dialect.decimal === "." && dialect.missing.includes("unknown"), JSON.stringify(dialect));
  await page.reload();
  await page.getByText("Read it differently").click();
  const again = { name: "prices.csv", mimeType: "text/csv" };
  await page.getByLabel("The same file").setInputFiles({ ...again, buffer: Buffer.from("town;price\nt;1.234\nu;2.345\n") });
  await page.getByRole("button", { name: "Re-read the file" }).click();
  await page.locator("#again").getByRole("alert").filter({ hasText: "may be a fraction or a thousand" }).waitFor();
  await page.getByLabel("The same file").setInputFiles({ ...again, buffer: Buffer.from("town;price\nt;1\nu;2\n") });
  await page.getByRole("button", { name: "Re-read the file" }).click();
  await page.getByText("train 2").waitFor();
  check(puts.at(-1) === "", `sent ${puts.at(-1)}`);
  console.log("ok: how a file was read is shown, asked where it is not clear, and changed");
}

// An archive of pictures is refused with all that cannot be read, and taken without them.
async function leftOut({ page, url }) {
  await page.goto("/#/datasets");
  await page.fill("#upload-name", "broken");
  await page.setInputFiles("#upload-file", `${process.env.EPOCHD_TEST_PICTURES}/broken.zip`);
  await page.locator(".upload-go").getByRole("button", { name: "Upload" }).click();
  await page.locator(".upload-said.bad").filter({ hasText: "5 of 9 cannot be read" }).waitFor();
  check((await page.locator("#upload .faults li").count()) === 5, "not all faults are listed");
  await page.getByRole("button", { name: "Leave these pictures out" }).click();
  await page.waitForURL(/#\/datasets\/broken$/);
  await page.getByText("5 of 9 pictures cannot be read and are left out").waitFor();
  check((await ask(url, "GET", "/v1/datasets/broken")).rows === 4, "pictures that can be read are left out");
  console.log("ok: pictures that cannot be read are listed, and left out when the user says so");
}

async function looked({ page, url }) {
  const lines = page.locator(".columns-table tbody tr");
  await fetch(`${url}/v1/datasets/priced`, { method: "PUT", body: "price,share\n$1.50,7 %\n$2.25,8 %\n$3.50,9 %\n" });
  await page.goto("/#/datasets/priced");
  await page.getByText("price").first().waitFor();
  const priced = await lines.evaluateAll((rows) => rows.map((row) => `${row.textContent} ${row.querySelector("select").selectedOptions[0].textContent}`));
  check(/1\.5 \$ … 3\.5 \$.* number, \$$/.test(priced[0]) && /7 % … 9 %.* number, %$/.test(priced[1]), `numbers with signs are ${priced.join(" | ")}`);
  await page.goto("/#/datasets/Our-people");
  await page.getByLabel("Type of sex").waitFor();
  const texts = await lines.evaluateAll((rows) => rows.map((row) => `${row.querySelector("select").selectedOptions[0].textContent}|${row.textContent}`));
  check(texts.length === 7 && /^number\|.*29 \(9\.7/.test(texts[3]) && /^category\|.*male, female/.test(texts[2]) && /^date\|.*1910-0/.test(texts[5]), `the columns are ${texts.join(" | ")}`);
  check((await page.locator(".histogram").count()) >= 5, "there are no histograms");
  await page.getByText("1 cell is not of the column's type and counts as missing: line 252, column 4: “old”").waitFor();
  const preview = page.getByRole("region", { name: "First rows" });
  const row = await preview.locator("tbody tr").nth(1).locator("td").allTextContents();
  check(row.join("|") === "1|–|male|13|37.5|1911-02-11|no", `a row is ${row.join("|")}`);
  check((await page.locator("main b, main img").count()) === 0, "a column's name became markup");
  check((await page.inputValue("#target")) === "6", `the target is column ${await page.inputValue("#target")}`);
  console.log("ok: columns with types, signs, gaps and histograms, and the first rows");
}

async function hidden({ page, url }) {
  await page.goto("/#/datasets/Our-people");
  const seen = async () => (await ask(url, "GET", "/v1/datasets/Our-people")).visibility;
  const box = page.getByRole("checkbox", { name: "Private" });
  await box.waitFor();
  check(!(await box.isChecked()), "a public dataset is shown as private");
  await box.check();
  await page.getByText("Our-people is private.").waitFor({ state: "attached" });
  check((await seen()) === "private", "the box does not hide the dataset");
  await page.goto("/#/datasets");
  await page.locator("tr", { hasText: "Our-people" }).getByText("private").waitFor();
  await page.goto("/#/datasets/Our-people");
  await box.uncheck();
  await page.getByText("Our-people is public.").waitFor({ state: "attached" });
  check((await seen()) === "public", "the box does not show the dataset");
  console.log("ok: who sees a dataset is changed by a box");
}

// What was sent to a webhook is on the page of its job; the loopback may not be called.
async function told({ page, url }) {
  const { id } = await ask(url, "POST", "/v1/jobs", { ...xor(), webhooks: [{ url: "http://127.0.0.1:9/told", events: ["end"] }] });
  await page.goto(`/#/jobs/${id}`);
  const line = page.getByRole("region", { name: "Messages of webhooks" }).locator("tbody tr");
  await line.filter({ hasText: "has no permitted address; again at" }).waitFor();
  check(/^endhttp:\/\/127\.0\.0\.1:9\/toldpending[1-9]/.test(await line.textContent()), `a message is shown as ${await line.textContent()}`);
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `a job with webhooks: ${JSON.stringify(faults)}`);
  console.log("ok: what was sent to a webhook is shown");
}

async function trainedAndAsked({ page, url }) {
  const type = (name) => page.getByRole("combobox", { name: `Type of ${name}`, exact: true });
  check(await type("survived").locator("option[value=ignore]").isDisabled(), "the target can be ignored");
  await type("id").selectOption("ignore");
  await page.click("#train");
  await page.waitForURL(/#\/jobs\/job_/);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const id = page.url().split("#/jobs/")[1];
  const { spec } = await ask(url, "GET", `/v1/jobs/${id}`);
  check(spec.data.target === "survived" && spec.data.columns.id.type === "ignore" && spec.data.dataset === "Our-people", JSON.stringify(spec.data));
  const form = page.locator("#predict");
  await form.getByLabel("sex").waitFor();
  check((await form.locator(".field").count()) === 4, `${await form.locator(".field").count()} fields`);
  await form.getByLabel("sex").selectOption("female");
  await form.getByLabel("<b>fare</b>").fill("60.5");
  await form.getByLabel("age").fill("");
  await form.getByRole("button", { name: "Predict" }).click();
  await form.locator(".predict-answer strong").waitFor();
  check((await form.locator(".predict-answer p").textContent()) === "survived: yes", await form.locator(".predict-answer").textContent());
  check((await form.locator(".predict-answer progress").count()) === 2, "there are no probabilities");
  await form.getByLabel("age").fill("young");
  await form.getByRole("button", { name: "Predict" }).click();
  await form.locator("[aria-invalid=true]").waitFor();
  check((await form.locator("[aria-invalid=true]").getAttribute("id")) === (await form.getByLabel("age").getAttribute("id")), "another field is at fault");
  const hints = await form.locator(".hint").allTextContents();
  check(hints.includes("0 … 79"), `the ranges are ${hints}`);
  check((await fetch(`${url}/v1/datasets/Our-people`, { method: "PUT", body: peopleCsv.split("\n").slice(0, 90).join("\n") })).ok, "the dataset was not replaced");
  await page.reload();
  await form.getByLabel("sex").selectOption("male");
  check((await form.locator(".field").count()) === 4 && JSON.stringify(await form.locator(".hint").allTextContents()) === JSON.stringify(hints), "a replaced dataset changes the form");
  await form.getByRole("button", { name: "Predict" }).click();
  await form.locator(".predict-answer progress").nth(1).waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForFunction((first) => !location.hash.endsWith(first), id);
  await page.locator(".notice.warning").getByText("the dataset \"Our-people\" was replaced after the job that these settings are of: its rows are different").waitFor();
  const next = page.url().split("#/jobs/")[1];
  await ended(url, next);
  await page.goto("about:blank"); // the job's page would ask for it after it is gone
  await ask(url, "DELETE", `/v1/jobs/${next}`);
  await peoplePut(url, "Our-people");
  console.log("ok: trained by a button, and asked by a field a column, whatever became of the dataset");
}

// A job of plain numbers, and pictures whose rows are drawn.
async function others({ page, url }) {
  await squaresPut(url);
  await page.goto("/#/datasets/squares");
  await page.locator(".pairs canvas").nth(9).waitFor();
  const { id } = await ask(url, "POST", "/v1/jobs", { data: { generator: "xor" }, model: { layers: [{ type: "linear", out_features: 1 }] }, loss: "bce_with_logits", epochs: 2 });
  await page.goto(`/#/jobs/${id}`);
  await page.fill("#predict-json", "[0, 1]");
  await page.getByRole("button", { name: "Predict" }).click();
  await page.locator(".predict-answer strong").waitFor();
  check((await fetch(`${url}/v1/datasets/twice`, { method: "PUT", body: `a,a,b\n${Array.from({ length: 60 }, (_, i) => `${i},${i % 7},${2 * i}`).join("\n")}\n` })).ok, "a name that stands twice was refused");
  const twice = await trained(url, { data: { dataset: "twice", target: 2, standardize: ["x", "y"] }, model: { layers: [{ type: "linear", out_features: 1 }] }, loss: "mse", epochs: 2 });
  await page.goto(`/#/jobs/${twice}`);
  await page.fill("#predict-json", "[0, 1]");
  await page.getByRole("button", { name: "Predict" }).click();
  await page.locator(".predict-answer strong").waitFor();
  await page.fill("#predict-json", "[0, ");
  await page.getByRole("button", { name: "Predict" }).click();
  await page.locator("#predict").getByRole("alert").filter({ hasText: "Not JSON yet" }).waitFor();
  console.log("ok: pictures are drawn, rows without names are asked as JSON");
}

// A job of pictures is asked with one that is dropped.
async function pictured({ page, url }) {
  const id = await trained(url, { data: { dataset: "squares" }, model: { layers: [{ type: "flatten" }, { type: "linear", out_features: 2 }] }, loss: "cross_entropy", epochs: 2 });
  await page.goto(`/#/jobs/${id}`);
  const form = page.locator("#predict");
  await form.getByLabel(/Drop a picture/).waitFor();
  await page.evaluate(async () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 20, height: 12 });
    canvas.getContext("2d").fillRect(2, 2, 9, 9);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([blob], "dot.png", { type: "image/png" }));
    for (const type of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  });
  await form.locator(".predict-answer progress").nth(1).waitFor();
  check(await form.getByRole("img", { name: "dot.png" }).isVisible(), "the picture is not shown");
  await drop(page, "notes.txt", "no picture");
  await form.getByRole("alert").filter({ hasText: "neither a PNG nor a JPEG" }).waitFor();
  await drop(page, "many.zip", "pictures of any kind");
  await page.getByRole("dialog", { name: "What is many.zip for?" }).getByRole("button", { name: "Go back" }).click();
  await drop(page, "broken.png", "no picture");
  await form.getByRole("alert").filter({ hasText: "it is text" }).waitFor();
  console.log("ok: a dropped picture is predicted, and what is none is told of");
}

// A series goes on from its last rows.
async function forecast({ page, url }) {
  await powerPut(url);
  await page.goto("/#/datasets/power");
  await page.locator("#target").selectOption({ label: "power" });
  const [sent] = await Promise.all([page.waitForRequest(/\/v1\/jobs$/), page.getByRole("button", { name: "Forecast power" }).click()]);
  const asked = { target: "power", task: "regression", time: "hour", features: ["power"], window: { length: 24 } };
  check(JSON.stringify(sent.postDataJSON()) === JSON.stringify({ name: "power", data: { dataset: "power", ...asked }, model: "auto" }), sent.postData());
  await page.getByText(/Test rows: off by [0-9.]+ on average, 1 row ahead \(the last value: [0-9.]+\)/).waitFor();
  check(/Forecast: 24 points/.test(await page.locator(".predict-answer").textContent()), "the forecast is not shown");
  check((await page.locator("main h2").evaluateAll((all) => all.map(({ textContent }) => textContent).filter((word) => /^(What comes next|Error curve)$/.test(word)).join())) === "What comes next,Error curve", "the forecast does not stand first");
  const data = { dataset: "power", target: "power", time: "hour", exclude: ["site"], window: { length: 24 }, test: 0.2, standardize: ["y"] };
  const spec = { data, model: { layers: [{ type: "linear", out_features: 8 }, { type: "relu" }, { type: "linear", out_features: 1 }] }, loss: "mse", optimizer: { type: "adam", lr: 0.01 }, epochs: 20 };
  await page.goto(`/#/jobs/${await trained(url, spec)}`);
  await page.locator(".predict-answer canvas").waitFor();
  await page.getByLabel("Rows to forecast").fill("36");
  await page.getByRole("button", { name: "Forecast" }).click();
  await page.getByText(/Forecast: 36 points/).waitFor({ state: "attached" });
  const said = await page.locator(".predict-answer").textContent();
  check(/As it was: 24 points/.test(said) && /Forecast: 36 points/.test(said), said);
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `a forecast: ${JSON.stringify(faults)}`);
  const grouped = { ...spec, data: { dataset: "power", target: "power", time: "hour", window: { length: 600, group: "site" }, standardize: ["y"] }, epochs: 1 };
  await page.goto(`/#/jobs/${await trained(url, grouped)}`);
  await page.locator(".predict-answer canvas").waitFor();
  await page.getByLabel("Of which site").selectOption("north");
  await page.getByLabel("Rows to forecast").fill("2");
  await page.getByRole("button", { name: "Forecast" }).click();
  await page.getByText(/Forecast: 2 points/).waitFor({ state: "attached" });
  check(/As it was: 600 points/.test(await page.locator(".predict-answer").textContent()), "the past has another length");
  // all of them at once, in a table that says that it scrolls, and as CSV
  await page.getByLabel("Of which site").selectOption({ label: "all 2" });
  await page.getByLabel("Rows to forecast").fill("9");
  await page.getByRole("button", { name: "Forecast" }).click();
  await page.getByText("18 rows: scroll for more.").waitFor();
  const told = await page.getByRole("region", { name: "Forecast", exact: true }).locator("tr").allTextContents();
  check(told.length === 19 && told[0].startsWith("site") && told[1].startsWith("south") && told[18].startsWith("north"), told.join(" | "));
  const request = page.waitForRequest(/predict\?format=csv&spreadsheet=1$/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
  await request;
  const csv = readFileSync(await download.path(), "utf8").trim().split("\n");
  check(csv.length === 19 && csv[0] === "site,hour,power_predicted" && csv[18].startsWith("north,"), csv.slice(0, 2).join(" | "));
  await page.locator(".predict-answer").getByLabel("for a spreadsheet").uncheck();
  await Promise.all([page.waitForRequest(/predict\?format=csv$/), page.getByRole("button", { name: "Download CSV" }).click()]);
  await page.locator(".predict-answer").getByLabel("for a spreadsheet").check();
  console.log("ok: a forecast goes on from the last rows, of one group where there are several");
}

// What failed in its first epochs has no curve, and no cloud of predictions; what it says stands above.
async function failed({ page, url }) {
  const diverges = { data: { generator: "disc", rows: 100 }, model: { layers: [{ type: "linear", out_features: 1 }] }, loss: "mse", optimizer: { lr: 1e30 }, epochs: 50 };
  const { id } = await ask(url, "POST", "/v1/jobs", diverges);
  await ended(url, id);
  await page.goto(`/#/jobs/${id}`);
  await page.locator(".notice.error").filter({ hasText: "learning rate" }).waitFor();
  await page.getByRole("region", { name: "Metrics", exact: true }).waitFor();
  await page.getByRole("button", { name: "Download the weights as ONNX" }).waitFor();
  check((await page.locator(".plot canvas:visible").count()) === 0, "a failed job has an empty plot");
  console.log("ok: a failed job has no empty plot");
}

// The list in an order, which the address keeps.
async function sorted({ page }) {
  await page.goto("/#/jobs");
  const losses = async () => (await page.locator("td[data-label=Loss]").allTextContents()).map(parseFloat).filter(Number.isFinite);
  await page.locator("td[data-label=Loss]").nth(2).waitFor();
  const head = page.getByRole("columnheader", { name: "Loss" });
  await head.getByRole("button").click();
  await page.locator("[aria-sort=ascending]").waitFor();
  const up = await losses();
  check(up.length >= 2 && up.every((loss, i) => i === 0 || loss >= up[i - 1]), `the losses are ${up}`);
  await head.getByRole("button").click();
  await page.locator("[aria-sort=descending]").waitFor();
  check((await losses()).join() === up.reverse().join(), "the other way round it is another order");
  await page.reload();
  await page.locator("[aria-sort=descending]").waitFor();
  await page.locator("td[data-label=Loss]").nth(2).waitFor();
  check((await losses()).join() === up.join(), "a reload forgets the order");
  console.log("ok: the list is sorted by a column");
}

// A text is looked for on every page; what is found is cancelled and deleted together, after a question.
async function several({ page, url }) {
  const running = (await ask(url, "POST", "/v1/jobs", xor({ name: "heap-0", ...endless }))).id;
  await begun(url, running);
  for (const i of [1, 2, 3]) await ask(url, "POST", "/v1/jobs", xor({ name: `heap-${i}` }));
  await ask(url, "PUT", "/v1/models/heap-model", { job: (await ask(url, "GET", "/v1/jobs?search=Our-people&limit=1")).data[0].id });
  await page.goto("/#/devices");
  const queued = page.getByRole("region", { name: "Queue" }).locator("tbody tr");
  await queued.nth(3).waitFor();
  const places = (await queued.allTextContents()).map((text) => /^(running|\d+)heap-\d(–|in .+|not known)/.exec(text)?.[1]);
  check(places.join() === "running,1,2,3", `the places are ${places}`);
  const last = (await ask(url, "GET", "/v1/queue")).jobs.at(-1);
  await page.goto(`/#/jobs/${last.id}`);
  await page.locator(".progress-line").filter({ hasText: "place 3 in the queue" }).filter({ hasText: last.start_seconds === null ? "place" : "starts in" }).waitFor();
  await page.goto("/#/jobs?limit=50");
  const rows = page.locator(".jobs-table tbody tr");
  await page.getByLabel("Search all jobs").fill("HEAP-");
  await page.locator(".count").filter({ hasText: "4 jobs on this page" }).waitFor();
  await page.waitForURL(/q=HEAP-/);
  await page.getByRole("checkbox", { name: "Select all shown" }).check();
  await page.getByRole("button", { name: "Cancel 4" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel 4 jobs?" });
  check(/1 job that has begun stops.*3 jobs that wait will never start/.test(await dialog.textContent()), await dialog.textContent());
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `the question: ${JSON.stringify(faults)}`);
  await dialog.getByRole("button", { name: "Go back" }).click();
  check((await ask(url, "GET", `/v1/jobs/${running}`)).status === "running", "a job was cancelled unasked");
  await page.getByRole("button", { name: "Cancel 4" }).click();
  await dialog.getByRole("button", { name: "Cancel 4 jobs" }).click();
  await page.locator("#main").getByRole("status").filter({ hasText: "4 jobs were cancelled." }).waitFor();
  await page.locator(".badge[data-state=cancelled]").nth(3).waitFor();
  await page.getByLabel("Search all jobs").fill("");
  await page.locator(".jobs-table a[href$='/Our-people']").first().waitFor();
  const left = await rows.count();
  await page.getByRole("checkbox", { name: "Select heap-1" }).check();
  await page.getByRole("checkbox", { name: "Select heap-2" }).check();
  await page.getByLabel("Search all jobs").fill("our-people");
  await page.locator(".count").filter({ hasText: "1 job on this page" }).waitFor();
  await rows.first().getByRole("checkbox").check();
  await page.getByRole("button", { name: "Delete 3" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 3 jobs" }).click();
  await page.locator(".notice.error").filter({ hasText: "2 jobs were deleted." }).filter({ hasText: "heap-model" }).waitFor();
  await page.getByLabel("Search all jobs").fill("");
  await page.waitForFunction((count) => document.querySelectorAll(".jobs-table tbody tr").length === count, left - 2);
  check((await page.getByRole("button", { name: "Delete 1" }).count()) === 1, "what was refused is not selected");
  console.log("ok: jobs are found on every page, cancelled and deleted together, and what is refused is told");
}

// The form's fields write what they say into the spec, and take it away again.
async function formed({ page, url }) {
  await page.goto("/#/submit?dataset=Our-people");
  await page.locator("#f-data").waitFor();
  const spec = async () => JSON.parse(await page.inputValue("#json"));
  const written = async (expected, what) => {
    const found = await spec();
    const [left, right] = [JSON.stringify(found[what] ?? null), JSON.stringify(expected)];
    check(left === right, `${what} is ${left}, not ${right}`);
  };
  await page.getByLabel("Schedule").selectOption("step");
  await written("step", "schedule");
  await page.getByLabel("Step size").fill("10");
  await page.locator("#f-schedule-gamma").fill("0.5");
  await written({ type: "step", step_size: 10, gamma: 0.5 }, "schedule");
  check(await page.locator("#f-schedule-t_max").isHidden(), "a field of another schedule is shown");
  await page.getByLabel("Schedule").selectOption("constant");
  await written(null, "schedule");
  await page.getByLabel("Warmup epochs").fill("3");
  await written({ type: "constant", warmup_epochs: 3 }, "schedule");
  await page.locator("#f-loss").selectOption("cross_entropy");
  await page.getByLabel("Class weights").fill("balanced");
  await written({ type: "cross_entropy", class_weights: "balanced" }, "loss");
  await page.getByLabel("Class weights").fill("[1, 2.5]");
  await written({ type: "cross_entropy", class_weights: [1, 2.5] }, "loss");
  await page.getByLabel("Class weights").fill("");
  await written("cross_entropy", "loss");
  await page.getByLabel("Optimizer").selectOption("adamw");
  check((await page.getByLabel("Weight decay").getAttribute("placeholder")) === "0.01", "the default of the weight decay is not shown");
  await page.getByLabel("Weight decay").fill("0.1");
  check((await spec()).optimizer.weight_decay === 0.1, JSON.stringify((await spec()).optimizer));
  await page.getByLabel("Stop early after").fill("20");
  await page.getByLabel("Better by").fill("0.01");
  await written({ patience: 20, tolerance: 0.18, min_delta: 0.01 }, "early_stopping");
  await page.getByLabel("Better by").fill("");
  await page.getByLabel("Stop early after").fill("");
  await written(null, "early_stopping");
  await page.getByText("Webhooks", { exact: true }).click();
  await page.locator("#f-webhooks").fill("https://hooks.example.org/a");
  await page.getByLabel("failed", { exact: true }).check();
  await written([{ url: "https://hooks.example.org/a", events: ["end", "failed"] }], "webhooks");
  await page.locator("#f-webhooks").fill("ftp://hooks.example.org/a");
  await page.locator("#f-webhooks-error").filter({ hasText: "http" }).waitFor();
  await page.locator("#f-webhooks").fill("");
  await written(null, "webhooks");
  await page.getByText("A series in time").click();
  await page.getByLabel("Window", { exact: true }).fill("24");
  await page.getByLabel("Horizon").fill("2");
  check(JSON.stringify((await spec()).data.window) === '{"length":24,"horizon":2}', JSON.stringify((await spec()).data));
  await page.getByLabel("Window", { exact: true }).fill("");
  await page.getByLabel("Horizon").fill("");
  check(!("window" in (await spec()).data), "an empty window stays");
  await page.getByText("Pictures", { exact: true }).click();
  await page.getByLabel("Augment: shift").fill("2");
  await page.getByLabel("Augment: flip").selectOption("yes");
  await page.getByLabel("Augment: crop").fill("[6, 6]");
  await page.getByLabel("Normalize: mean").fill("0.5");
  const { data } = await spec();
  check(JSON.stringify([data.augment, data.normalize]) === '[{"shift":2,"flip":true,"crop":[6,6]},{"mean":0.5}]', JSON.stringify(data));
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `the form: ${JSON.stringify(faults)}`);
  const known = { data: { dataset: "squares", augment: { flip: true }, normalize: { mean: 0.5, std: 0.5 } }, model: { layers: [{ type: "flatten" }, { type: "linear", out_features: 2 }] }, loss: { type: "focal", gamma: 3 }, schedule: { type: "cosine", t_max: 4 }, epochs: 3 };
  await page.fill("#json", JSON.stringify(known));
  await page.waitForFunction(() => document.querySelector("#f-loss-gamma").value === "3");
  check((await page.inputValue("#f-schedule-t_max")) === "4" && (await page.inputValue("#f-data-augment-flip")) === "yes", "the form does not follow the JSON");
  check((await page.getByLabel("Schedule").inputValue()) === "cosine", "the schedule does not follow the JSON");
  console.log("ok: schedule, early stopping, weight decay, pictures, class weights and windows have fields");
}

run(async ({ url, open }) => {
  const page = await open({ expected: [/422/, /409/] });
  page.on("dialog", (dialog) => check(false, `a dialog opened: ${dialog.message()}`));
  for (const part of [dropped, readAs, dialects, leftOut, looked, trainedAndAsked, others, pictured, forecast, failed, sorted, formed, several, hidden, told]) await part({ page, url });
});
