// compare.mjs FOLDER: each subfolder is a case: model.onnx and what predict.mjs or columns.mjs compares with it. `case` has
// {name, kind: "predict" or "columns", and what is no file}; where it also has `wrong`, the two must differ. One process
// for all: onnxruntime takes a second to start.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-web';
import { columns } from './columns.mjs';
import { predict } from './predict.mjs';

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
let faults = 0;
const cases = readdirSync(process.argv[2]).sort();
for (const each of cases) {
  const at = `${process.argv[2]}/${each}`;
  const { name, kind, wrong, ...files } = read(`${at}/case`);
  for (const file of ['rows', 'predicted', 'weights', 'dataset']) if (existsSync(`${at}/${file}`)) files[file] = read(`${at}/${file}`);
  const session = await ort.InferenceSession.create(readFileSync(`${at}/model.onnx`), { executionProviders: ['wasm'] });
  let found, fault;
  try {
    found = await { columns, predict }[kind](session, files);
  } catch (error) {
    fault = error.message;
  }
  await session.release();
  if (wrong ? !fault : fault) faults++;
  if (wrong) console.log(fault ? `ok: ${wrong} is noticed: ${fault.slice(0, 100)}` : `FAILED: ${name}: ${wrong} went unnoticed`);
  else console.log(fault ? `FAILED: ${name}: onnxruntime says something else: ${fault}` : `ok: ${name}: ${found}`);
}
process.exit(faults === 0 && cases.length > 0 ? 0 : 1);
