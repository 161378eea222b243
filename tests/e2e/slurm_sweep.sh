#!/usr/bin/env bash
# One sweep on several workers of a partition: the trials of this machine, to the bit, whatever dies meanwhile: a
# worker, a relay, the gateway, epochd. Slurm's commands only pretend (tests/slurm/fake).
source "$(dirname "${BASH_SOURCE[0]}")/slurm_daemon.sh"
source "$here/../slurm/handover.sh"
skip_if_sanitized
flags=(--slurm-idle-seconds 300 --slurm-workers-max 2)
slurm_start "${flags[@]}"

relays() { cat "$fake_slurm"/[0-9]*_*[0-9] 2>/dev/null | jq -r 'select(.state == "RUNNING") | .process'; }
gateway() { pgrep -P "$daemon" -f -- --slurm-gateway; }
helped() {
  http GET /metrics
  awk '$1 == "epochd_sweep_helped_total" {print $2}' "$body"
}
shared_by_two() {
  [[ $(helped) -gt $before ]] || return 1
  http GET "/v1/sweeps/$id"
  jq -e '.status == "running" and .workers == 2' "$body" >/dev/null
}
# board: the trials of the sweep $id once it has succeeded, without their times, in $board; each once in its log.
board() {
  sweep_finish
  http GET "/v1/sweeps/$id/trials?sort=trial&limit=1000"
  board=$(jq -c '[.data[] | del(.train_seconds)]' "$body")
  http GET "/v1/sweeps/$id/events?follow=0"
  jq -s -e '[.[] | select(.type == "trial") | .number] | . == [range(1; length + 1)] and length > 0' "$body" >/dev/null ||
    fail "trials were lost or doubled: $(jq -s -c '[.[] | select(.type == "trial") | .number]' "$body" | head -c 900)"
}

# trainings of some 20 ms, one at a time on each worker but for the machine's cores
epochs_lasting 0.01
request=$(jq -nc --argjson job "$(xor_job "$epochs" "{\"report_every\": $epochs}")" '{job: $job, metric: "train.loss",
  max_trials: 300, space: {"/optimizer/lr": {log_uniform: [0.01, 1]}, "/seed": {int_uniform: [1, 99]}}}')
sweep_submit "$(jq -c '.job.device = "cpu"' <<<"$request")"
board
expected=$board

# searches that go by results: on one worker and on two
results_search() { # WHAT MORE
  local asked more=$2
  asked=$(jq -c --argjson more "$more" '. + $more' <<<"$request")
  sweep_submit "$(jq -c '.job.device = "cpu"' <<<"$asked")"
  board
  local here=$board
  for workers in 1 2; do
    before=$(helped)
    sweep_submit "$(jq -c --argjson workers "$workers" '.job.device = "slurm:cpu" | .workers = $workers' <<<"$asked")"
    board
    [[ $board == "$here" ]] || fail "$1 on $workers: other trials than here: $(diff <(jq -c ".[]" <<<"$here") <(jq -c ".[]" <<<"$board") | head -6)"
    echo "ok: $1, with at most $workers workers: the trials of this machine; helped with $(($(helped) - before))"
    ((workers > 1 || $(helped) == before)) || fail "$1 on one worker was helped"
  done
}

# two_workers: two jobs at once bring them; they stay for a while.
two_workers() {
  local -a running=()
  for _ in 1 2; do
    submit "$(xor_job "$endless" '{"device": "slurm:cpu", "report_every": 100000}')"
    running+=("$id")
  done
  for id in "${running[@]}"; do until_so "both train" has_trained; done
  for id in "${running[@]}"; do
    http POST "/v1/jobs/$id/cancel"
    ended "$id"
  done
}

two_workers
results_search asha "{\"search\": \"asha\", \"asha\": {\"min_epochs\": $((epochs / 9 + 1))}, \"max_trials\": 100}"
results_search tpe '{"search": "tpe", "max_trials": 40}'

for dies in nothing worker relay gateway epochd; do
  two_workers
  before=$(helped)
  sweep_submit "$(jq -c '.job.device = "slurm:cpu"' <<<"$request")"
  until_so "two workers train it" shared_by_two
  case $dies in
    worker) kill -9 "$(pgrep -P "$(relays | head -1)")" ;;
    relay) kill -9 "$(relays | tail -1)" ;;
    gateway) kill -9 "$(gateway)" ;;
    epochd)
      kill -9 "$daemon"
      wait "$daemon" 2>/dev/null || true
      slurm_start "${flags[@]}"
      ;;
  esac
  board
  [[ $board == "$expected" ]] || fail "$dies: other trials than on this machine: $(diff <(jq -c ".[]" <<<"$expected") <(jq -c ".[]" <<<"$board") | head -6)"
  echo "ok: what dies: $dies"
done
daemon_stop

# epochd is away for longer than workers wait: the results of its worker come with the next one's
flags=(--slurm-reconnect-seconds 1)
slurm_start "${flags[@]}"
sweep_submit "$(jq -c '.job.device = "slurm:cpu" | .workers = 1' <<<"$request")"
begun() { http GET "/v1/sweeps/$id" && jq -e '.progress.done > 0' "$body" >/dev/null; }
until_so "it has begun" begun
epochd_away "${flags[@]}"
board
[[ $board == "$expected" ]] || fail "epochd away: other trials than on this machine"
http GET "/v1/sweeps/$id"
check "it is the second attempt" '.attempt == 2'
grep -q "$id: resumed from the state of its last attempt" "$log" || fail "what was left is not taken up"
echo "ok: epochd is away for longer than its workers wait"
daemon_stop
