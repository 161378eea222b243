// streams.js: the events of running jobs. A stream holds a connection for as long as its job trains, and a browser has six to a
// daemon (HTTP/1.1) for all its tabs. So a SharedWorker, which runs this file too, reads for all of them over one connection: it
// follows the job that is watched; where several are, it asks for the news of each in turn.

const roundMs = 1000; // between two rounds through several jobs

// Calls onLine(text) for each line of the body. Spaces before a line are heartbeats.
async function eachLine(body, onLine) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop().trimStart();
    for (const line of lines) if (line.trim()) onLine(line);
  }
}

// As fetch, but resolves at the end of the stream. `url` has a query already; follow: beyond what there is.
export async function readAlone(url, { after, follow, ...init }, onLine) {
  const response = await fetch(`${url}&after=${after}&follow=${Number(follow)}`, init);
  if (response.ok && response.body) await eachLine(response.body, onLine);
  return response;
}

// The same beyond what there is, by the worker. Resolves with {ok, status, text}.
export function readShared(url, { after, headers, signal }, onLine) {
  const worker = new SharedWorker(import.meta.url, { type: "module", name: "epochd-streams-1" }); // 1: the messages' form
  const { port } = worker;
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    worker.onerror = () => resolve(readAlone(url, { after, follow: true, headers, signal }, onLine));
    port.onmessage = ({ data: { line, status, text } }) => {
      if (line !== undefined) onLine(line);
      else if (status === 0) reject(new TypeError(text));
      else resolve({ ok: status === 200, status, text: async () => text });
    };
    port.postMessage({ url, headers: { ...headers }, after });
  }).finally(() => {
    port.postMessage(null);
    port.close();
  });
}

// The worker: a port a watch.
const watches = new Map(); // port -> {url, headers, after}
let change = new AbortController(); // aborted when a watch comes or goes

function watchesChange(port, watch) {
  if (watch) watches.set(port, watch);
  else watches.delete(port);
  change.abort();
}

// The ports of watches that one request serves.
function groups() {
  const found = new Map();
  for (const [port, { url, headers }] of watches) {
    const key = JSON.stringify([url, headers]);
    found.set(key, [...(found.get(key) ?? []), port]);
  }
  return [...found.values()];
}

// One request, from the first event that one of them lacks. Its end is told, unless it was only for the news.
async function groupRead(ports, follow, signal) {
  const members = ports.map((port) => [port, watches.get(port)]);
  const [[, { url, headers }]] = members;
  const after = Math.min(...members.map(([, watch]) => watch.after));
  const end = (status, text) => ports.forEach((port) => watches.delete(port) && port.postMessage({ status, text }));
  const onLine = (line) => {
    const { seq } = JSON.parse(line);
    for (const [port, watch] of members) {
      if (seq <= watch.after) continue;
      watch.after = seq;
      port.postMessage({ line });
    }
  };
  try {
    const response = await readAlone(url, { after, follow, headers, signal, cache: "no-store" }, onLine);
    if (follow || !response.ok) end(response.status, response.ok ? "" : await response.text());
  } catch (error) {
    if (!signal.aborted) end(0, String(error));
  }
}

const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = ms === null ? null : setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

async function serve() {
  for (;;) {
    change = new AbortController();
    const { signal } = change;
    const found = groups();
    for (const ports of found) if (!signal.aborted) await groupRead(ports, found.length === 1, signal);
    if (found.length !== 1 && !signal.aborted) await pause(found.length ? roundMs : null, signal);
  }
}

if ("onconnect" in globalThis) {
  globalThis.onconnect = ({ ports: [port] }) => (port.onmessage = ({ data }) => watchesChange(port, data));
  serve();
}
