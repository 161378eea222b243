#!/usr/bin/env bash
# What dies: a worker, its relay, the gateway, epochd; and a worker that Slurm takes away. No job is lost or doubled,
# and each ends with the weights of a training that nothing disturbed.
source "$(dirname "${BASH_SOURCE[0]}")/slurm_daemon.sh"
source "$here/../slurm/handover.sh"
slurm_start --checkpoint-after 0
flags=(--checkpoint-after 0)

# On a machine that is busy enough a short job ends before it is seen to train: then nothing disturbs it.
trains_or_has_ended() { has_trained || [[ $(jq -r .status "$body") =~ ^(succeeded|failed|cancelled)$ ]]; }
has_begun() { until_so "the job trains" trains_or_has_ended; }
# The processes of the tasks that run: each is a relay.
relays() { cat "$fake_slurm"/[0-9]*_*[0-9] 2>/dev/null | jq -r 'select(.state == "RUNNING") | .process'; }
gateway() { pgrep -P "$daemon" -f -- --slurm-gateway; }
# whole_events WHAT: each report stands in the log of the job $id once, in order: epoch 1, and a hundred others.
whole_events() {
  events_read "$id"
  sequence "$body" 1
  jq -s -e '[.[] | select(.type == "epoch") | .epoch] | . == unique and (. - [1] | length) == 100' "$body" >/dev/null ||
    fail "$1: the epochs are $(jq -s -c '[.[] | select(.type == "epoch") | .epoch]' "$body")"
  jq -s -e '[.[] | select(.type == "end")] | length == 1' "$body" >/dev/null || fail "$1: not one end"
}

# trained SECONDS EVERY: a job of that length with a checkpoint so often, in $job; $here_values are its weights.
trained() {
  epochs_lasting "$1"
  job=$(xor_job "$((epochs / 100 * 100))" "{\"report_every\": $((epochs / 100)), \"checkpoint\": {\"every_seconds\": $2}}")
  submit "$(jq -c '.device = "cpu"' <<<"$job")"
  finish "$id"
  here_values=$(values_of "$id")
}

# disturbed WHAT COMMAND…: the job ends as if the command had not been.
disturbed() {
  local what=$1
  shift
  submit "$(jq -c '.device = "slurm:gpu"' <<<"$job")"
  has_begun
  "$@"
  finish "$id"
  [[ $(values_of "$id") == "$here_values" ]] || fail "$what: other weights"
  whole_events "$what"
  http GET "/v1/jobs/$id"
  echo "ok: $what"
}
nothing() { :; }
some_relay() { [[ -n $(relays) ]]; }
relay() { # Slurm may say a moment after the job began that its task runs
  until_so "Slurm says that the worker runs" some_relay
  relays | head -1
}
relay_term() { kill -TERM "$(relay)"; }
relay_kill() { kill -9 "$(relay)"; }
relay_kill_accounted() {
  echo OUT_OF_MEMORY >"$fake_slurm/accounting"
  relay_kill
}
worker_kill() { kill -9 "$(pgrep -P "$(relay)")"; }
gateway_kill() { kill -9 "$(gateway)"; }
epochd_kill() {
  kill -9 "$daemon"
  wait "$daemon" 2>/dev/null || true
  slurm_start "${flags[@]}"
}
# The worker reports the end to an epochd that reads nothing any more.
epochd_kill_late() {
  kill -STOP "$daemon"
  until_so "the results are there" test -s "$data_dir/jobs/$id/weights.safetensors"
  epochd_kill
}

epochd_dies() {
  kill -9 "$daemon"
  wait "$daemon" 2>/dev/null || true
}
# Slurm takes the worker away meanwhile.
relay_term_away() {
  epochd_dies
  relay_term
  until_so "the relay leaves its job" is_left
  slurm_start "${flags[@]}" --slurm-reconnect-seconds 1 # of the next epochd: the relay has ended
}
# Something takes the relay's connection and does not greet it; meanwhile the worker dies.
worker_kill_ungreeted() {
  local silent
  epochd_dies
  python3 "$here/silent.py" "${workers_address##*:}" "$scratch/connected" &
  silent=$!
  until_so "the relay has a connection" test -s "$scratch/connected"
  worker_kill
  until_so "the relay leaves its job" is_left
  kill "$silent"
  wait "$silent" 2>/dev/null || true
  slurm_start "${flags[@]}" --slurm-reconnect-seconds 1
}
# The job went on from a checkpoint that epochd can only have by what was left.
taken_up() {
  check "it is the second attempt" '.attempt == 2'
  [[ -z $(left) ]] || fail "what was taken up is still there: $(left)"
  http GET "/v1/jobs/$id/events?follow=0"
  jq -s -e '[.[] | select(.type == "restarted") | .epoch][0] > 0' "$body" >/dev/null || fail "the job began anew"
}

# interrupted WHAT COMMAND…: the same of a job that was training when it came. One that had ended before, on a machine
# that had become faster since it was measured, is tried again, twice as long.
interrupted() {
  while disturbed "$@" && [[ $(jq .attempt "$body") != 2 ]]; do
    ((seconds *= 2))
    ((seconds <= 60)) || fail "$1: the job did not go on elsewhere"
    trained "$seconds" 600
  done
}

seconds=3 # longer than it takes to disturb it
trained "$seconds" 600
interrupted "SIGTERM to a worker: its job goes on elsewhere" relay_term
interrupted "a relay is killed where there is accounting" relay_kill_accounted
long_job=$job
long_values=$here_values
rm "$fake_slurm/accounting"
http GET "/v1/jobs/$id/events?follow=0"
grep -q "Slurm's job of the worker ended: OUT_OF_MEMORY, exit code 137:0, after 00:00:[0-9]* on n" "$body" ||
  fail "the job does not say how its worker ended: $(grep -v '"epoch"' "$body" | head -c 1500)"
echo "ok: the accounting says how a worker ended"
trained 1.5 0.1
disturbed "nothing dies" nothing
disturbed "a worker's process is killed" worker_kill
disturbed "a relay is killed" relay_kill
disturbed "the gateway is killed" gateway_kill
check "its job was not interrupted" '.attempt == 1'
disturbed "epochd is killed" epochd_kill
check "its job was not interrupted" '.attempt == 1'
disturbed "epochd is killed with its job's end in hand" epochd_kill_late
check "its job was not interrupted" '.attempt == 1'

job=$long_job
here_values=$long_values
disturbed "SIGTERM to a worker while epochd is away" relay_term_away
taken_up
until_so "the relay gives an epochd up that is not there" grep -q "epochd was given up" "$shared"/logs/*
daemon_stop
slurm_start "${flags[@]}"
job=$(jq -c '.checkpoint.every_seconds = 0.1' <<<"$long_job")
disturbed "a worker's process is killed while nobody greets its relay" worker_kill_ungreeted
taken_up

# cancel
submit "$(xor_job "$endless" '{"device": "slurm:gpu", "report_every": 100000}')"
has_begun
http POST "/v1/jobs/$id/cancel"
ended "$id"
[[ $(jq -r .status "$body") == cancelled ]] || fail "the job is $(jq -r .status "$body")"
echo "ok: a job is cancelled on its node"
daemon_stop

# epochd is away for longer than its workers wait: the job pauses there, and what it left is taken up.
flags+=(--slurm-reconnect-seconds 1)
slurm_start "${flags[@]}"
job=$long_job
here_values=$long_values
away() { epochd_away "${flags[@]}"; }
disturbed "epochd is away for longer than its workers wait" away
check "it is the second attempt" '.attempt == 2'
handed_over
daemon_stop
