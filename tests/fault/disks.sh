#!/usr/bin/env bash
# Disks that refuse for a while: read-only, full, unreadable, in the middle of a delete, while a sweep begins or ends, and at
# a start. Who asks is told why, and all goes on without a restart once they take everything again.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
EIO=5 ENOSPC=28 EROFS=30 EDQUOT=122
slow_disk_daemon_start --checkpoint-after 0

# post: submits a short job.
post() { http POST /v1/jobs "${json[@]}" -d "$(xor_job 100 "{\"device\": \"$device\"}")"; }
put() { http PUT /v1/datasets/line -H 'Content-Type: text/csv' -T <(printf 'x,y\n1,2\n2,4\n'); }
is() { http GET "/v1/jobs/$id" && [[ $(jq -r .status "$body") == "$1" ]]; }
submit "$(xor_job 100)"
finish "$id"
declare -A refusals=([$EROFS]="Read-only file system" [$ENOSPC]="No space left" [$EDQUOT]="quota")
for number in "$EROFS" "$ENOSPC" "$EDQUOT"; do
  disk_is --kind create,write,mkdir,rename --number "$number"
  put
  expect 503
  check "an upload is refused with the reason" '.detail | contains($reason)' --arg reason "${refusals[$number]}"
  post
  [[ $code == 503 || ($code == 500 && $(jq -r .type "$body") == *outcome_unknown) ]] || fail "a job is answered $code: $(<"$body")"
  disk_goes_on
  post
  expect 201
  finish "$(jq -r .id "$body")"
done

# one that takes half of each write takes the rest with the next one
disk_is --kind half
put
expect 201
disk_goes_on

# a delete: its folder is marked, the row stays, and the folder does not get its name back
whole() { http GET "/v1/jobs/$id/weights" && [[ $code == 200 ]]; }
for fails in write fsync; do
  submit "$(xor_job 100)"
  finish "$id"
  disk_is --kind "rename,$fails" --number "$EIO" --first 2
  http DELETE "/v1/jobs/$id"
  [[ $code == 500 ]] || fail "a delete is answered $code"
  http GET "/v1/jobs/$id"
  expect 200
  http GET "/v1/jobs/$id/weights"
  expect 404
  disk_goes_on
  until_so "the job is whole again" whole
  http DELETE "/v1/jobs/$id"
  expect 204
done

# a folder that cannot be read is no empty one
submit "$(xor_job "$endless" '{"checkpoint": {"every_seconds": 0}}')"
until_so "the job trains" has_trained
http POST "/v1/jobs/$id/pause"
until_so "the job is paused" is paused
disk_is --kind list --part "$id" --number "$EIO"
for path in checkpoints checkpoints/latest/weights; do
  http GET "/v1/jobs/$id/$path"
  expect 500
done
disk_goes_on

# a start over a log that cannot be opened once
daemon_stop
disk_is --kind create --part "$id/events" --number "$EIO" --count 1
slow_disk_daemon_start --checkpoint-after 0
disk_is --fired || fail "no call failed: the test shows nothing"
disk_goes_on
is paused || fail "a disk that stumbled once has ended the job: $(<"$body")"
http POST "/v1/jobs/$id/resume"
until_so "the job trains on" has_trained
http POST "/v1/jobs/$id/cancel"
ended "$id"

# a sweep whose results the disk refuses, where it begins and where it ends
for kind in create fsync; do
  disk_is --kind "$kind" --part trials.bin --number "$ENOSPC"
  sweep_submit "$(jq -nc --argjson job "$(xor_job 20)" '{job: $job, search: "random", max_trials: 3, metric: "train.loss",
    space: {"/optimizer/lr": {log_uniform: [0.01, 1]}}}')"
  warned() { http GET "/v1/sweeps/$id/events?follow=0" && grep -q 'trying again: .*No space left' "$body"; }
  until_so "the sweep says that it waits" warned
  disk_goes_on
  sweep_finish
  http GET "/v1/sweeps/$id/trials"
  check "it has all trials" '.data | length == 3'
done
daemon_stop
"$build/bin/epochd" --check --data-dir "$data_dir" || fail "--check finds faults"
