#!/usr/bin/env bash
# Trials on a device that trains many of them together: the leaderboard is that of the CPU, which trains one by one, to
# the bit (but for when a trial diverged, which is known to a launch). Here the device is the CPU once more (second_device.c); a GPU's own arithmetic is test_gpu's.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized
[[ $device == cpu ]] || skip "its devices are the CPU, twice"
device=cpu,cuda:0
daemon_start --plugin "$build/tests/e2e/libsecond_device.so"

# board DEVICE REQUEST: the leaderboard of the sweep there, without its times, in $board.
board() {
  local id
  http POST /v1/sweeps "${json[@]}" -d "$(jq -c --arg device "$1" '.job.device = $device' <<<"$2")"
  expect 201
  id=$(jq -r .id "$body")
  until_so "the sweep has ended" eval 'http GET "/v1/sweeps/'"$id"'?wait=5" && jq -e ".finished_at != null" "$body" >/dev/null'
  check "the sweep on $1" '.status == "succeeded" and .device == $device' --arg device "$1"
  http GET "/v1/sweeps/$id/trials?sort=trial&limit=1000"
  board=$(jq -c '[.data[] | del(.train_seconds) | if .outcome == "diverged" then del(.epochs) else . end]' "$body")
}
# same WHAT REQUEST [FILTER]: both devices have the same leaderboard, of which the filter holds.
same() {
  local cpu
  board cpu "$2"
  cpu=$board
  board cuda:0 "$2"
  [[ $cpu == "$board" ]] || fail "$1: $(diff <(jq . <<<"$cpu") <(jq . <<<"$board") | head -20)"
  jq -e "${3:-length > 0}" <<<"$board" >/dev/null || fail "$1: not so (${3:-})"
  echo "ok: $1"
}
net='{"data": {"generator": "disc", "rows": 120, "validation": 0.25, "standardize": ["x"]}, "loss": "cross_entropy",
      "epochs": 60, "batch_size": 30, "optimizer": {"type": "sgd", "lr": 0.1, "momentum": 0.5},
      "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"}, {"type": "dropout", "p": 0.1},
                           {"type": "linear", "out_features": 2}]}}'
sweep() { jq -nc --argjson job "$net" "{job: \$job} + $1"; }

same "numbers differ" "$(sweep '{max_trials: 50, space: {"/optimizer/lr": {log_uniform: [0.001, 1]}, "/seed": {int_uniform: [1, 1000]},
  "/optimizer/momentum": {uniform: [0, 0.9]}, "/model/layers/2/p": {uniform: [0, 0.5]}}}')" 'length == 50 and all(.[]; .outcome == "ok")'
same "shapes differ, some too large for it" "$(sweep '{search: "sobol", max_trials: 32, space: {
  "/model/layers/0/out_features": {int_log_uniform: [2, 100]}, "/optimizer/type": {values: ["sgd"]}}}')"
same "epochs and schedules differ" "$(sweep '{max_trials: 20, space: {"/epochs": {int_uniform: [1, 90]},
  "/schedule": {values: ["constant", "cosine", {type: "step", step_size: 7}]}}}')" 'all(.[]; .epochs == .values["/epochs"])'
same "folds and repeats" "$(sweep '{folds: 3, repeats: 2, max_trials: 6, space: {"/optimizer/lr": {log_uniform: [0.01, 1]}}}' | jq -c 'del(.job.data.validation)')" \
  'all(.[]; (.metrics | length) == 6)'
same "some diverge" "$(sweep '{max_trials: 12, space: {"/optimizer/lr": {log_uniform: [0.001, 1e6]}}}' |
  jq -c '.job.loss = "mse" | .job.model.layers[1].type = "relu" | .job.model.layers[3].out_features = 1')" 'any(.[]; .outcome == "diverged") and any(.[]; .outcome == "ok")'
same "halving, and what depends on results" "$(sweep '{search: "asha", max_trials: 40, asha: {min_epochs: 4}, space: {"/optimizer/lr": {log_uniform: [0.001, 1]}}}')"
same "tpe" "$(sweep '{search: "tpe", max_trials: 30, space: {"/optimizer/lr": {log_uniform: [0.001, 1]}}}')"
same "stops are decided one by one" "$(sweep '{max_trials: 8, space: {"/optimizer/lr": {log_uniform: [0.01, 1]}}}' | jq -c '.job.early_stopping = {patience: 3}')"
