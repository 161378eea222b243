#!/usr/bin/env bash
# A commit that waits for the disk holds up those who change something, and no reader.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
slow_disk_daemon_start
submit "$(xor_job 100)"
finish "$id"

# Each of these is asked for anew all the time, on connections of its own; prints the longest response time.
paths=("/v1/jobs" "/v1/jobs?view=summary" "/v1/jobs/$id" "/v1/jobs/$id/weights" "/v1/jobs/$id/events?follow=0"
  "/v1/jobs/$id/curve" "/v1/queue" "/v1/devices" "/v1/datasets" "/v1/models" "/metrics" "/livez")
longest() {
  while [[ -e $scratch/asking ]]; do
    curl -sSf -o /dev/null -w '%{time_total}\n' --max-time "$patience" "$url$1" || echo 999
  done | sort -g | tail -n 1
}

seconds=4
before=$id
touch "$scratch/asking"
echo "sqlite-wal $seconds 0" >"$EPOCHD_TEST_DISK"
submitters=()
for seed in 1 2 3 4; do
  curl -sS --max-time "$patience" "${json[@]}" -d "$(xor_job 100 "{\"seed\": $seed, \"device\": \"$device\"}")" "$url/v1/jobs" >"$scratch/answer$seed" &
  submitters+=($!)
done
readers=()
for i in "${!paths[@]}"; do
  longest "${paths[i]}" >"$scratch/longest$i" &
  readers+=($!)
done
sleep "$seconds"
: >"$EPOCHD_TEST_DISK"
wait "${submitters[@]}"
rm "$scratch/asking"
wait "${readers[@]}"
for i in "${!paths[@]}"; do
  printf '%-40s at most %s s\n' "${paths[i]/$before/ID}" "$(<"$scratch/longest$i")"
done
slow=$(cat "$scratch"/longest* | sort -g | tail -n 1)
awk -v slow="$slow" -v seconds="$seconds" 'BEGIN {exit !(slow < seconds / 2)}' ||
  fail "a GET took $slow s while commits took $seconds s each"
echo "ok: no GET waits for a commit"

for seed in 1 2 3 4; do
  id=$(jq -r .id "$scratch/answer$seed")
  http GET "/v1/jobs/$id"
  expect 200
done
echo "ok: what was answered 201 is read at once"
daemon_stop
