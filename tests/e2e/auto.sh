#!/usr/bin/env bash
# The costs by which `auto` chooses: an idle device is measured, once; no job waits for that; the estimates
# are shown, and stay with the job.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
costs= # measured here
kept=$data_dir/calibration/${device/:/-}.json
kind=${device%:*}

# validated FILTER: waits until the filter holds of the device's estimates.
validated() { until_so "an estimate of $device for which $1" holds "$1"; }
holds() {
  http POST "/v1/jobs?validate=only" "${json[@]}" -d "$(xor_job 1000)"
  expect 200
  jq -e --arg device "$device" ".estimates[] | select(.device == \$device) | $1" "$body" >/dev/null
}

# prompt WHAT JOB: the job ends before the device is measured, unless it was measured before the job came.
prompt() {
  submit "$2"
  local late=
  ! is_measured || late=", but came too late"
  finish "$id"
  until_so "the log has the job's end" grep -q "job $id: succeeded" "$log"
  [[ -n $late ]] || ! sed "/job $id: succeeded/q" "$log" | says_measured || fail "$1: the device was measured first"
  echo "ok: $1$late"
}
says_measured() { grep "device $device is calibrated" >/dev/null; }
is_measured() { says_measured <"$log"; }

# measuring: waits until the idle device's worker is at work, or has measured it.
measuring() {
  local before
  before=$(worker_seconds)
  until_so "the device is being measured" works_since "$before"
}
works_since() { is_measured || jq -en "$(worker_seconds) > $1 + 0.05" >/dev/null; }

# unmeasured: the estimates while a job keeps the device from being measured.
unmeasured() {
  submit "$(xor_job "$endless")"
  validated '.calibrated == false and .seconds > 0 and .executor != ""'
  http POST "/v1/jobs/$id/cancel"
  ended "$id"
}

daemon_start
unmeasured
echo "ok: an estimate before anything was measured"
prompt "a job soon after the start does not wait for a measurement" "$(xor_job 1000)"

# Jobs come while it is measured: each starts at once, and the measurement begins again.
for number in 1 2 3; do
  measuring
  prompt "job $number in the middle of the measurement does not wait" "$(xor_job 1000 "{\"seed\": $number}")"
done

validated '.calibrated == true and .seconds > 0 and .start_seconds >= 0'
echo "ok: the device was measured while it had nothing to do"
[[ -s $kept ]] || fail "there is no $kept"
[[ -z $(find "$data_dir/calibration" -name '*.tmp') ]] || fail "a temporary file was left"
jq -e --arg device "$device" '.object == "calibration" and .device == $device and .name != "" and .threads > 0 and
  (.executors | length) >= 2 and all(.executors[]; .measured > 0 and .start_seconds >= 0 and
  (.seconds | length) == 10 and .seconds[0] > 0)' "$kept" >/dev/null || fail "the file: $(cat "$kept")"
echo "ok: the file says for what it is good, and what each executor costs"

submit "$(xor_job 200000 '{"report_every": 200000}')"
http GET "/v1/jobs/$id"
check "a job keeps the estimates by which it was placed" \
  '.estimated_seconds | has("cpu") and has("cuda") and .[$kind] > 0 and (.[$other] == null)' \
  --arg kind "$kind" --arg other "$([[ $kind == cpu ]] && echo cuda || echo cpu)"
finish "$id"
check "they stay when it has ended, and were no fancy" \
  '.estimated_seconds[$kind] < 10 * (.timing.train_seconds + 2) and
   .estimated_seconds[$kind] > .timing.train_seconds / 100' --arg kind "$kind" # others may have the processors, too
measured=$(jq .timing.train_seconds "$body")
http POST "/v1/jobs?validate=only" "${json[@]}" -d "$(xor_job 200000 '{"report_every": 200000}')"
check "what a job took is the estimate of the next one like it" \
  '.estimates[] | select(.device == $device) |
   .measured and (.seconds - .start_seconds) / $took > 0.99 and (.seconds - .start_seconds) / $took < 1.01' \
  --arg device "$device" --argjson took "$measured"
daemon_stop

# The next start reads the file, and measures nothing.
before=$(stat -c '%Y %i' "$kept")
daemon_start
validated '.calibrated == true'
! is_measured || fail "the device was measured again"
[[ $(stat -c '%Y %i' "$kept") == "$before" ]] || fail "the file was written again"
echo "ok: a second start reads the file"
daemon_stop

# A file of another device is none, and neither is half a file.
jq -c '.name = "another one"' "$kept" >"$scratch/other" && mv "$scratch/other" "$kept"
daemon_start
unmeasured
validated '.calibrated == true'
jq -e '.name != "another one"' "$kept" >/dev/null || fail "the file of another device stayed"
echo "ok: another device is measured anew"
daemon_stop
