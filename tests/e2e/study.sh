#!/usr/bin/env bash
# A study: networks that double, on two devices, one training at a time. The second device is the CPU once more
# (second_device.c), so what it learns is the same, to the bit.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized
[[ $device == cpu ]] || skip "its devices are the CPU, twice"
device=cpu,cuda:0
daemon_start --plugin "$build/tests/e2e/libsecond_device.so" --cpu-jobs 2
until_so "both devices are ready" eval 'curl -sSf "$url/v1/devices" | jq -e ".data | length == 2 and all(.state == \"idle\")" >/dev/null'
net() { jq -nc --argjson layers "$1" '[range(1; $layers) | {type: "linear", out_features: pow(2; . + 1)}, {type: "relu"}] + [{type: "linear", out_features: 2}]'; }
study=$(jq -nc --argjson a "$(net 2)" --argjson b "$(net 4)" --argjson c "$(net 6)" '{
  name: "doubling", metric: "epoch_microseconds", repeats: 2, warm_up: 1, exclusive: true,
  job: {data: {generator: "disc", rows: 500}, loss: "cross_entropy", epochs: 20, batch_size: 100, model: {layers: $a}},
  space: {"/model/layers": {values: [$a, $b, $c]}, "/device": {values: ["cpu", "cuda:0"]}}}')
http POST /v1/sweeps "${json[@]}" -d "$study"
expect 201
id=$(jq -r .id "$body")

# A job that comes meanwhile waits, though there are cores and a second device.
http POST /v1/jobs "${json[@]}" -d '{"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 10, "device": "cpu",
  "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
expect 201
job=$(jq -r .id "$body")
ended "$job"
started=$(jq -r .started_at "$body")
until_so "the study has ended" sweep_is succeeded
check "the study has gone over both devices" '.status == "succeeded" and .progress.done == 12 and .device == "cuda:0"'
check "and nothing began before its end" '.finished_at <= $started' --arg started "$started"
http GET "/v1/sweeps/$id/trials?sort=trial"
check "each network learns the same on both" '[.data[].train_loss] as $loss | $loss[0:3] == $loss[3:6] and ([.data[].values["/device"]] | .[0:3] | unique) == ["cpu"]'
http GET "/v1/sweeps/$id/study"
expect 200
check "cells, axes and controls" '(.cells | length) == 6 and .axes[0].values == ["cpu", "cuda:0"] and (.axes[1].values | length) == 3 and
  [.cells[0:3][].parameters] == [22, 230, 2982] and .controls.batch_size == 100 and all(.cells[]; (.each | length) == 2 and .mean > 0)'
check "per cent of each level" '[.effects[] | [.axis, .level, .cells]] == [[0, 1, 3], [1, 1, 2], [1, 2, 2]]'
check "the per cent is that of the means" '[.cells[].mean] as $m | [range(3) | ($m[. + 3] / $m[.] | log)] as $r |
  (.effects[0].per_cent - 100 * (($r | add / 3 | exp) - 1) | fabs) < 1e-6'
check "two axes together" '.interactions[0].axes == [0, 1] and (.interactions[0].per_cent | length) == 2 and (.interactions[0].per_cent[0] | length) == 3'
check "crossovers lie between the networks" 'all(.crossovers[]; .over == "parameters" and .at >= 22 and .at <= 2982 and .levels == [0, 1])'
