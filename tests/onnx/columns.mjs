// columns.mjs: onnxruntime computes the rows of a table from its raw cells, by the names of the columns, and the daemon's
// response to the same rows must say the same. The files: `rows`, a JSON list of objects; `predicted`, the body of POST
// /predict; `dataset`, that of GET /v1/datasets/{name}, for the columns' types. A cell of words is a string, "" where it is
// null; any other is a float64, NaN where it is null, and of a date the seconds since 1970, which `Date` finds.
import * as ort from 'onnxruntime-web';

const TOLERANCE = 1e-5;
const same = (one, other, what) => {
  if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error(`${what}: ${one} of onnxruntime, ${other} of epochd`);
};

const seconds = (text) => {
  const time = /^(\d+):(\d+):(\d+)$/.exec(text);
  if (time) return Number(time[1]) * 3600 + Number(time[2]) * 60 + Number(time[3]);
  return Date.parse(text.includes('T') ? `${text}Z` : text) / 1000;
};
const number = (cell) => (cell === null ? NaN : typeof cell === 'string' ? seconds(cell) : cell);

// What was found, in words; throws where the two differ.
export async function columns(session, { rows, predicted, dataset }) {
  const types = Object.fromEntries(dataset.columns.map((column) => [column.name, column.type]));
  const feeds = {};
  for (const name of session.inputNames) {
    const cells = rows.map((row) => row[name]);
    if (cells.includes(undefined)) throw new Error(`the graph has an input ${name}, the rows do not`);
    feeds[name] = types[name] === 'category'
      ? new ort.Tensor('string', cells.map((cell) => cell ?? ''), [rows.length, 1])
      : new ort.Tensor('float64', Float64Array.from(cells.map(number)), [rows.length, 1]);
  }
  const outputs = await session.run(feeds);
  const names = session.outputNames;

  let worst = 0;
  const compare = (tensor, values) => {
    same(tensor.dims, [values.length, values[0].length], 'the shape');
    values.flat().forEach((value, i) => {
      const difference = Math.abs(tensor.data[i] - value) / Math.max(1, Math.abs(value));
      worst = Math.max(worst, difference); // NaN, too, and it stays
    });
  };
  compare(outputs[names[0]], predicted.predictions);
  same(names.length, predicted.classes ? 3 : 1, 'the count of outputs');
  if (predicted.classes) {
    same(Array.from(outputs[names[1]].data, (value) => (typeof value === 'bigint' ? Number(value) : value)), predicted.classes, 'the classes');
    compare(outputs[names[2]], predicted.probabilities);
  }
  const found = `${rows.length} rows of ${session.inputNames.join(' ')} to ${names.join(' ')}, greatest difference ${worst.toExponential(2)}`;
  if (!(worst <= TOLERANCE)) throw new Error(found);
  return found;
}
