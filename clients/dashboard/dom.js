// dom.js: builds the page from nodes, never from strings of HTML: a job's name may hold markup.

// h("td", {class: "number", title: "…", onclick: f}, "text", node, [nodes], null): an element.
// An attribute that is null, undefined or false is left out, true is set empty; "on…" with a function
// listens; a child that is null, undefined or false is skipped, anything else that is no node is text.
export function h(tag, attrs, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs ?? {})) attribute(element, name, value);
  element.append(...nodes(children));
  return element;
}

// s("path", {d: "…"}): the same for SVG.
export function s(tag, attrs, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attrs ?? {})) attribute(element, name, value);
  element.append(...nodes(children));
  return element;
}

// Sets one attribute by the rules of h(); null removes it.
export function attribute(element, name, value) {
  if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2), value);
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else {
    const text = value === true ? "" : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

// Replaces the element's children.
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

// Sets the text only when it differs, so that a poll without news changes no node.
export function setText(element, value) {
  const text = String(value);
  if (element.textContent !== text) element.textContent = text;
}

// Keeps one child of `parent` for each of `items`, in their order, by key(item): create(item) makes a
// node, update(node, item) is called for every item. Nodes are moved only when their
// order changed; nodes without an item are removed.
export function keyed(parent, items, key, create, update) {
  const known = parent.keyedNodes ?? new Map();
  const present = new Map();
  for (const item of items) {
    const id = key(item);
    const node = known.get(id) ?? create(item);
    update(node, item);
    present.set(id, node);
  }
  for (const [id, node] of known) if (!present.has(id)) node.remove();
  let next = parent.firstChild;
  for (const node of present.values()) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
  parent.keyedNodes = present;
}
