#!/usr/bin/env bash
# Sweeps: many trainings by one request. Each trial is the job alone, to the bit; a sweep is watched, paused, cancelled
# and refused as a job is.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
sweep='{"name": "disc", "search": "random", "max_trials": 40, "space": {
          "/optimizer/lr": {"log_uniform": [0.001, 1]}, "/model/layers/0/out_features": {"int_log_uniform": [2, 32]},
          "/model/layers/1/type": {"values": ["tanh", "relu"]}},
        "job": {"data": {"generator": "disc", "rows": 200, "validation": 0.25}, "loss": "cross_entropy", "epochs": 30,
                "model": {"layers": [{"type": "linear"}, {}, {"type": "linear", "out_features": 2}]}, "batch_size": 50}}'
sweep=$(jq -c --arg device "$device" '.job.device = $device' <<<"$sweep")

sweep_submit "$sweep"
sweep_finish
first=$id
check "all trials are done, and there is a best" '.progress == {done: 40, total: 40, fraction: 1} and .best.rank == 1 and .best.metric > 0'
http GET "/v1/sweeps/$id/trials?sort=metric"
check "the leaderboard is in order" '[.data[].metric] as $m | ($m | length) == 40 and $m == ($m | sort) and .total == 40 and .next == null'
cp "$body" "$scratch/board.json"
http GET "/v1/sweeps/$id/trials?format=csv&limit=3"
[[ $(head -1 "$body") == rank,trial,metric,deviation,/optimizer/lr,/model/layers/0/out_features,/model/layers/1/type,outcome,* && $(wc -l <"$body") == 4 ]] || fail "the CSV is $(cat "$body")"
curl -sSf "$url/v1/sweeps/$id/events?follow=0" >"$scratch/events"
sequence "$scratch/events" 1
jq -s -e '[.[] | select(.type == "trial") | .number] == [range(1; 41)]' "$scratch/events" >/dev/null || fail "not each trial has its line"
echo "ok: each trial has its line"

# As the jobs that they are.
for trial in 3 17 29; do
  http POST "/v1/sweeps/$first/trials/$trial/promote"
  expect 201
  job=$(jq -r .id "$body")
  finish "$job"
  check "trial $trial is its job alone" '.metrics.validation.loss == ($board[0].data[] | select(.trial == $n) | .metric) and .tags == [$sweep]' \
    --slurpfile board "$scratch/board.json" --argjson n "$trial" --arg sweep "$first"
done
http GET "/v1/sweeps/$first/trials/17/curve?format=csv"
expect 307
[[ $(header location) == "/v1/jobs/job_"*"/curve?format=csv" ]] || fail "the curve is at $(header location)"

# The same once more, paused and gone on with after a restart of the daemon.
slow=$(jq -c '.max_trials = 300 | .job.epochs = 4000' <<<"$sweep")
sweep_submit "$slow"
some_done() { http GET "/v1/sweeps/$id" && [[ $(jq .progress.done "$body") -gt 3 ]]; }
until_so "some trials are done" some_done
http POST "/v1/sweeps/$id/pause"
expect 202
until_so "the sweep is paused" sweep_is paused
done_then=$(jq .progress.done "$body")
daemon_stop
daemon_start
sweep_is paused || fail "the restart has resumed the sweep"
check "its results are there" '.progress.done == $n and .best != null' --argjson n "$done_then"
http POST "/v1/sweeps/$id/resume"
expect 202
until_so "it goes on" some_done
http POST "/v1/sweeps/$id/cancel"
expect 200
until_so "the sweep is cancelled" sweep_is cancelled
check "what it has found stays" '.progress.done >= $n and .best != null' --argjson n "$done_then"
http DELETE "/v1/sweeps/$id"
expect 204

# Folds and repeats; a job alone, without a space; a limit of time.
sweep_submit "$(jq -c 'del(.job.data.validation) | .folds = 4 | .repeats = 2 | .max_trials = 5' <<<"$sweep")"
sweep_finish
check "a trial has its parts" '.progress.total == 40 and (.best.metrics | length) == 8 and .best.deviation > 0 and
  ((.best.metrics | add / 8) - .best.metric | fabs) < 1e-12'
sweep_submit "$(jq -c '.space = {} | .repeats = {seeds: [5, 6, 7]} | .job.model.layers[0].out_features = 4 | .job.model.layers[1].type = "tanh"' <<<"$sweep")"
sweep_finish
check "no space: one trial" '.progress.total == 3 and (.best.metrics | length) == 3'
sweep_submit "$(jq -c --argjson endless "$endless" '.job.epochs = $endless | .max_seconds = 0.3 | .max_trials = 2 | .job.max_seconds = 0.1' <<<"$sweep")"
sweep_finish
check "max_seconds of the trials" '.progress.done >= 1'

# refused JQ POINTER PATTERN
refused() {
  http POST /v1/sweeps "${json[@]}" -d "$(jq -c "$1" <<<"$sweep")"
  expect 422
  check "refused: $1" '.errors | length >= 1 and any(.[]; .pointer == $pointer and (.detail | test($pattern)))' --arg pointer "$2" --arg pattern "$3"
}
refused '.space["/optimizer/rate"] = {values: [1]}' /space/~1optimizer~1rate 'rate'
refused '.space["/optimizer/lr"] = {uniform: [1, 0.1]}' /space/~1optimizer~1lr/uniform 'reversed'
refused '.space["/optimizer/lr"] = {uniform: [1, 1]}' /space/~1optimizer~1lr/uniform 'empty'
refused '.space["/optimizer/lr"] = {values: []}' /space/~1optimizer~1lr/values 'at least one'
refused '.search = "grid" | del(.space["/optimizer/lr"], .space["/model/layers/0/out_features"]) | .space["/seed"] = {values: [range(50)]} | .job.model.layers[0].out_features = 3' /max_trials 'the grid has 100 points'
refused '.metric = "validation.rmse"' /metric 'no metric "rmse"'
refused '.metric = "test.loss"' /metric 'allow_test_metric'
refused 'del(.job.data.validation)' /metric 'needs a validation split'
refused 'del(.job.data.validation) | .folds = 3 | .stratify = true | .job.data = {generator: "xor"}' /job/data/folds 'class 0 has 2 rows'
refused '.job.folds = 3 | del(.job.data.validation) | .metric = "train.loss"' /job/folds 'belongs to the sweep'
refused '.space["/device"] = {values: ["cpu"]}' /search 'one device after the other'
refused '.space = {"/device": {values: ["cpu", "cuda:77"]}} | del(.search) | .job.model.layers[0].out_features = 3 | .job.model.layers[1].type = "relu"' /space/~1device 'unknown device "cuda:77"'
refused '.job.data.dataset = "none" | del(.job.data.generator, .job.data.rows)' /job/data/dataset 'dataset "none" not found'
http GET "/v1/jobs/$first"
expect 404
http GET "/v1/sweeps/job_00000000000000000000000000"
expect 404
http GET "/v1/jobs?limit=1000"
check "sweeps are not among the jobs" 'all(.data[]; .id | startswith("job_"))'
http GET "/v1/sweeps"
check "nor jobs among the sweeps" 'all(.data[]; (.id | startswith("swp_")) and (has("spec") | not)) and (.data | length) == 4'

# --check reads the results too.
daemon_stop
"$build/bin/epochd" --check --data-dir "$data_dir" >"$scratch/check" || fail "a good folder has faults: $(cat "$scratch/check")"
results=$(find "$data_dir/jobs" -name trials.bin -size +4k | head -n 1)
printf '\377' | dd of="$results" bs=1 seek=1000 conv=notrunc status=none
"$build/bin/epochd" --check --data-dir "$data_dir" >"$scratch/check" && fail "a flipped byte of $results is not seen"
grep -q "^swp_.*trials.bin is damaged after record [0-9]* of [0-9]*$" "$scratch/check" || fail "it says: $(cat "$scratch/check")"
echo "ok: --check finds a result that was flipped"
