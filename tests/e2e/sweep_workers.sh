#!/usr/bin/env bash
# One sweep on two GPUs: the leaderboard is that of one device, to the bit, whatever dies meanwhile; a job that waits
# gets a GPU back. Here both GPUs are the CPU once more (second_device.c).
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized
[[ $device == cpu ]] || skip "its devices are the CPU, three times"
device=cpu,cuda:0,cuda:1
daemon_start --plugin "$build/tests/e2e/libsecond_device.so"

# Trainings that helpers have done so far.
helped() {
  http GET /metrics
  awk '$1 == "epochd_sweep_helped_total" {print $2}' "$body"
}
# begin DEVICE REQUEST: the sweep, in $id.
begin() { sweep_submit "$(jq -c --arg device "$1" '.job.device = $device' <<<"$2")"; }
# board: the leaderboard of the sweep $id once it has succeeded, without its times, in $board.
board() {
  sweep_finish
  http GET "/v1/sweeps/$id/trials?sort=trial&limit=1000"
  board=$(jq -c '[.data[] | del(.train_seconds)]' "$body")
  http GET "/v1/sweeps/$id/events?follow=0"
  jq -s -e '[.[] | select(.type == "trial") | .number] | . == [range(1; length + 1)] and length > 0' "$body" >/dev/null ||
    fail "trials were lost or doubled: $(jq -s -c '[.[] | select(.type == "trial") | .number]' "$body" | head -c 900)"
}
# same WHAT: as on the CPU, in $expected.
same() {
  board
  [[ $board == "$expected" ]] || fail "$1: $(diff <(jq . <<<"$expected") <(jq . <<<"$board") | head -20)"
  echo "ok: $1"
}
helps() { [[ $(helped) -gt ${1:-0} ]]; }

# few parameters: the GPUs train such together; many: one by one
sweep() {
  jq -nc --argjson width "$1" --argjson more "$2" '{space: {"/optimizer/lr": {log_uniform: [0.001, 1]}}, job: {
    data: {generator: "disc", rows: 120, validation: 0.25}, loss: "cross_entropy", epochs: 60, batch_size: 30,
    optimizer: {type: "sgd", lr: 0.1, momentum: 0.5},
    model: {layers: [{type: "linear", out_features: $width}, {type: "tanh"}, {type: "linear", out_features: 2}]}}} + $more'
}
for width in 8 60; do
  for more in '{"max_trials": 250}' '{"max_trials": 60, "search": "asha", "asha": {"min_epochs": 4}}' \
    '{"max_trials": 20, "search": "tpe"}' '{"max_trials": 30, "search": "sobol", "repeats": 3}'; do
    request=$(sweep $width "$more")
    begin cpu "$request"
    board
    expected=$board
    before=$(helped)
    begin cuda "$request"
    same "$width wide, $more"
    [[ $more != '{"max_trials": 250}' ]] || helps "$before" || fail "one GPU has trained all of $request"
  done
done

# not more workers than it says
before=$(helped)
begin cuda "$(sweep 60 '{"max_trials": 50, "workers": 1}')"
sweep_finish
check "it says so" '.spec.workers == 1 and .workers == 0'
begin cuda:1 "$(sweep 60 '{"max_trials": 50}')"
sweep_finish
helps "$before" && fail "a sweep of one worker was helped"
echo "ok: a sweep of one worker, and one on one GPU, are not helped"
for count in 0 65 1.5 '"all"'; do
  http POST /v1/sweeps "${json[@]}" -d "$(sweep 60 "{\"workers\": $count}")"
  expect 422
  jq -e '.errors[0].pointer == "/workers"' "$body" >/dev/null || fail "workers: $count: $(<"$body")"
done
echo "ok: what is no number of workers is refused"

# what dies
pid_of() {
  http GET /v1/devices
  jq -r --arg id "$1" '.data[] | select(.id == $id) | .pid' "$body"
}
leader() {
  http GET "/v1/sweeps/$id"
  jq -r '.device // ""' "$body"
}
# Both train it.
shared_by_two() {
  helps "$before" || return 1
  http GET "/v1/sweeps/$id"
  jq -e '.status == "running" and .workers == 2' "$body" >/dev/null
}
request=$(sweep 60 '{"max_trials": 900}')
begin cpu "$request"
board
expected=$board
for dies in helper leader both epochd; do
  before=$(helped)
  begin cuda "$request"
  until_so "two train it" shared_by_two
  first=$(leader)
  other=cuda:$((1 - ${first#cuda:}))
  case $dies in
    helper) kill -9 "$(pid_of "$other")" ;;
    leader) kill -9 "$(pid_of "$first")" ;;
    both) kill -9 "$(pid_of "$other")" "$(pid_of "$first")" ;;
    epochd)
      kill -9 "$daemon"
      wait "$daemon" 2>/dev/null || true
      daemon_start --plugin "$build/tests/e2e/libsecond_device.so"
      ;;
  esac
  same "the same where it dies: $dies"
done

# a job that waits gets a GPU, and the sweep goes on; then it is paused, goes on, and is cancelled
before=$(helped)
begin cuda "$(sweep 60 '{"max_trials": 1000000}')"
running=$id
until_so "two train it" shared_by_two
submit "$(xor_job 100 '{"device": "cuda"}')"
finish "$id"
id=$running
until_so "two train it again" shared_by_two
http GET /v1/devices
check "both GPUs are busy with it" '[.data[] | select(.id != "cpu") | [.state, .jobs]] | all(. == ["busy", [$id]])' --arg id "$id"
http POST "/v1/sweeps/$id/pause"
until_so "it is paused" sweep_is paused
had=$(jq .progress.done "$body")
http POST "/v1/sweeps/$id/resume"
until_so "two train it once more" shared_by_two
check "it goes on where it was" '.progress.done >= $had' --argjson had "$had"
http POST "/v1/sweeps/$id/cancel"
until_so "it is cancelled" sweep_is cancelled
check "it has what it had" '.progress.done >= $had and .workers == 0' --argjson had "$had"
submit "$(xor_job 100 '{"device": "cuda:1"}')"
finish "$id"
daemon_stop

# four GPUs: a job of two replicas takes two that help, the sweep goes on with the others, and has them back afterwards
device=cuda:0,cuda:1,cuda:2,cuda:3
daemon_start --plugin "$build/tests/e2e/libsecond_device.so"
count_is() {
  http GET "/v1/sweeps/$running"
  jq -e '.status == "running" and .workers == $count' --argjson count "$1" "$body" >/dev/null
}
begin cuda "$(sweep 60 '{"max_trials": 1000000}')"
running=$id
until_so "four train it" count_is 4
submit "$(xor_job $endless '{"device": "cuda", "batch_size": 4, "parallel": {"data": 2}}')"
replicas=$id
until_so "two train it" count_is 2
http GET "/v1/jobs/$replicas"
check "the job has begun" '.status == "running" and .parallel.data == 2'
http POST "/v1/jobs/$replicas/cancel"
until_so "four train it again" count_is 4
submit "$(xor_job 100 '{"device": "cuda", "batch_size": 4, "parallel": {"data": 4}}')"
http GET "/v1/jobs/$id"
check "a job of all four waits for the one that leads" '.status == "queued" and .queue_position == 1'
http POST "/v1/sweeps/$running/cancel"
finish "$id"
check "then it gets them" '.status == "succeeded" and (.ranks | length) == 4'
daemon_stop
