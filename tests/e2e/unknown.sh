#!/usr/bin/env bash
# A submission at whose commit the disk fails is refused, and may be there after a crash: the response says
# so, and the Idempotency-Key tells.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
slow_disk_daemon_start

# post KEY: submits the job with this key.
post() { http POST /v1/jobs "${json[@]}" -H "Idempotency-Key: $1" -d "$(xor_job 100 "{\"device\": \"$device\"}")"; }
# refused KEY: submits it while the disk fails each sync of the store's log with EIO.
refused() {
  disk_fails sqlite-wal
  post "$1"
  expect 500
  check "the response says that the outcome is unknown" \
    '.type == "urn:epochd:problem:outcome_unknown" and (.detail | contains("not known") and contains("Idempotency-Key"))'
  disk_goes_on
}
jobs() { http GET "/v1/jobs?limit=100" && jq '.data | length' "$body"; }

# 1. nothing crashes: the job is not there, and is taken once
refused first
[[ $(jobs) == 0 ]] || fail "a refused job is listed"
post first
expect 201
[[ -z $(header Idempotency-Replayed) ]] || fail "a job that was not there is replayed"
finish "$(jq -r .id "$body")"
[[ $(jobs) == 1 ]] || fail "the job is there $(jobs) times"

# 2. everything dies before the next commit: the job may be there, and there is one of it then
refused second
{ kill -9 "$daemon"; wait "$daemon"; } 2>/dev/null || true
daemon_start
there=$(jobs)
post second
expect 201
finish "$(jq -r .id "$body")"
[[ $(jobs) == 2 ]] || fail "the job is there $(($(jobs) - 1)) times"
echo "ok: of a refused job that was there $((there - 1)) times after the crash there is one"

# 3. a dataset that a crash brings back is whole
daemon_stop
slow_disk_daemon_start
submit "$(xor_job 100)" # the first commit after a start syncs the head of the log alone
finish "$id"
disk_fails sqlite-wal
printf 'x,y\n0,0\n1,1\n2,2\n3,3\n' >"$scratch/line.csv"
http PUT /v1/datasets/line -H 'Content-Type: text/csv' -T "$scratch/line.csv"
expect 500
check "the response says that the outcome is unknown" '.type == "urn:epochd:problem:outcome_unknown"'
{ kill -9 "$daemon"; wait "$daemon"; } 2>/dev/null || true
disk_goes_on
daemon_start
http GET /v1/datasets/line
expect 200
echo "ok: the dataset came back with its content"
((there == 2)) || fail "the crash brought no job back: the test shows nothing"
daemon_stop
