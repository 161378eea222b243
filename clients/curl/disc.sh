#!/usr/bin/env bash
# disc.sh [LAYERS]: which points of the unit square lie inside a circle? A classifier whose layers double (2-4-8-…),
# 2 layers unless given, and its predictions for new points. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}
layers=${1:-2}
[[ $layers =~ ^([2-9]|1[0-2])$ ]] || { echo "disc.sh [LAYERS]: from 2 to 12" >&2 && exit 1; }

job=$(jq -nc --argjson layers "$layers" '{
  name: "disc-\($layers)",
  data: {generator: "disc", rows: 1000, seed: 1, standardize: ["x"]},
  model: {layers: ([range(1; $layers) | {type: "linear", out_features: pow(2; . + 1)}, {type: "relu"}] +
                   [{type: "linear", out_features: 2}])},
  loss: "cross_entropy", optimizer: {lr: 0.1}, epochs: 100, batch_size: 100, report_every: 20}' |
  curl -sSN --fail-with-body "$EPOCHD/v1/jobs" -H 'Accept: application/x-ndjson' -H 'Content-Type: application/json' -d @- |
  tee disc.ndjson | tail -n 1 | jq -r .job)
jq -c 'select(.type == "epoch") | {epoch, loss, error}' disc.ndjson
curl -sSf "$EPOCHD/v1/jobs/$job" |
  jq -c '{status, parameters: .model.parameters, seconds: .timing.train_seconds, test: .metrics.test | {accuracy, confusion}}'

# (0.1, 0.1) lies inside the circle, (0.9, 0.9) outside: the greater output is the class
curl -sSf "$EPOCHD/v1/jobs/$job/predict" -H 'Content-Type: application/json' -d '{"x": [[0.1, 0.1], [0.9, 0.9]]}' |
  jq -c '[.predictions[] | index(max)]'
