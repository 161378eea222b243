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

disk_holds "jobs/$slow/events.ndjson" # for longer than anybody here waits
stuck=$(lines)
for seed in 1 2 3; do
  submit "$(xor_job 2000 "{\"seed\": $seed, \"report_every\": 10}")"
  finish "$id"
  events_read "$id"
  sequence "$body" 1
  (($(wc -l <"$body") >= 203)) || fail "lines of job $id are missing"
done
[[ $(lines) == "$stuck" ]] || fail "the log of the slow job goes on: the test shows nothing"
echo "ok: three jobs ended while another one's log waited for the disk"

disk_goes_on
goes_on() { (($(lines) > stuck)); }
until_so "the job's lines come" goes_on
http POST "/v1/jobs/$slow/cancel"
ended "$slow"
events_read "$slow"
sequence "$body" 1
echo "ok: the slow log has every line once"
daemon_stop
