#!/usr/bin/env bash
# The disk is full in the middle of a job: nothing is accepted that cannot be stored, the daemon
# goes on, and with room again the job goes on without a gap in its events.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

mkdir -p "$data_dir"
mount -t tmpfs -o size=16m tmpfs "$data_dir" 2>/dev/null || skip "a tmpfs cannot be mounted here"
trap 'umount -l "$data_dir"; leave' EXIT
daemon_start
epochs_lasting 8
every=$((epochs / 800))
submit "$(xor_job "$epochs" "{\"report_every\": $every}")"
long=$id
begun() { http GET "/v1/jobs/$long" && jq -e '.progress.fraction > 0.1' "$body" >/dev/null; }
until_so "the job reports" begun

http GET "/v1/jobs?limit=100"
accepted=$(jq '.data | length' "$body")
cat /dev/zero >"$data_dir/filler" 2>/dev/null || true
tried_twice() { (($(grep -c 'trying again' "$log") >= 2)); }
until_so "the daemon says that its disk is full, and tries again" tried_twice
http GET /livez
expect 200
http POST /v1/jobs "${json[@]}" -d "$(xor_job 100)"
[[ $code == 503 ]] || fail "a job was answered $code on a full disk: $(head -c 300 "$body")"
http GET "/v1/jobs?limit=100"
check "what was refused is not there" '(.data | length) == $accepted' --argjson accepted "$accepted"
http GET "/v1/jobs/$long"
check "the job still runs" '.status == "running"'

rm "$data_dir/filler"
finish "$long"
http GET "/v1/jobs/$long/events?follow=0"
sequence "$body" 1
check "every report is there once, and one end" \
  '([.[] | select(.type == "epoch").epoch] as $seen | $seen == ($seen | unique) and $seen[-1] == $epochs
    and ([range($every; $epochs; $every)] - $seen == []))
   and ([.[] | select(.type == "end")] | length) == 1' \
  -s --argjson every "$every" --argjson epochs "$epochs"
submit "$(xor_job 100)"
finish "$id"
echo "ok: there is room again, and jobs are accepted and finish"
daemon_stop
