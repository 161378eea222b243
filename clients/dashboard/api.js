// api.js: requests to the daemon. Every request goes through send(), which adds the token, throws
// problem details as errors, and opens the token's dialog where a token is missing.

import { readAlone, readShared } from "./streams.js";
import { askToken } from "./token.js";
import { setConnection } from "./shell.js";
import { worded } from "./options.js";

const storageKey = "epochd-token";

// A response that is no success. status 0: there was no response.
export class ApiError extends Error {
  constructor(status, title, detail, errors = []) {
    super(worded(detail || title) || `The server responded with status ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.errors = errors.map((error) => ({ ...error, detail: worded(error.detail ?? "") })); // [{pointer, detail}]
  }
}

export function token() {
  try {
    return sessionStorage.getItem(storageKey) ?? localStorage.getItem(storageKey);
  } catch {
    return remembered;
  }
}

let remembered = null; // where the browser stores nothing

// keep: store the token beyond this window.
export function setToken(value, keep) {
  remembered = value;
  try {
    sessionStorage.removeItem(storageKey);
    localStorage.removeItem(storageKey);
    if (value) (keep ? localStorage : sessionStorage).setItem(storageKey, value);
  } catch {
    // `remembered` has it
  }
}

function authorization() {
  const value = token();
  return value ? { Authorization: `Bearer ${value}` } : {};
}

// The daemon sends application/problem+json; a proxy before it may send anything.
export function problem(status, text) {
  try {
    const { title, error, detail = error, errors } = JSON.parse(text); // KServe V2 says "error"
    if (title || detail) return new ApiError(status, title, detail, errors ?? []);
  } catch {
    // not JSON
  }
  return new ApiError(status, `The server responded with status ${status}.`, "");
}

// A path of the daemon from the page, which a proxy may have below a path of its own.
export const addressOf = (path) => `.${path}`;

// The response of any success or 304; throws ApiError. read: instead of fetch. A 401 opens the dialog for the token and repeats the request.
export async function send(path, { method = "GET", headers = {}, body, signal, cache = "no-store", read = fetch } = {}) {
  for (;;) {
    const sent = token();
    let response;
    try {
      response = await read(addressOf(path), { method, body, signal, cache, headers: { ...headers, ...authorization() } });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, "The daemon is not responding.", "The daemon is not responding.");
    }
    setConnection(null);
    if (response.ok || response.status === 304) return response;
    const error = problem(response.status, await response.text());
    if (response.status !== 401) throw error;
    if (token() === sent) {
      const entered = await askToken(sent ? "The daemon rejected this token." : "This daemon requires a token.", signal);
      if (!entered) throw error;
      setToken(entered.token, entered.keep);
    }
  }
}

export async function getJson(path, options = {}) {
  const response = await send(path, { ...options, headers: { Accept: "application/json", ...options.headers } });
  return response.json();
}

// null for a response without a body.
export async function sendJson(method, path, body, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = typeof body === "string" ? body : body === undefined ? undefined : JSON.stringify(body);
  const response = await send(path, { ...options, method, headers, body: sent });
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

const errorWaitMs = { first: 1000, most: 30000 };

// sleep(ms) ends early when `nudge` is called or the signal aborts.
function sleeper(signal) {
  let wake = null;
  const nudge = () => wake?.();
  signal?.addEventListener("abort", nudge);
  const sleep = (ms) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    }).finally(() => (wake = null));
  return { sleep, nudge };
}

// Resolves when the page is visible.
function visible(signal) {
  if (!document.hidden || signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      if (document.hidden && !signal?.aborted) return;
      document.removeEventListener("visibilitychange", done);
      resolve();
    };
    document.addEventListener("visibilitychange", done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

// The data of a list whose first page is `page`, those of the pages after it included.
export async function allOf(path, page, { signal } = {}) {
  const data = [...page.data];
  for (let at = page; at.has_more; data.push(...at.data)) at = await getJson(`${path}?limit=1000&after=${encodeURIComponent(at.next)}`, { signal });
  return data;
}

// See main.js. interval: ms, or a function of the newest data that returns ms, or null for no poll before
// the next refresh(). onError(error) is called for each failure; a 4xx, which no retry changes, ends the poll.
export function poll(path, onData, { signal, interval = 2000, onError } = {}) {
  const { sleep, nudge } = sleeper(signal);
  let etag = null;
  let data = null;
  let failures = 0;
  let again = false;
  const wait = () => (typeof interval === "function" ? interval(data) : interval);

  async function once() {
    const requested = path;
    const response = await send(requested, {
      signal,
      headers: { Accept: "application/json", ...(etag ? { "If-None-Match": etag } : {}) },
    });
    if (requested !== path || response.status === 304) return;
    const fresh = await response.json();
    if (requested !== path || signal?.aborted) return;
    etag = response.headers.get("ETag");
    data = fresh;
    onData(data, response);
  }

  async function run() {
    while (!signal?.aborted) {
      await visible(signal);
      again = false;
      let pause = errorWaitMs.first;
      try {
        await once();
        failures = 0;
        pause = wait();
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof ApiError && error.status === 0) setConnection("The daemon is not responding; retrying");
        onError?.(error);
        if (!(error instanceof ApiError) || (error.status >= 400 && error.status < 500 && error.status !== 429)) pause = null;
        else pause = Math.min(errorWaitMs.most, errorWaitMs.first * 2 ** failures++);
      }
      if (!again && !signal?.aborted) await sleep(pause ?? 2 ** 31 - 1);
    }
  }

  run();
  const refresh = () => {
    again = true;
    nudge();
  };
  const move = (to) => {
    if (to === path) return;
    path = to;
    etag = null;
    refresh();
  };
  return { refresh, move };
}

// A signal that aborts with `signal`, and when the page is hidden. end() forgets both.
function whileSeen(signal) {
  const seen = new AbortController();
  const end = () => seen.abort(signal?.reason);
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true, signal: seen.signal });
  document.addEventListener("visibilitychange", () => document.hidden && end(), { signal: seen.signal });
  return { signal: seen.signal, end };
}

// Calls onEvent(object) for each event after number `after`, in order, until the stream ends; follow: also for those to come.
// path: of events, with a query. A hidden page reads nothing, and goes on where it was.
export async function stream(path, onEvent, { signal, after = 0, follow = true } = {}) {
  const onLine = (line) => {
    const event = JSON.parse(line);
    after = event.seq;
    onEvent(event);
  };
  const shares = follow && "SharedWorker" in globalThis;
  const read = (url, init) =>
    shares ? readShared(new URL(url, document.baseURI).href, { ...init, after }, onLine) : readAlone(url, { ...init, after, follow }, onLine);
  for (;;) {
    await visible(signal);
    const seen = whileSeen(signal);
    try {
      await send(path, { signal: seen.signal, headers: { Accept: "application/x-ndjson" }, read });
      return;
    } catch (error) {
      if (signal?.aborted || !seen.signal.aborted) throw error;
    } finally {
      seen.end();
    }
  }
}

// PUTs a file; onProgress(sent, total) in bytes. XMLHttpRequest, because fetch has no events for uploads.
export async function upload(method, path, file, { signal, onProgress } = {}) {
  for (;;) {
    const sent = token();
    const { status, text } = await carry(method, path, file, signal, onProgress);
    if (status >= 200 && status < 300) return text ? JSON.parse(text) : null;
    const error = problem(status, text);
    if (status !== 401) throw error;
    const entered = await askToken(sent ? "The daemon rejected this token." : "This daemon requires a token.", signal);
    if (!entered) throw error;
    setToken(entered.token, entered.keep);
  }
}

function carry(method, path, file, signal, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, addressOf(path));
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => onProgress?.(event.loaded, event.lengthComputable ? event.total : file.size);
    request.onload = () => resolve({ status: request.status, text: request.responseText });
    request.onerror = () => reject(new ApiError(0, "The upload was interrupted.", "The upload was interrupted: the daemon is not responding, or rejected it."));
    request.onabort = () => reject(new ApiError(0, "The upload was cancelled.", "The upload was cancelled."));
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

// Saves the response of `source`, a path, as a file; or a Blob. A plain link cannot carry a token.
export async function download(source, name, { signal } = {}) {
  const url = URL.createObjectURL(source instanceof Blob ? source : await (await send(source, { signal })).blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
