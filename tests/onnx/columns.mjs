// columns.mjs MODEL ROWS PREDICTED DATASET: onnxruntime computes the rows of a table from its raw cells, by the names of the
// columns, and the daemon's response to the same rows must say the same. ROWS: a JSON list of objects; PREDICTED: the
// body of POST /predict; DATASET: that of GET /v1/datasets/{name}, for the columns' types. A cell of words is a string, ""
// where it is null; any other is a float64, NaN where it is null, and of a date the seconds since 1970, which `Date` finds.
import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-web';

const TOLERANCE = 1e-5;
const [model, rowsFile, predictedFile, datasetFile] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const rows = read(rowsFile);
const predicted = read(predictedFile);
const same = (one, other, what) => {
  if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error(`${what}: ${one} of onnxruntime, ${other} of epochd`);
};

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const session = await ort.InferenceSession.create(readFileSync(model), { executionProviders: ['wasm'] });

const seconds = (text) => {
  const time = /^(\d+):(\d+):(\d+)$/.exec(text);
  if (time) return Number(time[1]) * 3600 + Number(time[2]) * 60 + Number(time[3]);
  return Date.parse(text.includes('T') ? `${text}Z` : text) / 1000;
};
const number = (cell) => (cell === null ? NaN : typeof cell === 'string' ? seconds(cell) : cell);

const types = Object.fromEntries(read(datasetFile).columns.map((column) => [column.name, column.type]));
const feeds = {};
for (const name of session.inputNames) {
  const cells = rows.map((row) => row[name]);
  if (cells.includes(undefined)) throw new Error(`the graph has an input ${name}, the rows do not`);
  feeds[name] = types[name] === 'category'
    ? new ort.Tensor('string', cells.map((cell) => cell ?? ''), [rows.length, 1])
    : new ort.Tensor('float64', Float64Array.from(cells.map(number)), [rows.length, 1]);
}
const found = await session.run(feeds);
const names = session.outputNames;

let worst = 0;
const compare = (tensor, values) => {
  same(tensor.dims, [values.length, values[0].length], 'the shape');
  values.flat().forEach((value, i) => {
    const difference = Math.abs(tensor.data[i] - value) / Math.max(1, Math.abs(value));
    if (!(difference <= worst)) worst = difference; // NaN too
  });
};
compare(found[names[0]], predicted.predictions);
same(names.length, predicted.classes ? 3 : 1, 'the count of outputs');
if (predicted.classes) {
  same(Array.from(found[names[1]].data, (value) => (typeof value === 'bigint' ? Number(value) : value)), predicted.classes, 'the classes');
  compare(found[names[2]], predicted.probabilities);
}
console.log(`${rows.length} rows of ${session.inputNames.join(' ')} to ${names.join(' ')}, greatest difference ${worst.toExponential(2)}`);
process.exit(worst <= TOLERANCE ? 0 : 1);
