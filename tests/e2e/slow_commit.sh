#!/usr/bin/env bash
# A commit that waits for the disk holds up those who change something, and no reader.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
slow_disk_daemon_start
submit "$(xor_job 100)"
finish "$id"

submitters=()
several_submit() {
  local seed
  for seed in 1 2 3 4; do
    curl -sS --max-time "$patience" "${json[@]}" -d "$(xor_job 100 "{\"seed\": $seed, \"device\": \"$device\"}")" "$url/v1/jobs" >"$scratch/answer$seed" &
    submitters+=($!)
  done
}
disk_holds sqlite-wal several_submit

# Each of these is asked for anew, on connections of its own, while the commit waits for longer than anybody here does.
paths=("/v1/jobs" "/v1/jobs?view=summary" "/v1/jobs/$id" "/v1/jobs/$id/weights" "/v1/jobs/$id/events?follow=0"
  "/v1/jobs/$id/curve" "/v1/queue" "/v1/devices" "/v1/datasets" "/v1/models" "/metrics" "/livez")
ask() {
  for _ in {1..5}; do
    curl -sSf -o /dev/null -w '%{time_total}\n' --max-time 60 "$url$1" || return 1
  done | sort -g | tail -n 1
}
readers=()
for path in "${paths[@]}"; do
  ask "$path" >"$scratch/longest${#readers[@]}" &
  readers+=($!)
done
for i in "${!paths[@]}"; do
  wait "${readers[i]}" || fail "GET ${paths[i]} waits for a commit"
  printf '%-40s at most %s s\n' "${paths[i]/$id/ID}" "$(<"$scratch/longest$i")"
done
for seed in 1 2 3 4; do
  [[ ! -s $scratch/answer$seed ]] || fail "a job was taken before its commit"
done
echo "ok: no GET waits for a commit"

disk_goes_on
wait "${submitters[@]}"
for seed in 1 2 3 4; do
  id=$(jq -r .id "$scratch/answer$seed")
  http GET "/v1/jobs/$id"
  expect 200
done
echo "ok: what was answered 201 is read at once"
daemon_stop
