// predict.mjs: compares what onnxruntime computes of rows of x with what the daemon predicted. The files: `rows`, a JSON
// list of rows, each a list of numbers; `predicted`, a JSON list of rows of numbers; `weights`, the job's weights as JSON,
// for the scaling of y. `shape`: of one row, "3" or "1,12,10".
//
// Both sides compute the network's output z in float32 and y = z * deviation + mean in float64. So an error of z comes
// out multiplied by the deviation, however small y is: y = 0.5 with a deviation of 130 has float32's last place of z at
// 1.6e-5. The comparison is therefore one of z, relative above 1. Each side is within a few roundings of float32
// (2^-24) of the exact z; 32 of them are allowed. Besides, the graph's y is a float32: half of its last place more.
import * as ort from 'onnxruntime-web';

const ROUNDING = 2 ** -24;
const TOLERANCE = 32 * ROUNDING;

// What was found, in words; throws where the two differ.
export async function predict(session, { rows, shape, predicted, weights }) {
  const columns = predicted[0].length;
  const deviation = weights.y_deviation ?? Array(columns).fill(1);
  const mean = weights.y_mean ?? Array(columns).fill(0);
  if (deviation.length !== columns || mean.length !== columns) throw new Error(`${deviation.length} deviations of y, ${columns} columns`);

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
    worst = Math.max(worst, difference); // NaN, too, and it stays
  });
  const found = `${rows.length} rows, greatest difference ${worst.toExponential(2)} in units of the network's output`;
  if (!(worst <= TOLERANCE)) throw new Error(found);
  return found;
}
