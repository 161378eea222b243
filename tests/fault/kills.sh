#!/usr/bin/env bash
# kill -9 of the worker, or of everything, again and again at random moments, while
# clients submit, delete and upload: every job that was answered with 201 finishes, with one end and no gap in its events.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
rounds=${EPOCHD_FAULT_ROUNDS:-6}
accepted=$scratch/accepted
: >"$accepted"

# Submits until the daemon is gone; writes down what was acknowledged.
client() {
  local answer seed
  for ((seed = 1; seed < 1000; seed++)); do
    answer=$(curl -sS --max-time 5 "${json[@]}" -d "$(xor_job 2000 "{\"seed\": $seed, \"device\": \"$device\"}")" \
      "$url/v1/jobs" 2>/dev/null | jq -r 'select(.object == "job") | .id' 2>/dev/null) || return 0
    [[ -n $answer ]] && echo "$answer" >>"$accepted"
    sleep 0.02
  done
}

# Deletes jobs and replaces datasets until the daemon is gone.
churn() {
  local job number
  for ((number = 1; number < 1000; number++)); do
    job=$(curl -sS --max-time 5 "${json[@]}" -d "$(xor_job 10 "{\"device\": \"$device\"}")" "$url/v1/jobs?wait=5" \
      2>/dev/null | jq -r 'select(.object == "job") | .id' 2>/dev/null) || return 0
    curl -sS --max-time 5 -o /dev/null "$url/v1/jobs/$job?wait=5" 2>/dev/null || return 0
    curl -sS --max-time 5 -o /dev/null -X DELETE "$url/v1/jobs/$job" 2>/dev/null || return 0
    curl -sS --max-time 5 -o /dev/null -X PUT -H 'Content-Type: text/csv' --data-binary $'x,y\n1,'"$number$RANDOM"$'\n' \
      "$url/v1/datasets/churn" 2>/dev/null || return 0
    ((number % 3)) || curl -sS --max-time 5 -o /dev/null -X DELETE "$url/v1/datasets/churn" 2>/dev/null || return 0
  done
}

daemon_start
for ((round = 1; round <= rounds; round++)); do
  client & submitter=$!
  churn & churner=$!
  own+=("$submitter" "$churner")
  sleep "$(printf '0.%03d' $((RANDOM % 600 + 100)))"
  workers=$(pgrep -P "$daemon" -f epoch-worker || true)
  if ((round % 3 == 0)); then
    # shellcheck disable=SC2086
    [[ -z $workers ]] || kill -9 $workers 2>/dev/null || true
    sleep 0.3
    workers=
  fi
  # shellcheck disable=SC2086
  kill -9 "$daemon" $workers 2>/dev/null || true
  wait "$daemon" 2>/dev/null || true
  wait "$submitter" "$churner" 2>/dev/null || true
  daemon_start
done

count=0
while read -r id; do
  finish "$id"
  http GET "/v1/jobs/$id/events?follow=0"
  sequence "$body" 1
  jq -s -e '([.[] | select(.type == "end")] | length) == 1 and .[-1].type == "end"
    and ([.[] | select(.type == "epoch").epoch] as $seen | $seen == ($seen | unique) and $seen[-1] == 2000)' \
    "$body" >/dev/null || fail "the events of $id are not whole"
  count=$((count + 1))
done <"$accepted"
((count > 0)) || fail "no job was accepted in $rounds rounds"
echo "ok: $rounds kills, $count jobs were accepted and all finished, no event lost or doubled"
daemon_stop
[[ ! -e $data_dir/lost+found ]] || fail "crashes alone fill lost+found: $(ls "$data_dir/lost+found")"
"$build/bin/epochd" --data-dir "$data_dir" --check >"$scratch/faults" || fail "--check finds: $(<"$scratch/faults")"
echo "ok: lost+found is empty, and --check finds nothing"
