#!/usr/bin/env bash
# Checkpoints, pause and resume over HTTP: whatever stops a job, it goes on and ends with the weights
# of one that nothing stopped.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start --checkpoint-after 0 --cpu-jobs 1
epochs_lasting 2.5
job=$(xor_job "$epochs" "{\"report_every\": $((epochs / 200)), \"seed\": 3, \"checkpoint\": {\"every_seconds\": 0.2, \"keep\": 3}}")

trained() { http GET "/v1/jobs/$1" && jq -e '.status == "running" and .progress.fraction > 0.2' "$body" >/dev/null; }
status_is() { http GET "/v1/jobs/$1" && [[ $(jq -r .status "$body") == "$2" ]]; }
checkpointed() { http GET "/v1/jobs/$1/checkpoints" && jq -e '.data | length > 0' "$body" >/dev/null; }
# weights ID: the hash of its tensors, without the notes, which name the spec
tensors() {
  http GET "/v1/jobs/$1/weights?format=json"
  expect 200
  jq -cS .tensors "$body" | sha256sum | cut -d ' ' -f 1
}
whole_log() {
  http GET "/v1/jobs/$1/events?follow=0"
  sequence "$body" 1
  check "every epoch is there once" -s '[.[] | select(.type == "epoch").epoch] as $e | ($e | length) == ($e | unique | length) and $e[-1] == $n' --argjson n "$2"
}

submit "$job"
undisturbed=$id
finish "$undisturbed"
expected=$(tensors "$undisturbed")

# 1. paused, resumed
submit "$job"
paused=$id
until_so "the job trains" trained "$paused"
http POST "/v1/jobs/$paused/pause"
expect 202
check "it pauses" '.status == "pausing" or .status == "paused"'
until_so "the job is paused" status_is "$paused" paused
http GET "/v1/jobs/$paused"
at=$(jq .progress.epoch "$body")
http POST "/v1/jobs/$paused/pause"
expect 202
http GET "/v1/jobs/$paused/checkpoints"
expect 200
check "its checkpoints are listed, the newest first" \
  '(.data | length > 0) and (.data[0].epoch == $at) and ([.data[].step] | . == (sort | reverse))' --argjson at "$at"
step=$(jq .data[0].step "$body")
sha256=$(jq -r .data[0].weights.sha256 "$body")
for name in latest "$step"; do
  http GET "/v1/jobs/$paused/checkpoints/$name/weights"
  expect 200
  [[ $(sha256sum <"$body" | cut -d ' ' -f 1) == "$sha256" ]] || fail "the weights of checkpoint $name are not those listed"
done
http GET "/v1/jobs/$paused/checkpoints/1/weights"
expect 404
http GET "/v1/jobs/$paused/checkpoints/none/weights"
expect 400
http POST "/v1/jobs/$paused/predict?checkpoint=latest" "${json[@]}" -d '{"x": [[0, 1]]}'
expect 200
http POST "/v1/jobs/$paused/predict" "${json[@]}" -d '{"x": [[0, 1]]}'
expect 409
http DELETE "/v1/jobs/$paused"
expect 409
echo "ok: a running job is paused, its checkpoints are listed, downloaded, and used for predictions"

# 2. the daemon dies while it is paused
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
daemon_start --checkpoint-after 0 --cpu-jobs 1
status_is "$paused" paused || fail "the job is not paused after a restart of the daemon"
check "its place is known" '.progress.epoch <= $at and .progress.epoch > 0' --argjson at "$at"
http POST "/v1/jobs/$paused/resume"
expect 202
finish "$paused"
[[ $(tensors "$paused") == "$expected" ]] || fail "a job that was paused ends with other weights"
whole_log "$paused" "$epochs"
check "pause and resume are in its log" -s '[.[] | select(.type == "paused" or .type == "resumed").type] == ["paused", "resumed"]'
check "and checkpoints" -s '[.[] | select(.type == "checkpoint")] | length > 0'
http POST "/v1/jobs/$paused/pause"
expect 409
http POST "/v1/jobs/$paused/resume"
expect 409
echo "ok: a paused job stays paused over a crash, and ends with the weights of an undisturbed one"

# 3. the worker, and everything, killed: it goes on from its checkpoint
submit "$job"
killed=$id
until_so "the job trains" trained "$killed"
until_so "it has a checkpoint" checkpointed "$killed"
# shellcheck disable=SC2046
kill -9 $(pgrep -P "$daemon" -f epoch-worker)
restarted() { http GET "/v1/jobs/$killed/events?follow=0" && grep -q '"type":"restarted"' "$body"; }
until_so "it is started again" restarted
check "from a checkpoint" -s 'first(.[] | select(.type == "restarted")) | .epoch > 0 and (.message | contains("going on from epoch"))'
until_so "it trains again" trained "$killed"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
daemon_start --checkpoint-after 0 --cpu-jobs 1
finish "$killed"
[[ $(tensors "$killed") == "$expected" ]] || fail "a job that was killed ends with other weights"
whole_log "$killed" "$epochs"
check "it never began again" -s '[.[] | select(.type == "restarted").epoch] | length >= 2 and min > 0'
echo "ok: killed jobs go on from their checkpoints, and end with the same weights"

# 4. SIGTERM: a checkpoint, then the end
submit "$job"
stopped=$id
until_so "the job trains" trained "$stopped"
daemon_stop
daemon_start --checkpoint-after 0 --cpu-jobs 1
finish "$stopped"
[[ $(tensors "$stopped") == "$expected" ]] || fail "a job that SIGTERM stopped ends with other weights"
whole_log "$stopped" "$epochs"
echo "ok: SIGTERM costs a running job nothing"

# 5. a queued job is paused; a paused job is cancelled; a cancel is not forgotten
submit "$job"
running=$id
until_so "the job trains" trained "$running"
submit "$(xor_job 1000 '{"priority": -5}')"
queued=$id
http POST "/v1/jobs/$queued/pause"
expect 202
check "a queued job is paused at once" '.status == "paused"'
http POST "/v1/jobs/$running/pause"
until_so "the job is paused" status_is "$running" paused
http POST "/v1/jobs/$running/cancel"
expect 200
status_is "$running" cancelled || fail "a paused job is not cancelled at once"
http POST "/v1/jobs/$queued/resume"
finish "$queued"
submit "$job"
cancelled=$id
until_so "the job trains" trained "$cancelled"
http POST "/v1/jobs/$cancelled/cancel"
expect 200
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
daemon_start --checkpoint-after 0 --cpu-jobs 1
until_so "the job is cancelled" status_is "$cancelled" cancelled
echo "ok: jobs are paused and cancelled wherever they are, and a crash forgets no cancel"

# 6. a job that goes on where another one ended; one that begins with a checkpoint; max_seconds
momentum=',"optimizer": {"type": "adam", "lr": 0.01}'
half=$((epochs / 8))
spec() { printf '{"data": {"generator": "xor"}, "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"}, {"type": "linear", "out_features": 2}]%s}, "loss": "cross_entropy", "seed": 5, "device": "%s"%s, "epochs": %d, "report_every": %d}' "$1" "$device" "$momentum" "$2" "$((half / 10))"; }
submit "$(spec '' $((2 * half)))"
once=$id
finish "$once"
submit "$(spec '' "$half")"
first=$id
finish "$first"
submit "$(spec ", \"init\": {\"job\": \"$first\", \"optimizer\": true}" $((2 * half)))"
second=$id
finish "$second"
[[ $(tensors "$second") == "$(tensors "$once")" ]] || fail "a continued job ends with other weights than one that was asked for at once"
http POST /v1/jobs "${json[@]}" -d "$(spec ", \"init\": {\"job\": \"$first\", \"optimizer\": true}" "$half")"
expect 422
submit "$(spec ", \"init\": {\"job\": \"$first\", \"checkpoint\": \"latest\"}" 10)"
finish "$id"
daemon_stop
daemon_start --cpu-jobs 1 --checkpoint-after 600 # where the training leaves no checkpoint: it is repeated
submit "$(spec '' "$half")"
short=$id
finish "$short"
http GET "/v1/jobs/$short/checkpoints"
check "a short job leaves no checkpoint" '.data == []'
submit "$(spec ", \"init\": {\"job\": \"$short\", \"optimizer\": true}" $((2 * half)))"
finish "$id"
[[ $(tensors "$id") == "$(tensors "$once")" ]] || fail "a continued short job ends with other weights than one that was asked for at once"
http POST /v1/jobs "${json[@]}" -d "$(spec ", \"init\": {\"job\": \"$short\", \"optimizer\": true}" "$half")"
expect 422
submit "$(xor_job "$endless" '{"max_seconds": 0.5}')"
finish "$id"
http GET "/v1/jobs/$id"
check "max_seconds ends a job with what it has" '.status == "succeeded" and .stopped == "max_seconds" and .weights != null'
echo "ok: jobs go on where others ended"
daemon_stop
