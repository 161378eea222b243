// facts.js: a <dl class="facts columns"> of names and values.

import { h, replace } from "./dom.js";

// Pairs of a term and its text or node; a pair without a text is left out.
export function setFacts(list, pairs) {
  replace(list, pairs.filter(([, what]) => what !== null && what !== undefined && what !== "").map(([term, what]) => h("div", null, h("dt", null, term), h("dd", null, what))));
}
