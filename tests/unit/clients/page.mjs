// page.mjs: as much of a browser as the modules need that are tested without one.
const storage = () => {
  const items = new Map();
  return { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value), removeItem: (key) => items.delete(key) };
};
globalThis.document = Object.assign(new EventTarget(), { hidden: false, getElementById: () => ({ textContent: "" }) });
globalThis.sessionStorage = storage();
globalThis.localStorage = storage();
globalThis.location = { origin: "http://127.0.0.1:8080", hash: "", href: "http://127.0.0.1:8080/epochd/#/submit" };
