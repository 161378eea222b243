#!/usr/bin/env bash
# sweep.sh FILE: 60 trainings of a small network on a table of numbers (CSV whose last column is the target), with
# learning rates and sizes from a space. Then the best trial becomes a job with weights. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}
file=${1:?sweep.sh FILE (a CSV whose last column is the target)}
[[ -r $file ]] || { echo "there is no file $file" >&2 && exit 1; }
curl -sS --fail-with-body -T "$file" "$EPOCHD/v1/datasets/sweep" >/dev/null

sweep=$(jq -nc '{
  job: {data: {dataset: "sweep", test: 0.2, validation: 0.2, standardize: ["x", "y"]},
        model: {layers: [{type: "linear", out_features: 8}, {type: "tanh"}, {type: "linear", out_features: 1}]},
        loss: "mse", optimizer: {type: "adam"}, batch_size: 32, epochs: 100},
  space: {"/optimizer/lr": {log_uniform: [0.0001, 1]}, "/model/layers/0/out_features": {int_uniform: [2, 32]}},
  max_trials: 60}' |
  curl -sS --fail-with-body "$EPOCHD/v1/sweeps" -H 'Content-Type: application/json' -d @- | jq -r .id)

until curl -sSf "$EPOCHD/v1/sweeps/$sweep?wait=30" | jq -e '.finished_at' >/dev/null; do :; done
echo "the best three of $(curl -sSf "$EPOCHD/v1/sweeps/$sweep" | jq .progress.done), by the loss on the validation rows"
curl -sSf "$EPOCHD/v1/sweeps/$sweep/trials?limit=3" | jq -c '.data[] | {trial, metric, values}'

best=$(curl -sSf "$EPOCHD/v1/sweeps/$sweep" | jq .best.trial)
job=$(curl -sSf -X POST "$EPOCHD/v1/sweeps/$sweep/trials/$best/promote" | jq -r .id)
echo "the best, trained again as $job: on the test rows"
curl -sSf "$EPOCHD/v1/jobs/$job?wait=30" | jq -c '{status, r2: .metrics.test.r2}'
