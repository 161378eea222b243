// A daemon with a token: the page asks for it, says when it is wrong, keeps it for this tab alone unless told.

import { accessibilityFaults, check, run } from "./page.mjs";

const right = process.env.EPOCHD_TEST_TOKEN;

run(async ({ open }) => {
  const page = await open({ expected: [/401/] });
  const dialog = page.getByRole("dialog", { name: "Token" });

  await page.goto("/#/devices");
  await dialog.waitFor();
  check(await page.evaluate(() => document.activeElement.id === "token"), "the dialog does not have the focus");
  check(/a secret .* like a password/.test(await dialog.textContent()), "the dialog does not say what a token is");
  await dialog.getByText("Create a token").click();
  check(await dialog.getByText("epochctl token add NAME --file FILE").isVisible(), "the dialog does not say how to make a token");
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `the dialog: ${JSON.stringify(faults)}`);
  await page.locator("#token").focus();
  await page.keyboard.type("wrong");
  await page.keyboard.press("Enter");
  await dialog.getByText("rejected this token").waitFor();
  await page.keyboard.type(right);
  await page.keyboard.press("Enter");
  await page.getByText("Idle").or(page.getByText("Starting")).first().waitFor();
  check((await page.locator("dialog").count()) === 0, "the dialog stays");
  console.log("ok: asks for the token, says that one is wrong, takes the right one");

  await page.reload();
  await page.getByText("Idle").first().waitFor();
  check((await page.locator("dialog").count()) === 0, "a reload asks again");
  check(await page.evaluate(() => Object.keys(localStorage).every((key) => !key.includes("token"))), "kept without being told");
  check(!page.url().includes(right) && !(await page.content()).includes(right), "the token stands in the page");
  console.log("ok: kept for this tab alone");

  await page.goto("/#/submit?example=xor");
  await page.click("#submit");
  await page.waitForURL(/#\/jobs\/job_/);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download the weights as safetensors" }).click(),
  ]);
  check((await download.failure()) === null, "the weights need more than the token");
  console.log("ok: trains, streams and downloads with the token");
});
