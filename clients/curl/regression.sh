#!/usr/bin/env bash
# Upload a CSV, fit a line through it, read its coefficients. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}

cat >cars.csv <<'CSV'
weight,power,consumption
950,55,5.1
1100,75,6.0
1250,90,6.7
1400,110,7.6
1050,60,5.6
1600,150,9.1
1350,95,7.1
1750,170,9.9
CSV
curl -sSf -T cars.csv "$EPOCHD/v1/datasets/cars" | jq -c '{name, format, columns: [.columns[].name]}'

job=$(curl -sSf "$EPOCHD/v1/jobs" -H 'Content-Type: application/json' -d '{
  "name": "cars",
  "data": {"dataset": "cars", "target": "consumption", "standardize": ["x", "y"]},
  "model": {"layers": [{"type": "linear", "out_features": 1}]},
  "loss": "mse", "optimizer": {"lr": 0.1}, "epochs": 2000
}' | jq -r .id)

# ?wait= answers when the job has changed, at the latest after so many seconds
until [[ $(curl -sSf "$EPOCHD/v1/jobs/$job?wait=10" | jq -r .status) =~ succeeded|failed|cancelled ]]; do :; done
curl -sSf "$EPOCHD/v1/jobs/$job" | jq -c '{status, seconds: .timing.train_seconds, train: .metrics.train | {mse, r2}}'
curl -sSf "$EPOCHD/v1/jobs/$job/weights?format=json" | jq -c '.tensors | map_values(.data)'
