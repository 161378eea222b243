#!/usr/bin/env bash
# Train a classifier, then ask it about new points. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}

job=$(curl -sSfN "$EPOCHD/v1/jobs" -H 'Accept: application/x-ndjson' -H 'Content-Type: application/json' -d '{
  "data": {"generator": "disc", "rows": 500, "standardize": ["x"]},
  "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "tanh"}, {"type": "linear", "out_features": 2}]},
  "loss": "cross_entropy", "optimizer": {"lr": 0.1, "momentum": 0.9},
  "epochs": 200, "batch_size": 50
}' | tail -n 1 | jq -r .job)

# (0.1, 0.1) lies inside the circle, (0.9, 0.9) outside: the second output is greater for the first point alone
answer=$(curl -sSf "$EPOCHD/v1/jobs/$job/predict" -H 'Content-Type: application/json' -d '{"x": [[0.1, 0.1], [0.9, 0.9]]}')
jq -c .predictions <<<"$answer"
jq -e '.predictions | (.[0][1] > .[0][0]) and (.[1][1] < .[1][0])' <<<"$answer" >/dev/null
