// api.mjs: requests, polling by ETag, streams that arrive in pieces; fetch is played by the test.
import "./page.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";

const { ApiError, getJson, poll, sendJson, setToken, stream } = await import("../../../clients/dashboard/api.js");
const { curlCommand } = await import("../../../clients/dashboard/views/submit/submit.js");

// Answers come from `script` in turn, the last for ever; what was asked is kept.
function play(script) {
  const asked = [];
  globalThis.fetch = async (path, options) => {
    asked.push({ path, ...options });
    const next = script[Math.min(asked.length, script.length) - 1];
    if (next instanceof Error) throw next;
    const { status = 200, body = null, etag, type = "application/json" } = next;
    return new Response(status === 304 ? null : body, { status, headers: { "Content-Type": type, ...(etag ? { ETag: etag } : {}) } });
  };
  return asked;
}

const until = async (done) => {
  for (const end = Date.now() + 5000; !done(); ) {
    assert.ok(Date.now() < end, "it does not come");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

test("problem details become an error that can be read", async () => {
  play([{ status: 422, type: "application/problem+json", body: '{"title": "refused", "status": 422, "detail": "epochs is 0", "errors": [{"pointer": "/epochs", "detail": "is 0"}]}' }]);
  const error = await sendJson("POST", "/v1/jobs", {}).catch((thrown) => thrown);
  assert.ok(error instanceof ApiError);
  assert.equal(error.message, "epochs is 0");
  assert.deepEqual(error.errors, [{ pointer: "/epochs", detail: "is 0" }]);
});

test("an option that a problem names has its label on the page", async () => {
  const detail = "both: choose ?delimiter=semicolon or ?decimal=, since ?missing= is empty; ?jobs= is unknown";
  play([{ status: 422, type: "application/problem+json", body: JSON.stringify({ title: "refused", status: 422, detail, errors: [{ pointer: "/rows", detail: "?header=false makes it a row" }] }) }]);
  const error = await sendJson("POST", "/v1/jobs", {}).catch((thrown) => thrown);
  assert.equal(error.message, "both: choose “Between cells: semicolon” or “Decimal mark: comma: 1,5” since “Words for missing cells” is empty; ?jobs= is unknown");
  assert.deepEqual(error.errors, [{ pointer: "/rows", detail: "“First line: a row” makes it a row" }]);
});

test("what is no problem document is an error too", async () => {
  play([{ status: 502, type: "text/html", body: "<h1>Bad gateway</h1>" }]);
  const error = await getJson("/v1/jobs").catch((thrown) => thrown);
  assert.equal(error.status, 502);
  assert.match(error.message, /502/);
});

test("no answer at all has status 0", async () => {
  play([new TypeError("failed to fetch")]);
  assert.equal((await getJson("/v1/jobs").catch((thrown) => thrown)).status, 0);
});

test("the token goes with every request", async () => {
  const asked = play([{ body: "{}" }]);
  setToken("secret", false);
  await getJson("/v1/jobs");
  setToken(null, false);
  await getJson("/v1/jobs");
  assert.equal(asked[0].headers.Authorization, "Bearer secret");
  assert.equal(asked[1].headers.Authorization, undefined);
});

test("a poll sends its ETag and speaks up only when something changed", async () => {
  const asked = play([{ body: '{"n": 1}', etag: '"a"' }, { status: 304 }, { status: 304 }, { body: '{"n": 2}', etag: '"b"' }, { status: 304 }]);
  const leave = new AbortController();
  const seen = [];
  poll("/v1/jobs", ({ n }) => seen.push(n), { signal: leave.signal, interval: 5 });
  await until(() => asked.length >= 6);
  leave.abort();
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(asked.slice(0, 5).map(({ headers }) => headers["If-None-Match"]), [undefined, '"a"', '"a"', '"a"', '"b"']);
});

test("a poll goes on after the daemon was away, and ends at what no retry mends", async () => {
  const asked = play([{ status: 503, body: "" }, { body: '{"n": 1}' }, { status: 404, body: "" }]);
  const leave = new AbortController();
  const errors = [];
  let seen = 0;
  poll("/v1/jobs/x", () => seen++, { signal: leave.signal, interval: 5, onError: (error) => errors.push(error.status) });
  await until(() => errors.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 60));
  leave.abort();
  assert.deepEqual([seen, errors, asked.length], [1, [503, 404], 3]);
});

test("refresh asks at once, move asks for something else", async () => {
  const asked = play([{ body: "{}", etag: '"a"' }]);
  const leave = new AbortController();
  const polled = poll("/a", () => {}, { signal: leave.signal, interval: 100000 });
  await until(() => asked.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 10));
  polled.refresh();
  await until(() => asked.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 10));
  polled.move("/b");
  await until(() => asked.length === 3);
  leave.abort();
  assert.deepEqual(asked.map(({ path }) => path), ["./a", "./a", "./b"]);
  assert.equal(asked[2].headers["If-None-Match"], undefined);
});

// The body byte by byte: no cut, not even in the middle of a letter, may matter.
function dripping(text) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream({ pull: (control) => (at < bytes.length ? control.enqueue(bytes.slice(at, ++at)) : control.close()) });
  globalThis.fetch = async (path) => ((dripping.asked = path), new Response(body));
}

test("a stream, in pieces, with heartbeats before a line and at the end", async () => {
  dripping('{"seq":3,"name":"größe"}\n  {"seq":4}\n\n ');
  const events = [];
  await stream("/e?every=1", (event) => events.push(event), { after: 2 });
  assert.deepEqual(events, [{ seq: 3, name: "größe" }, { seq: 4 }]);
  assert.equal(dripping.asked, "./e?every=1&after=2&follow=1");
});

test("a hidden page reads nothing, and goes on where it was", async () => {
  const asked = [];
  let open;
  globalThis.fetch = async (path, { signal }) => {
    asked.push(path);
    const body = new ReadableStream({
      start: (control) => {
        open = control;
        signal.addEventListener("abort", () => control.error(signal.reason));
      },
    });
    return new Response(body);
  };
  const events = [];
  const hide = (hidden) => {
    document.hidden = hidden;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const send = (text) => open.enqueue(new TextEncoder().encode(text));
  const over = stream("/e?every=1", ({ seq }) => events.push(seq));
  await until(() => open);
  send('{"seq":1}\n{"seq":2}\n{"se');
  await until(() => events.length === 2);
  hide(true);
  open = null;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(asked.length, 1);
  hide(false);
  await until(() => open);
  send('{"seq":3}\n');
  open.close();
  await over;
  assert.deepEqual(events, [1, 2, 3]);
  assert.deepEqual(asked, ["./e?every=1&after=0&follow=1", "./e?every=1&after=2&follow=1"]);
});

test("the curl command says the same in a shell", async () => {
  const { execFileSync } = await import("node:child_process");
  const text = `{\n  "name": "it's $HOME \\" \`x\` \\\\"\n}`;
  const said = execFileSync("sh", ["-c", `curl() { for last; do :; done; printf %s "$last"; }\n${curlCommand(text)}`], { encoding: "utf8" });
  assert.equal(said, text);
  assert.match(curlCommand(text), /^curl http:\/\/127\.0\.0\.1:8080\/epochd\/v1\/jobs /); // below the page's folder
});
