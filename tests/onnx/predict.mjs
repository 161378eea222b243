// predict.mjs MODEL ROWS SHAPE PREDICTED WEIGHTS: compares what onnxruntime computes of rows of x with what the daemon
// predicted. ROWS: a JSON list of rows, each a list of numbers; SHAPE: of one row, "3" or "1,12,10"; PREDICTED: a JSON
// list of rows of numbers; WEIGHTS: the job's weights as JSON, for the scaling of y.
//
// Both sides compute the network's output z in float32 and y = z * deviation + mean in float64. So an error of z comes
// out multiplied by the deviation, however small y is: y = 0.5 with a deviation of 130 has float32's last place of z at
// 1.6e-5. The comparison is therefore one of z, relative above 1. Each side is within a few roundings of float32
// (2^-24) of the exact z; 32 of them are allowed. Besides, the graph's y is a float32: half of its last place more.
import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-web';

const ROUNDING = 2 ** -24;
const TOLERANCE = 32 * ROUNDING;
const [model, rowsFile, shape, predictedFile, weightsFile] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const rows = read(rowsFile);
const predicted = read(predictedFile);
const columns = predicted[0].length;
const weights = read(weightsFile);
const deviation = weights.y_deviation ?? Array(columns).fill(1);
const mean = weights.y_mean ?? Array(columns).fill(0);
if (deviation.length !== columns || mean.length !== columns) throw new Error(`${deviation.length} deviations of y, ${columns} columns`);

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const session = await ort.InferenceSession.create(readFileSync(model), { executionProviders: ['wasm'] });
if (session.inputNames.join() !== 'x' || session.outputNames.join() !== 'y')
  throw new Error(`inputs ${session.inputNames}, outputs ${session.outputNames}`);

const x = new ort.Tensor('float32', Float32Array.from(rows.flat()), [rows.length, ...shape.split(',').map(Number)]);
const { y } = await session.run({ x });
if (y.data.length !== predicted.length * columns || predicted.length === 0)
  throw new Error(`${y.data.length} numbers of onnxruntime, ${predicted.length * columns} of epochd`);

let worst = 0;
predicted.flat().forEach((said, i) => {
  const column = i % columns;
  const z = (said - mean[column]) / deviation[column];
  const rounded = Math.abs(said) * ROUNDING;
  const difference = Math.max(0, Math.abs(y.data[i] - said) - rounded) / deviation[column] / Math.max(1, Math.abs(z));
  if (!(difference <= worst)) worst = difference; // NaN too
});
console.log(`${rows.length} rows, greatest difference ${worst.toExponential(2)} in units of the network's output`);
process.exit(worst <= TOLERANCE ? 0 : 1);
