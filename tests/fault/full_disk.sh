#!/usr/bin/env bash
# The disk is full in the middle of a job: nothing is accepted that cannot be stored, the daemon
# goes on, jobs and data sets can be deleted without a free byte, and with room again the job goes on without
# a gap in its events.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

small_disk 16m
reserve=(--reserve-bytes 1000000)
daemon_start "${reserve[@]}"
epochs_lasting 4
every=$((epochs / 800))
declare -a old=()
for ((i = 0; i < 3; i++)); do
  submit "$(xor_job 100)"
  finish "$id"
  old+=("$id")
done
printf '1,2\n3,4\n' >"$scratch/table.csv"
http PUT /v1/datasets/table -T "$scratch/table.csv"
expect 201
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


fill() { cat /dev/zero >>"$data_dir/filler" 2>/dev/null || true; }
gone() { # PATH: it is deleted on a disk without a free byte
  fill
  http DELETE "$1"
  expect 204
  http GET "$1"
  expect 404
}
gone "/v1/jobs/${old[0]}"
gone /v1/datasets/table
[[ ! -e $data_dir/jobs/${old[0]} && -z $(ls "$data_dir/datasets") ]] || fail "files are left of what was deleted"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
fill
daemon_start "${reserve[@]}"
gone "/v1/jobs/${old[1]}"
http GET "/v1/jobs/${old[2]}"
check "the other one is there" '.status == "succeeded"'
grep -q "the disk is full: a delete takes the room of" "$log" || fail "the daemon does not log that the disk was full"
echo "ok: jobs and data sets are deleted on a full disk, also after a start on it"

rm "$data_dir/filler"
finish "$long"
events_read "$long"
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
