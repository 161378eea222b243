#!/usr/bin/env bash
# logistic.sh FILE: a logistic regression on a table whose last column is 0 or 1 (CSV, NPY, or flat JSON).
# Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}
file=${1:?logistic.sh FILE (a CSV whose last column is 0 or 1, or the flat JSON form)}
[[ -r $file ]] || { echo "there is no file $file" >&2 && exit 1; }

data=$(curl -sS --fail-with-body -T "$file" "$EPOCHD/v1/datasets/logistic" |
  jq -c '{dataset: .name, standardize: ["x"]} + if .parts.test then {} else {test: 0.2} end')

# one linear layer whose output goes through a sigmoid within the loss
job=$(jq -nc --argjson data "$data" '{name: "logistic", data: $data,
  model: {layers: [{type: "linear", out_features: 1}]},
  loss: "bce_with_logits", optimizer: {lr: 0.5}, epochs: 2000}' |
  curl -sS --fail-with-body "$EPOCHD/v1/jobs" -H 'Content-Type: application/json' -d @- | jq -r .id)

# ?wait= returns once the job has ended, or after that many seconds
until [[ $(curl -sSf "$EPOCHD/v1/jobs/$job?wait=10" | jq -r .status) =~ succeeded|failed|cancelled ]]; do :; done
curl -sSf "$EPOCHD/v1/jobs/$job" | jq -c '{status, test: .metrics.test | {accuracy, roc_auc, precision, recall}}'

# rows are the true classes 0 and 1, columns the predicted ones; where nearly all rows are 0, the share of
# right 1s tells more than accuracy
curl -sSf "$EPOCHD/v1/jobs/$job" | jq -c '.metrics.test.confusion[]'
