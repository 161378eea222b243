#!/usr/bin/env bash
# Pause a job, look at what it has learnt so far, and let it go on where it was. Needs: curl, jq.
# The first checkpoint comes after 5 seconds of training.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}

job=$(curl -sSf "$EPOCHD/v1/jobs" -H 'Content-Type: application/json' -d '{
  "data": {"generator": "disc", "rows": 1000},
  "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]},
  "loss": "bce_with_logits", "optimizer": {"type": "adam", "lr": 0.001}, "batch_size": 100,
  "epochs": 100000000, "report_every": 1000, "checkpoint": {"every_seconds": 1}
}' | jq -r .id)
status() { curl -sSf "$EPOCHD/v1/jobs/$job" | jq -r .status; }

until curl -sSf "$EPOCHD/v1/jobs/$job/checkpoints" | jq -e '.data | length > 0' >/dev/null; do sleep 0.2; done
curl -sSf -X POST "$EPOCHD/v1/jobs/$job/pause" >/dev/null
until [[ $(status) == paused ]]; do sleep 0.2; done
curl -sSf "$EPOCHD/v1/jobs/$job/checkpoints" | jq -c '.data[0] | {step, epoch, loss, bytes}'

# the centre of the disc, and a corner: a logit above 0 is inside
curl -sSf "$EPOCHD/v1/jobs/$job/predict?checkpoint=latest" -H 'Content-Type: application/json' -d '{"x": [[0, 0], [1, 1]]}' |
  jq -c '.predictions'
curl -sSf "$EPOCHD/v1/jobs/$job/checkpoints/latest/weights" -o so-far.safetensors

curl -sSf -X POST "$EPOCHD/v1/jobs/$job/resume" >/dev/null
until [[ $(status) == running ]]; do sleep 0.2; done
curl -sSf -X POST "$EPOCHD/v1/jobs/$job/cancel" >/dev/null
until [[ $(status) == cancelled ]]; do sleep 0.2; done
curl -sSf "$EPOCHD/v1/jobs/$job/events?follow=0" | jq -c 'select(.type == "paused" or .type == "resumed") | {type, epoch}'
