#!/usr/bin/env bash
# Damaged data folders: the daemon starts, what can be made again is made again, and nothing that it does not know
# is deleted. --check finds each fault, --rescue builds a lost store anew.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

jobs=$data_dir/jobs
epochd() { "$build/bin/epochd" --data-dir "$data_dir" "$@"; }

# flip FILE OFFSET: flips a bit of the byte there.
flip() {
  python3 -c 'import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2])); byte = file.read(1)[0]
    file.seek(int(sys.argv[2])); file.write(bytes([byte ^ 8]))' "$1" "$2"
}

# checked PATTERN: --check finds a fault that matches; without a pattern it finds none.
checked() {
  local status=0
  epochd --check >"$scratch/faults" 2>>"$log" || status=$?
  if [[ -z ${1:-} ]]; then
    ((status == 0)) && [[ $(<"$scratch/faults") == "0 faults" ]] || fail "--check finds: $(<"$scratch/faults")"
  else
    ((status == 1)) || fail "--check ends with $status, not 1: $(<"$scratch/faults")"
    grep -q "$1" "$scratch/faults" || fail "--check does not say \"$1\": $(<"$scratch/faults")"
  fi
  echo "ok: --check finds ${1:-nothing}"
}

# whole ID: the job's events are there, in order, with one end.
whole() {
  http GET "/v1/jobs/$1/events?follow=0"
  expect 200
  sequence "$body" 1
  [[ $(tail -n 1 "$body" | jq -r .type) == end && $(jq -s 'map(select(.type == "end")) | length' "$body") == 1 ]] ||
    fail "the events of $1 have not one end: $(tail -n 2 "$body")"
}

daemon_start --cpu-jobs 1 # so that one job is queued
printf 'x,y\n1,2\n2,4\n3,6\n4,8\n' >"$scratch/line.csv"
http PUT /v1/datasets/line -H 'Content-Type: text/csv' -T "$scratch/line.csv"
expect 201
http PUT /v1/datasets/spare -H 'Content-Type: text/csv' -T <(printf 'x,y\n1,3\n2,5\n')
expect 201
line_job='{"data": {"dataset": "line", "target": "y", "task": "regression"}, "model": {"layers": [{"type": "linear", "out_features": 1}]},
  "loss": "auto", "epochs": 200, "report_every": 1, "name": "a line", "tags": ["kept"]}'
declare -a ended=()
for _ in 1 2 3 4; do
  submit "$line_job"
  finish "$id"
  ended+=("$id")
done
http PATCH "/v1/jobs/${ended[1]}" "${json[@]}" -d '{"name": "another name", "tags": [], "pinned": true}'
expect 200
submit "$(xor_job "$endless" '{"report_every": 100000}')"
unfinished=$id
begun() { http GET "/v1/jobs/$unfinished" && jq -e '.progress.epoch > 1000000' "$body" >/dev/null; }
until_so "the job reports" begun
submit "$(xor_job 100)"
queued=$id
http GET "/v1/jobs/${ended[0]}"
before=$(jq -c '{name, tags, status, metrics, weights, created_at, finished_at, device, executor, auto, parameters: .model.parameters}' "$body")
kill -9 "$daemon" && wait "$daemon" 2>/dev/null || true
daemon=
# all rows in the database itself: python3 has SQLite where there is no sqlite3
python3 -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")' "$data_dir/epochd.sqlite"
cp -a "$data_dir" "$scratch/good"
again() { # the folder as it was
  rm -rf "$data_dir"
  cp -a "$scratch/good" "$data_dir"
}
checked

# Logs: a later page kept and an earlier one lost, swapped lines, a flipped bit.
lose_page() { dd if=/dev/zero of="$1" bs=4096 seek=1 count=1 conv=notrunc status=none; }
lose_page "$jobs/${ended[0]}/events.ndjson"
sed -i -e '100{h;d}' -e '101{G}' "$jobs/${ended[1]}/events.ndjson"
flip "$jobs/${ended[2]}/events.ndjson" 9000
[[ $(stat -c %s "$jobs/$unfinished/events.ndjson") -gt 1000 ]] || fail "the unfinished job has a short log"
flip "$jobs/$unfinished/events.ndjson" 700
checked "${ended[0]}: events.ndjson is damaged after line"
[[ $(grep -c 'is damaged after line' "$scratch/faults") == 4 ]] || fail "not four logs: $(<"$scratch/faults")"
daemon_start
for id in "${ended[@]}"; do whole "$id"; done
http GET "/v1/jobs/${ended[0]}/events?follow=0"
check "a warning names what is lost" 'any(.[]; .type == "warning" and (.message | test("epochs [0-9]+ to 200 are lost")))' -s
http DELETE "/v1/jobs/$unfinished"
http POST "/v1/jobs/$unfinished/cancel"
ended "$unfinished"
whole "$unfinished"
finish "$queued"
whole "$queued"
daemon_stop
checked

# One job that cannot be taken up: the daemon says which, and the others go on.
again
rm -r "${jobs:?}/$queued" && touch "$jobs/$queued"
daemon_start
http GET "/v1/jobs/$queued"
check "it failed, with the reason" '.status == "failed" and (.error | tostring | test("cannot be resumed"))'
grep -q "job $queued failed" "$log" || fail "the log does not name the job"
http GET "/v1/jobs/$queued/events?follow=0"
expect 500
http GET "/v1/jobs/$unfinished"
check "the other one goes on" '.status == "queued" or .status == "running"'
daemon_stop

# The same for a folder that may not be entered. Root may enter all: there the daemon is another user's.
again
if ((EUID == 0)); then
  chmod 711 "$scratch" && chown -R 65534:65534 "$data_dir"
  mkdir "$scratch/bin"
  printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups %q "$@"\n' "$build/bin/epochd" \
    >"$scratch/bin/epochd"
  chmod +x "$scratch/bin/epochd"
  as_user=$scratch
fi
# the programs may lie where no other user may look
runs_here() { "$scratch/bin/epochd" --version && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$build/bin/epoch-worker"; }
if ((EUID != 0)) || runs_here >/dev/null 2>&1; then
  chmod 000 "$jobs/$queued"
  own_build=$build
  build=${as_user:-$build}
  daemon_start
  http GET "/v1/jobs/$queued"
  check "a folder of mode 000: its job failed, with the reason" \
    '.status == "failed" and (.error | tostring | test("Permission denied"))'
  http GET "/v1/jobs/$unfinished"
  check "the other one goes on" '.status == "queued" or .status == "running"'
  daemon_stop
  build=$own_build
  chmod 700 "$jobs/$queued"
else
  echo "no other user may run epochd here: a folder of mode 000 is not tried"
fi

# Weights.
again
flip "$jobs/${ended[3]}/weights.safetensors" 300
checked "${ended[3]}/weights.safetensors is damaged"
again
rm -r "${jobs:?}/${ended[3]}"
checked "${ended[3]}: its folder is missing"

# The store is lost: refused, then built anew.
for loss in gone empty; do
  again
  rm -f "$data_dir"/epochd.sqlite-*
  if [[ $loss == gone ]]; then rm "$data_dir/epochd.sqlite"; else : >"$data_dir/epochd.sqlite"; fi
  if timeout 60 "$build/bin/epochd" --data-dir "$data_dir" --listen 127.0.0.1:0 --devices cpu 2>"$scratch/refusal.log"; then fail "it started without its store"; fi
  grep -q -e --rescue "$scratch/refusal.log" || fail "the refusal does not say what to do: $(<"$scratch/refusal.log")"
  [[ $(find "$jobs" -mindepth 1 -maxdepth 1 | wc -l) == 6 ]] || fail "a folder of a job is gone"
done
epochd --rescue >"$scratch/rescued" 2>>"$log" || fail "--rescue: $(<"$scratch/rescued")"
[[ $(<"$scratch/rescued") == "0 faults" ]] || fail "--rescue: $(<"$scratch/rescued")"
checked
daemon_start
status=0
epochd --check >"$scratch/faults" 2>"$scratch/refusal.log" || status=$?
((status == 1)) && grep -q 'in use by another epochd' "$scratch/refusal.log" || fail "--check beside a daemon: $status"
http GET "/v1/jobs/${ended[0]}"
after=$(jq -c '{name, tags, status, metrics, weights, created_at, finished_at, device, executor, auto, parameters: .model.parameters}' "$body")
check "what auto chose is there" '.auto.summary != null'
[[ $before == "$after" ]] || fail "a rescued job differs: $before and $after"
for id in "${ended[@]}"; do whole "$id"; done
http GET /v1/datasets
check "datasets have their names, or their hash" \
  '[.data[].name] | length == 2 and any(.[]; . == "line") and any(.[]; test("^[0-9a-f]{64}$"))'
finish_queued() { http GET "/v1/jobs/$unfinished" && jq -e '.status == "running"' "$body" >/dev/null; }
until_so "the unfinished job runs again" finish_queued
http POST "/v1/jobs/$unfinished/cancel"
finish "$queued"
submit "$line_job"
finish "$id"
daemon_stop
echo "ok: a rescued store serves as before"

# The store is damaged: its header, or its pages.
for place in 0 4096; do
  again
  rm -f "$data_dir"/epochd.sqlite-*
  dd if=/dev/zero of="$data_dir/epochd.sqlite" bs=4096 seek=$((place / 4096)) count=$((place ? 8 : 1)) conv=notrunc status=none
  if timeout 60 "$build/bin/epochd" --data-dir "$data_dir" --listen 127.0.0.1:0 --devices cpu 2>"$scratch/refusal.log"; then fail "it started with a damaged store"; fi
  grep -q -e --rescue "$scratch/refusal.log" || fail "the refusal does not say what to do: $(<"$scratch/refusal.log")"
  checked "the store failed"
  epochd --rescue >"$scratch/rescued" 2>>"$log" || fail "--rescue: $(<"$scratch/rescued")"
  checked
  [[ $(find "$jobs" -mindepth 1 -maxdepth 1 | wc -l) == 6 ]] || fail "a folder of a job is gone"
done
echo "ok: a damaged store is rescued"

# The store of an earlier day: what is newer is kept.
again
daemon_start
http POST "/v1/jobs/$unfinished/cancel"
submit "$line_job"
newer=$id
finish "$newer"
http PUT /v1/datasets/newer -H 'Content-Type: text/csv' -T <(printf 'x,y\n7,3\n2,5\n')
expect 201
daemon_stop
rm -f "$data_dir"/epochd.sqlite*
cp -a "$scratch"/good/epochd.sqlite* "$data_dir"
checked "$newer: this folder has no row in the store"
daemon_start
[[ -e $(echo "$data_dir/lost+found/$newer".*)/weights.safetensors ]] || fail "the newer job is not in lost+found"
[[ $(find "$data_dir/lost+found" -name meta.json | wc -l) == 1 ]] || fail "the newer dataset is not in lost+found"
grep -q "$newer has no row in the store" "$log" || fail "the log does not say that it is kept"
http GET "/v1/jobs/$unfinished"
check "an end that the store lacks is read from the log" '.status == "cancelled"'
daemon_stop
echo "ok: folders that are newer than the store are kept"

# A store that is told to be new keeps all.
again
rm -f "$data_dir"/epochd.sqlite*
daemon_start --new-store
[[ $(find "$data_dir/lost+found" -name spec.json | wc -l) == 6 ]] || fail "not all jobs are in lost+found"
daemon_stop
echo "ok: with --new-store nothing is deleted"
