#!/usr/bin/env bash
# linear.sh FILE: a linear regression, and a small network beside it, on a table of numbers: CSV whose last
# column is the target, NPY, or flat JSON. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}
file=${1:?linear.sh FILE (a CSV whose last column is the target, or the flat JSON form)}
[[ -r $file ]] || { echo "there is no file $file" >&2 && exit 1; }

# The upload is known by its content. A file that brings no test rows of its own gives a fifth of its rows.
data=$(curl -sS --fail-with-body -T "$file" "$EPOCHD/v1/datasets/linear" |
  jq -c '{dataset: .name, standardize: ["x", "y"]} + if .parts.test then {} else {test: 0.2} end')

train() { # the job on stdin; the last line of its stream is its end
  curl -sSN --fail-with-body "$EPOCHD/v1/jobs" -H 'Accept: application/x-ndjson' -H 'Content-Type: application/json' -d @- |
    tail -n 1
}
show() { jq -c '{status, seconds: .timing.train_seconds, test: .metrics.test | {mse, rmse, mae, r2}}'; }

echo "a linear regression: one linear layer and mse"
end=$(jq -nc --argjson data "$data" '{name: "linear", data: $data,
  model: {layers: [{type: "linear", out_features: 1}]},
  loss: "mse", optimizer: {lr: 0.1}, epochs: 3000}' | train)
show <<<"$end"

echo "its coefficients, of standardized columns"
curl -sSf "$EPOCHD/v1/jobs/$(jq -r .job <<<"$end")/weights?format=json" | jq -c '.tensors | map_values(.data)'

echo "a network of six hidden neurons, 40,000 epochs"
jq -nc --argjson data "$data" '{name: "linear-6", data: $data,
  model: {layers: [{type: "linear", out_features: 6}, {type: "relu"}, {type: "linear", out_features: 1}]},
  loss: "mse", optimizer: {lr: 0.005}, epochs: 40000}' | train | show
