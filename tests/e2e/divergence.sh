#!/usr/bin/env bash
# A loss that is not finite ends the job as failed, says when and why, and keeps the last finite weights.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start

submit '{"data": {"inline": {"x": [[1], [2], [3], [4]], "y": [2, 4, 6, 8]}},
         "model": {"layers": [{"type": "linear", "out_features": 1}]},
         "loss": "mse", "optimizer": {"lr": 10}, "epochs": 10000, "report_every": 1}'
ended "$id"
check "the job failed" '.status == "failed"'
check "its error names the epoch and the learning rate" '.error | tostring | test("epoch [0-9]+") and test("learning rate|lr")'
events_read "$id"
sequence "$body" 1
check "the stream ends with the same" '.[-1] | .type == "end" and .status == "failed"' -s
check "no bare NaN, no bare infinity" '[.[].loss | select(. != null)] | length > 1' -s
http GET "/v1/jobs/$id/weights?format=json"
expect 200
check "the last finite weights are kept" '.tensors["0.weight"].data | flatten | length == 1 and all(type == "number")'

submit "$(xor_job 100)"
finish "$id"
echo "ok: the worker goes on with the next job"
