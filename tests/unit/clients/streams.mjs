// streams.mjs: the SharedWorker that reads for all tabs; fetch is played by the test, tabs are channels.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.onconnect = null; // as in a worker
await import("../../../clients/dashboard/streams.js");

const until = async (done) => {
  for (const end = Date.now() + 60000; !done(); ) {
    assert.ok(Date.now() < end, "it does not come");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

// Each job's log has the events 1 … length; a stream that follows stays open. `asked` are the requests, `open` those that are not over.
const logs = new Map();
const asked = [];
let open = 0;
let most = 0;
globalThis.fetch = async (url, { signal, headers }) => {
  const { pathname, searchParams: query } = new URL(url);
  signal.throwIfAborted();
  asked.push({ job: pathname, after: Number(query.get("after")), follow: query.get("follow") === "1", headers });
  if (!logs.has(pathname)) return new Response("no such job", { status: 404 });
  most = Math.max(most, ++open);
  const body = new ReadableStream({
    start(control) {
      let seq = Number(query.get("after"));
      const over = () => {
        clearInterval(timer);
        open--;
      };
      const news = () => {
        for (; seq < logs.get(pathname); seq++) control.enqueue(new TextEncoder().encode(` {"seq":${seq + 1},"job":"${pathname}"}\n`));
      };
      const timer = setInterval(news, 2);
      news();
      if (query.get("follow") === "0") {
        over();
        control.close();
      } else {
        signal.addEventListener("abort", () => {
          over();
          control.error(signal.reason);
        }, { once: true });
      }
    },
  });
  return new Response(body);
};

function tab(job, after = 0, headers = {}) {
  const { port1: port, port2 } = new MessageChannel();
  const seen = { events: [], end: null };
  port.onmessage = ({ data }) => {
    if (data.line === undefined) seen.end = data;
    else seen.events.push(JSON.parse(data.line));
  };
  globalThis.onconnect({ ports: [port2] });
  port.postMessage({ url: `http://daemon${job}?every=1`, headers, after });
  seen.leave = () => {
    port.postMessage(null);
    port.close();
  };
  return seen;
}
const seqs = (seen) => seen.events.map(({ seq }) => seq);
const upTo = (last, after = 0) => Array.from({ length: last - after }, (_, i) => after + i + 1);

test("two tabs of one job share a stream, and each gets every event once", async () => {
  logs.set("/a", 5);
  const first = tab("/a");
  await until(() => first.events.length === 5);
  logs.set("/a", 7);
  const second = tab("/a", 2);
  await until(() => second.events.length === 5 && first.events.length === 7);
  assert.deepEqual([seqs(first), seqs(second)], [upTo(7), upTo(7, 2)]);
  assert.deepEqual(asked.map(({ after, follow }) => [after, follow]), [[0, true], [2, true]]);
  first.leave();
  second.leave();
  await until(() => open === 0);
});

test("nine tabs of nine jobs have one connection, and all go on", async () => {
  const jobs = Array.from({ length: 9 }, (_, i) => `/job${i}`);
  most = 0;
  for (const job of jobs) logs.set(job, 3);
  const tabs = jobs.map((job) => tab(job));
  await until(() => tabs.every(({ events }) => events.length === 3));
  for (const job of jobs) logs.set(job, 6);
  await until(() => tabs.every(({ events }) => events.length === 6));
  for (const seen of tabs) assert.deepEqual(seqs(seen), upTo(6));
  assert.equal(most, 1);
  tabs.slice(1).forEach((seen) => seen.leave());
  asked.length = 0;
  await until(() => asked.some(({ job, after, follow }) => job === "/job0" && after === 6 && follow)); // alone again
  tabs[0].leave();
  await until(() => open === 0);
});

test("a refusal is told to its tab alone", async () => {
  logs.set("/a", 1);
  const good = tab("/a", 0, { Authorization: "Bearer x" });
  const bad = tab("/none");
  await until(() => bad.end && good.events.length === 1);
  assert.deepEqual(bad.end, { status: 404, text: "no such job" });
  assert.equal(good.end, null);
  assert.ok(asked.some(({ headers }) => headers.Authorization === "Bearer x"));
  good.leave();
  bad.leave();
  await until(() => open === 0);
});
