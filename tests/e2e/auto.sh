#!/usr/bin/env bash
# What `auto` knows: a device that has nothing to do is measured, once; a job never waits for it; the
# estimates are shown, and stay with the job.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
kept=$data_dir/calibration/${device/:/-}.json
kind=${device%:*}

# validated SECONDS FILTER: asks for the estimates until the filter holds of those of the device.
validated() {
  local until=$((SECONDS + $1))
  while ((SECONDS <= until)); do
    http POST "/v1/jobs?validate=only" "${json[@]}" -d "$(xor_job 1000)"
    expect 200
    jq -e --arg device "$device" ".estimates[] | select(.device == \$device) | $2" "$body" >/dev/null && return
    sleep 0.2
  done
  fail "in $1 s no estimate of $device for which $2: $(jq -c .estimates "$body")"
}

# prompt WHAT: the job $id has not waited: it was queued for less than a second.
prompt() {
  finish "$id"
  check "$1" '.timing.queued_seconds < 1'
}

daemon_start
submit "$(xor_job 1000)"
[[ ! -e $kept ]] || fail "the device was measured before it was calm"
prompt "a job at once after the start does not wait for a measurement"
validated 5 '.calibrated == false and .seconds > 0 and .executor != ""'
echo "ok: an estimate before anything was measured"

# While it is measured, jobs come: each starts at once, and the measurement is taken up again.
sleep 1.6
for number in 1 2 3; do
  submit "$(xor_job 1000 "{\"seed\": $number}")"
  prompt "job $number in the middle of the measurement does not wait"
  sleep 0.3
done

validated 60 '.calibrated == true and .seconds > 0 and .start_seconds >= 0'
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
   .estimated_seconds[$kind] > .timing.train_seconds / 10' --arg kind "$kind"
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
validated 10 '.calibrated == true'
sleep 3
[[ $(stat -c '%Y %i' "$kept") == "$before" ]] || fail "the device was measured again"
echo "ok: a second start takes what is kept"
daemon_stop

# A file of another device is none, and neither is half a file.
jq -c '.name = "another one"' "$kept" >"$scratch/other" && mv "$scratch/other" "$kept"
daemon_start
validated 5 '.calibrated == false'
validated 60 '.calibrated == true'
jq -e '.name != "another one"' "$kept" >/dev/null || fail "the file of another device stayed"
echo "ok: another device is measured anew"
daemon_stop
