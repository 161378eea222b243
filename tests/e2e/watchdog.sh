#!/usr/bin/env bash
# The watchdog ends a worker that hangs, and nothing else: not one that waits for the disk, not one
# that was stopped together with epochd, and not one whose reports wait while epochd syncs another
# job's log.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
stall=2
slow_disk_daemon_start --stall-seconds "$stall" --cpu-jobs 2

workers() { pgrep -P "$daemon" -f epoch-worker || true; }
runs() { http GET "/v1/jobs/$1" && jq -e '.status == "running" and .progress.fraction > 0' "$body" >/dev/null; }
kills() { grep -c 'is killed' "$log" || true; }
epochs_lasting 8
job=$(xor_job "$epochs" "{\"report_every\": $((epochs / 80))}")

# 1. the files of a training take four times the watchdog's time on their way to the disk
echo "weights $((4 * stall)) 0" >"$EPOCHD_TEST_DISK"
submit "$(xor_job 2000)"
finish "$id"
check "a slow fsync of the weights is no stall" '.attempt == 1'
: >"$EPOCHD_TEST_DISK"

# 2. everything is stopped for longer than that; epochd is continued first
submit "$job"
until_so "the job runs" runs "$id"
stopped=$(workers)
# shellcheck disable=SC2086
kill -STOP "$daemon" $stopped
sleep $((2 * stall))
kill -CONT "$daemon"
sleep 0.5
# shellcheck disable=SC2086
kill -CONT $stopped
finish "$id"
check "who was stopped with epochd did not stall" '.attempt == 1'
grep -q 'the supervisor was held up for' "$log" || fail "epochd does not log that it was held up"

# 3. epochd waits for the log of one job while the other one reports
submit "$job"
first=$id
submit "$(jq -c '.seed = 2' <<<"$job")"
second=$id
until_so "the first job runs" runs "$first"
until_so "the second job runs" runs "$second"
echo "$first/events $((2 * stall)) 0" >"$EPOCHD_TEST_DISK"
sleep $((3 * stall))
: >"$EPOCHD_TEST_DISK"
for id in "$first" "$second"; do
  finish "$id"
  check "a slow log is nobody's stall" '.attempt == 1'
done
(($(kills) == 0)) || fail "a worker was killed: $(grep 'is killed' "$log")"

# 4. a worker that hangs by itself is still ended, and the job finishes
submit "$job"
until_so "the job runs" runs "$id"
# shellcheck disable=SC2046
kill -STOP $(workers)
until_so "the watchdog ends the worker" grep -q 'made no progress for' "$log"
finish "$id"
check "a hung worker is ended" '.attempt == 2'
daemon_stop
