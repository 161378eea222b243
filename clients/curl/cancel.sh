#!/usr/bin/env bash
# Look before you leap (?validate=only), start something long, and call it off. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}

spec='{
  "data": {"generator": "xor"},
  "model": {"layers": [{"type": "linear", "out_features": 64}, {"type": "relu"}, {"type": "linear", "out_features": 1}]},
  "loss": "mse", "epochs": 100000000, "report_every": 1000000
}'
curl -sSf "$EPOCHD/v1/jobs?validate=only" -H 'Content-Type: application/json' -d "$spec" |
  jq -c '{parameters, bytes, estimates}'
job=$(curl -sSf "$EPOCHD/v1/jobs" -H 'Content-Type: application/json' -d "$spec" | jq -r .id)
curl -sSf -X POST "$EPOCHD/v1/jobs/$job/cancel" >/dev/null
until [[ $(curl -sSf "$EPOCHD/v1/jobs/$job?wait=5" | jq -r .status) == cancelled ]]; do :; done
curl -sSf "$EPOCHD/v1/jobs/$job" | jq -c '{status, progress}'
