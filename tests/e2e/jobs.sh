#!/usr/bin/env bash
# Jobs over HTTP: validate, submit twice, wait, cancel, delete, predict.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start --cpu-jobs 1 # the queue is what is looked at

http POST '/v1/jobs?validate=only' "${json[@]}" -d "$(xor_job 1000)"
expect 200
check "validate=only answers the plan" '.parameters == 17 and .bytes > 0 and (.layers | length) == 3 and
  .layers[0].in_features == 2 and (.estimates | length) > 0'
limited=$(xor_job "$endless" '{"max_seconds": 3600, "data": {"generator": "disc", "rows": 20000}}')
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$limited"
check "no estimate goes beyond max_seconds" '.estimates | all(.seconds - .start_seconds <= 3600.001)'
http GET /v1/jobs
check "and queues nothing" '.data == []'

# One that runs and two that wait, each for an hour at most.
ids=()
for _ in 1 2 3; do
  submit "$limited"
  ids+=("$id")
done
reported() {
  http GET "/v1/jobs/${ids[0]}"
  jq -e '.progress.epoch > 0' "$body" >/dev/null
}
until_so "the first job has reported an epoch" reported
check "nor does what is left of it" '.eta_seconds <= 3600'
http GET /v1/queue
check "the queue expects each to end by its limit" '[.jobs[] | select(.position) | .start_seconds] |
  length == 2 and .[0] > 0 and .[0] <= 3600 and (.[1] - .[0] - 3600 | fabs) < 1'
for id in "${ids[@]}"; do
  http POST "/v1/jobs/$id/cancel"
  ended "$id"
done

http POST /v1/jobs "${json[@]}" -d '{"data": {"generator": "xor"}, "epochs": 5,
  "model": {"layers": [{"type": "linear", "in_features": 3, "out_features": 1}]}, "loss": "mse"}'
expect 422
[[ $(header Content-Type) == application/problem+json* ]] || fail "a problem came as $(header Content-Type)"
check "a wrong shape is refused with its pointer" '.errors[0].pointer == "/model/layers/0/in_features"'
http POST /v1/jobs "${json[@]}" -d '{"epochz": 5}'
expect 422
check "every fault is named" '[.errors[].pointer] | length >= 2 and any(. == "/epochz")'
http POST /v1/jobs "${json[@]}" -d '{"epochs": '
expect 400

job=$(xor_job 1000 "{\"device\": \"$device\"}")
http POST /v1/jobs "${json[@]}" -H 'Idempotency-Key: "once"' -d "$job"
expect 201
once=$(jq -r .id "$body")
[[ $(header Location) == */v1/jobs/$once ]] || fail "the Location is $(header Location)"
http POST /v1/jobs "${json[@]}" -H 'Idempotency-Key: "once"' -d "$job"
[[ $code == 200 || $code == 201 ]] || fail "the second submission was answered $code"
[[ $(jq -r .id "$body") == "$once" ]] || fail "the same key made a second job"
echo "ok: an Idempotency-Key makes one job of two submissions"
http POST /v1/jobs "${json[@]}" -H 'Idempotency-Key: "once"' -d "$(xor_job 999)"
expect 422
echo "ok: the same key with another job is refused"
finish "$once"

http GET "/v1/jobs/$once"
etag=$(header ETag)
http GET "/v1/jobs/$once" -H "If-None-Match: $etag"
expect 304
echo "ok: what has not changed is not sent again"

# cancel one that runs and one that waits
submit "$(xor_job "$endless")"
running=$id
until_so "it trains" has_trained
submit "$(xor_job 1000)"
waiting=$id
http GET "/v1/jobs/$waiting"
check "who waits has a place in the queue" '.status == "queued" and .queue_position == 1'
http GET /v1/queue
check "the queue" '.queued == 1 and .running == 1'
http POST "/v1/jobs/$waiting/cancel"
[[ $code == 20[02] ]] || fail "cancel was answered $code"
http GET "/v1/jobs/$waiting"
check "it is cancelled at once" '.status == "cancelled"'
http DELETE "/v1/jobs/$running"
expect 409
for _ in 1 2; do
  http POST "/v1/jobs/$running/cancel"
  [[ $code == 20[02] ]] || fail "cancel was answered $code"
done
ended "$running"
check "the running one is cancelled too, and safe to cancel twice" '.status == "cancelled"'
events_read "$running"
check "its stream ends so" '.[-1].type == "end" and .[-1].status == "cancelled"' -s

submit "$(xor_job 1000)"
finish "$id"
echo "ok: the device is free again"

http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"x": [[0, 1], [1, 1], [0.9, 0.1]]}'
expect 200
check "predict answers new rows" \
  '.rows == 3 and (.predictions | flatten | .[0] > 0 and .[1] < 0 and .[2] > 0)'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"x": [[1, 2, 3]]}'
expect 422

[[ $(curl -sS -o "$scratch/waited" -w '%{time_total}' "$url/v1/jobs/$id?wait=60" | cut -d . -f 1) -lt 50 ]] ||
  fail "wait=60 of a finished job waits"
http DELETE "/v1/jobs/$id"
[[ $code == 20[04] ]] || fail "deleting a finished job was answered $code"
http GET "/v1/jobs/$id"
expect 404
[[ ! -e $data_dir/jobs/$id ]] || fail "the deleted job's folder is still there"
echo "ok: a finished job can be deleted, with its folder"

http GET /v1/devices
check "the devices" '.data | length == 1 and .[0].id == $device' --arg device "$device"
for probe in /livez /readyz; do
  http GET "$probe"
  expect 200
done
http GET /openapi.json
expect 200
check "the contract is served" '.openapi | startswith("3.")'

printf '1,2\n2,4\n3,6\n' >"$scratch/rows.csv"
# all on one core: a thread that is woken runs before the one that woke it goes on
core=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
for process in "$daemon" $(pgrep -P "$daemon"); do taskset -acp "$core" "$process" >/dev/null; done
taskset -c "$core" python3 "$here/end.py" "$url" "$scratch/rows.csv" || fail "end came before its result"
