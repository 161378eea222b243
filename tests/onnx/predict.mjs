// predict.mjs MODEL ROWS SHAPE PREDICTED: what onnxruntime says of rows of x, beside what the daemon
// said. ROWS: a JSON list of rows, each a list of numbers; SHAPE: of one row, "3" or "1,12,10";
// PREDICTED: a JSON list of rows of numbers. Fails over 1e-5, relative above 1.
import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-web';

const TOLERANCE = 1e-5;
const [model, rowsFile, shape, predictedFile] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const rows = read(rowsFile);
const predicted = read(predictedFile).flat();

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const session = await ort.InferenceSession.create(readFileSync(model), { executionProviders: ['wasm'] });
if (session.inputNames.join() !== 'x' || session.outputNames.join() !== 'y')
  throw new Error(`inputs ${session.inputNames}, outputs ${session.outputNames}`);

const x = new ort.Tensor('float32', Float32Array.from(rows.flat()), [rows.length, ...shape.split(',').map(Number)]);
const { y } = await session.run({ x });
if (y.data.length !== predicted.length || predicted.length === 0)
  throw new Error(`${y.data.length} numbers of onnxruntime, ${predicted.length} of epochd`);

let worst = 0;
predicted.forEach((said, i) => {
  const difference = Math.abs(y.data[i] - said) / Math.max(1, Math.abs(said));
  if (!(difference <= worst)) worst = difference; // NaN too
});
console.log(`${rows.length} rows, greatest difference ${worst.toExponential(2)}`);
process.exit(worst <= TOLERANCE ? 0 : 1);
