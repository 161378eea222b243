#!/usr/bin/env bash
# Submit a job and watch it learn, in one request. Needs: curl. EPOCHD is where the daemon listens.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}

curl -sSfN "$EPOCHD/v1/jobs" -H 'Accept: application/x-ndjson' -H 'Content-Type: application/json' -d '{
  "data": {"generator": "xor"},
  "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]},
  "loss": "bce_with_logits",
  "optimizer": {"type": "sgd", "lr": 0.5, "momentum": 0.9},
  "epochs": 1000, "report_every": 100
}'
