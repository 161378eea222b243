#!/usr/bin/env bash
# The watchdog ends a worker that hangs, and nothing else: not one that waits for the disk, not one
# that was stopped together with epochd, and not one whose reports wait while epochd syncs another
# job's log.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
stall=2
pass_time() { sleep $((2 * stall + 1)); } # more than the watchdog waits: the subject of this test
slow_disk_daemon_start --stall-seconds "$stall" --cpu-jobs 2

workers() { pgrep -P "$daemon" -f epoch-worker || true; }
kills() { grep -c 'is killed' "$log" || true; }
begin() { # SEED: a job without an end that trains, in $id
  submit "$(xor_job "$endless" "{\"report_every\": 20000, \"seed\": $1}")"
  until_so "the job trains" has_trained
}
# goes_on ID: it reports a further epoch, at its first attempt.
goes_on() {
  id=$1
  http GET "/v1/jobs/$id"
  local at
  at=$(jq .progress.epoch "$body")
  until_so "the job goes on" is_beyond "$at"
  check "at its first attempt" '.attempt == 1'
}
is_beyond() { has_trained && (($(jq .progress.epoch "$body") > $1)); }
cancel() {
  http POST "/v1/jobs/$1/cancel"
  ended "$1"
}

# 1. the files of a training wait for the disk
disk_holds weights submit "$(xor_job 2000)"
pass_time
disk_goes_on
finish "$id"
check "a slow fsync of the weights is no stall" '.attempt == 1'

# 2. everything is stopped for longer than that; epochd is continued first
begin 1
stopped=$(workers)
# shellcheck disable=SC2086
kill -STOP "$daemon" $stopped
pass_time
kill -CONT "$daemon"
until_so "epochd logs that it was held up" grep -q 'the supervisor was held up for' "$log"
# shellcheck disable=SC2086
kill -CONT $stopped
goes_on "$id"
echo "ok: who was stopped with epochd did not stall"

# 3. epochd waits for the log of one job while the other one reports
first=$id
begin 2
second=$id
disk_holds "$first/events"
pass_time
disk_goes_on
for id in "$first" "$second"; do goes_on "$id"; done
(($(kills) == 0)) || fail "a worker was killed: $(grep 'is killed' "$log")"
echo "ok: a slow log is nobody's stall"
cancel "$first"

# 4. a worker that hangs by itself is still ended, and the job goes on
id=$second
# shellcheck disable=SC2046
kill -STOP $(workers)
until_so "the watchdog ends the worker" grep -q 'made no progress for' "$log"
again() { has_trained && [[ $(jq .attempt "$body") == 2 ]]; }
until_so "a hung worker is ended, and its job trains again" again
cancel "$id"

# 5. the end of a job after that is not lost
submit "$(xor_job 2000)"
finish "$id"
check "a job after it ends at its first attempt" '.attempt == 1'
daemon_stop
