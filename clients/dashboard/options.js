// options.js: how a file is read: the options of an upload, their names on the page, and texts of the daemon that name them.

export const choices = {
  encoding: ["Encoding", [["utf-8", "UTF-8"], ["utf-16le", "UTF-16, little-endian"], ["utf-16be", "UTF-16, big-endian"], ["windows-1252", "Windows-1252"]]],
  quote: ["Quotes", [['"', 'double: "a"'], ["'", "single: 'a'"], ["escaped", 'double, with backslashes: "a\\""'], ["none", "none"]]],
  header: ["First line", [["true", "names of the columns"], ["false", "a row"]]],
  row_names: ["First column", [["false", "a column with a name"], ["true", "names of rows, without a name"]]],
  decimal: ["Decimal mark", [[".", "point: 1.5"], [",", "comma: 1,5"]]],
  thousands: ["Between thousands", [["none", "nothing"], [",", "comma: 1,000"], [".", "point: 1.000"], ["'", "apostrophe: 1'000"], ["space", "space: 1 000"]]],
  dates: ["1/2/2024 is", [["day_first", "1 February"], ["month_first", "January 2"]]],
  channels: ["Pictures: colours", [["1", "grey"], ["3", "RGB"]]],
};

export const texts = {
  delimiter: ["Between cells", { placeholder: "detect", list: ["comma", "semicolon", "tab", "pipe", "space"], title: "One character, or its name" }],
  preamble: ["Lines before the table", { placeholder: "detect", type: "number", min: "0", max: "1000" }],
  comment: ["Skipped lines begin with", { placeholder: "detect", maxlength: "4", title: "One character, or none" }],
  missing: ["Words for missing cells", { placeholder: "NA, null, …", title: "Separated by commas; a single comma: only empty cells" }],
  size: ["Pictures: size", { placeholder: "64x64", pattern: "[0-9]+x[0-9]+", title: "HEIGHTxWIDTH" }],
  table: ["JSON: the table", { placeholder: "its name" }],
};

// A text of the daemon. "?decimal=," is the query parameter: here the label of its control, and the value as the control shows it.
export function worded(text) {
  return text.replace(/[?&]([a-z_]+)=([\w-]+|[^\w\s](?=\s|$))?/gu, (asked, key, value) => {
    const [label, said] = choices[key] ?? texts[key] ?? [];
    if (!label) return asked;
    const shown = value && (choices[key] ? said.find(([word]) => word === value)?.[1] ?? value : value);
    return `${asked[0] === "&" ? " and " : ""}“${shown ? `${label}: ${shown}` : label}”`;
  });
}
