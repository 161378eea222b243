#!/usr/bin/env bash
# A job that is running whenever epochd dies, and comes no further, is paused after --crashes-max
# deaths, until it is resumed; the jobs behind it go on. A stop that is no death does not count, nor does a death after a
# new epoch or a new checkpoint.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

runs() { http GET "/v1/jobs/$1" && jq -e '.status == "running" and .executor != null' "$body" >/dev/null; }
# logged ID: the last epoch that its log has; what the job shows may be ahead of it, and goes with a death.
logged() { http GET "/v1/jobs/$1/events?follow=0" && jq -s '[.[] | select(.type == "epoch").epoch] | max // 0' "$body"; }
progressed() { (($(logged "$1") > $2)); }
die() {
  { kill -9 "$daemon" && wait "$daemon"; } 2>/dev/null || true
  daemon_start --cpu-jobs 1 "$@"
}

daemon_start --cpu-jobs 1
# One line at the end: no new epoch before that.
submit "$(xor_job "$endless" "{\"report_every\": $endless}")"
bad=$id
submit "$(xor_job 100)"
behind=$id
for _ in 1 2 3 4; do
  until_so "the job runs" runs "$bad"
  daemon_stop
  daemon_start --cpu-jobs 1
done
for _ in 1 2; do
  until_so "the job runs after stops and fewer deaths than three" runs "$bad"
  die
done
until_so "the job runs after two deaths" runs "$bad"
die
paused() { http GET "/v1/jobs/$1" && jq -e '.status == "paused"' "$body" >/dev/null; }
reason='.warning | contains("epochd died 3 times in a row while this job ran")'
until_so "the job is paused" paused "$bad"
check "it says why" "$reason"
http GET '/v1/jobs?view=summary&state=paused'
check "as does the list" ".data[0] | $reason"
http GET "/v1/jobs/$bad/events?follow=0"
check "and its log" '.[-2:] | map(.type) == ["warning", "paused"]' -s
finish "$behind"
echo "ok: the job behind it goes on"
die
until_so "it is still paused" paused "$bad"
check "for the same reason" "$reason"
for _ in 1 2; do # resumed, it has as many deaths before it as at first
  http POST "/v1/jobs/$bad/resume"
  expect 202
  for _ in 1 2; do
    until_so "the resumed job runs" runs "$bad"
    check "and has no reason to wait" '.warning == null'
    die
  done
  until_so "it runs after two deaths" runs "$bad"
  die
  until_so "it is paused once more" paused "$bad"
done
http POST "/v1/jobs/$bad/cancel"
ended "$bad"
check "and can be cancelled" '.status == "cancelled"'

# With new epochs between the deaths none of them counts.
submit "$(xor_job "$endless" '{"report_every": 1000}')"
epoch=0
for _ in 1 2 3 4; do
  until_so "the job comes further" progressed "$id" "$epoch"
  epoch=$(logged "$id")
  die
done
until_so "it runs after four deaths" progressed "$id" "$epoch"

# A checkpoint is progress without a new epoch in the log, too, and a job that wants them often has them early.
http POST "/v1/jobs/$id/cancel"
ended "$id"
die --checkpoint-after 86400
submit "$(xor_job "$endless" "{\"report_every\": $endless, \"checkpoint\": {\"every_seconds\": 0.1}}")"
newest() { http GET "/v1/jobs/$1/checkpoints" && jq '.data[0].step // 0' "$body"; }
saved() { (($(newest "$1") > $2)); }
step=0
for _ in 1 2 3 4; do
  until_so "the job has a newer checkpoint" saved "$id" "$step"
  step=$(newest "$id")
  die --checkpoint-after 86400
done
until_so "it runs after four deaths" runs "$id"

# A sweep whose first training does not end is paused like a job, and none of them has failed.
http POST "/v1/jobs/$id/cancel"
ended "$id"
http POST /v1/sweeps "${json[@]}" -d "{\"job\": $(xor_job "$endless"), \"space\": {\"/seed\": {\"values\": [1, 2]}}, \"metric\": \"train.loss\"}"
expect 201
sweep=$(jq -r .id "$body")
sweep_runs() { http GET "/v1/sweeps/$sweep/events?follow=0" && jq -se --argjson starts "$1" '[.[] | select(.type == "started" or .type == "restarted")] | length == $starts' "$body" >/dev/null; }
for start in 1 2 3; do
  until_so "the sweep runs" sweep_runs "$start"
  die
done
sweep_paused() { http GET "/v1/sweeps/$sweep" && jq -e '.status == "paused"' "$body" >/dev/null; }
until_so "the sweep is paused" sweep_paused
check "it says why" "$reason"
http GET '/v1/jobs?state=failed'
check "no job has failed" '.data == []'
http POST "/v1/sweeps/$sweep/cancel"
echo "ok: jobs and sweeps that run at three deaths are paused and never fail"

# 0 switches it off.
submit "$(xor_job "$endless" "{\"report_every\": $endless}")"
for _ in 1 2 3 4; do
  until_so "the job runs" runs "$id"
  die --crashes-max 0
done
until_so "no number of deaths is too many" runs "$id"
echo "ok: 0 switches it off"
daemon_stop
