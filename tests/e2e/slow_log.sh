#!/usr/bin/env bash
# A job whose log waits for the disk holds up no other job.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
slow_disk_daemon_start --cpu-jobs 2

submit "$(xor_job "$endless" '{"report_every": 20000}')"
slow=$id
lines() {
  http GET "/v1/jobs/$slow/events?follow=0"
  expect 200
  wc -l <"$body"
}
reports() { (($(lines) > 3)); }
until_so "the job reports" reports

seconds=30
echo "jobs/$slow/events.ndjson $seconds 0" >"$EPOCHD_TEST_DISK"
stuck=0
is_stuck() { # it has no more lines than half a second ago
  local before=$stuck
  sleep 0.5
  stuck=$(lines)
  ((stuck == before))
}
until_so "the log waits for the disk" is_stuck
begun=$SECONDS
for seed in 1 2 3; do
  submit "$(xor_job 2000 "{\"seed\": $seed, \"report_every\": 10}")"
  finish "$id"
  http GET "/v1/jobs/$id/events?follow=0"
  sequence "$body" 1
  (($(wc -l <"$body") >= 203)) || fail "lines of job $id are missing"
done
took=$((SECONDS - begun))
((took < seconds / 2)) || fail "three short jobs took $took s while another job's log waited $seconds s for the disk"
echo "ok: three jobs ended in $took s beside a sync of $seconds s"

: >"$EPOCHD_TEST_DISK"
goes_on() { (($(lines) > stuck)); }
until_so "the job's lines come" goes_on
http POST "/v1/jobs/$slow/cancel"
ended "$slow"
http GET "/v1/jobs/$slow/events?follow=0"
sequence "$body" 1
echo "ok: the slow log has every line once"
daemon_stop
