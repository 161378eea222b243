#!/usr/bin/env bash
# A job that is running whenever epochd dies, and comes no further, fails after --crashes-max deaths;
# the jobs behind it go on. A stop that is no death does not count, nor does a death after a new epoch.
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
ended "$bad"
check "it fails with its reason" \
  '.status == "failed" and (.error.message | contains("epochd died 3 times in a row while this job ran"))'
events_read "$bad"
check "and its log has an end" '.[-1].type == "end"' -s
finish "$behind"
echo "ok: the job behind it goes on"

# With new epochs between the deaths none of them counts.
submit "$(xor_job "$endless" '{"report_every": 1000}')"
epoch=0
for _ in 1 2 3 4; do
  until_so "the job comes further" progressed "$id" "$epoch"
  epoch=$(logged "$id")
  die
done
until_so "it runs after four deaths" progressed "$id" "$epoch"

# 0 switches it off.
http POST "/v1/jobs/$id/cancel"
ended "$id"
submit "$(xor_job "$endless" "{\"report_every\": $endless}")"
for _ in 1 2 3 4; do
  until_so "the job runs" runs "$id"
  die --crashes-max 0
done
until_so "no number of deaths is too many" runs "$id"
echo "ok: 0 switches it off"
daemon_stop
