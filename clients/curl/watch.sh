#!/usr/bin/env bash
# Watch a job from anywhere, as often as you like: a watcher that was cut continues with ?after=. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}

job=$(curl -sSf "$EPOCHD/v1/jobs" -H 'Content-Type: application/json' -d '{
  "data": {"generator": "xor"},
  "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "sigmoid"}, {"type": "linear", "out_features": 1}]},
  "loss": "mse", "optimizer": {"lr": 0.1},
  "epochs": 2000, "report_every": 100
}' | jq -r .id)

# five lines, then the connection is cut
curl -sSN "$EPOCHD/v1/jobs/$job/events" 2>/dev/null | head -n 5 >events.ndjson || true
after=$(tail -n 1 events.ndjson | jq .seq)
echo "cut after event $after"
curl -sSfN "$EPOCHD/v1/jobs/$job/events?after=$after" >>events.ndjson
jq -r '"\(.seq)\t\(.type)\t\(.loss // "")"' events.ndjson
jq -s -e '[.[].seq] == [range(1; length + 1)] and .[-1].type == "end"' events.ndjson >/dev/null
