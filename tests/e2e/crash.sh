#!/usr/bin/env bash
# kill -9, of the worker and of everything, in the middle of a job with others in the queue: every
# accepted job finishes, and no event is lost or doubled.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
epochs_lasting 2
job=$(xor_job "$epochs" "{\"report_every\": $((epochs / 100)), \"seed\": 7}")

# running ID: the job has reported some epochs
running() { http GET "/v1/jobs/$1" && jq -e '.status == "running" and .progress.fraction > 0.2' "$body" >/dev/null; }
workers() { pgrep -P "$daemon" -f epoch-worker || true; }

submit "$job"
undisturbed=$id
finish "$undisturbed"

# 1. the worker alone
submit "$job"
first=$id
ids=("$first")
for seed in 1 2 3; do
  submit "$(xor_job 2000 "{\"seed\": $seed}")"
  ids+=("$id")
done
until_so "the first job runs" running "$first"
curl -sSN --max-time "$patience" "$url/v1/jobs/$first/events" >"$scratch/watched" & own+=($!)
watcher=$!
worker=$(workers)
[[ -n $worker ]] || fail "there is no worker process below epochd"
# shellcheck disable=SC2086
kill -9 $worker
for id in "${ids[@]}"; do finish "$id"; done
echo "ok: the worker was killed, all four jobs finished"
wait "$watcher"
http GET "/v1/jobs/$first"
# Workers that stand beside it are killed too: it may have been given to one of those just before that died.
check "the job says that it was tried again" '.attempt == 2 or .attempt == 3'

# 2. epochd and the worker
submit "$job"
second=$id
later=("$second")
for seed in 4 5 6; do
  submit "$(xor_job 2000 "{\"seed\": $seed}")"
  later+=("$id")
done
until_so "the second job runs" running "$second"
curl -sSN --max-time "$patience" "$url/v1/jobs/$second/events" >"$scratch/before" 2>/dev/null & own+=($!)
watcher=$!
until_so "the watcher sees epochs" grep -q '"type":"epoch"' "$scratch/before"
http GET "/v1/jobs?limit=100"
accepted=$(jq -c '[.data[].id]' "$body")
worker=$(workers)
# shellcheck disable=SC2086
{ kill -9 "$daemon" $worker; wait "$daemon"; } 2>/dev/null || true
wait "$watcher" || true
daemon_start
http GET "/v1/jobs?limit=100"
check "all that was accepted is still there" '[.data[].id] == $accepted' --argjson accepted "$accepted"
for id in "${later[@]}"; do finish "$id"; done
echo "ok: everything was killed, all four jobs finished"

# no event lost or doubled, shown before or after; the same course as undisturbed
course() { jq -c 'select(.type == "epoch") | [.epoch, .loss]' "$1"; }
http GET "/v1/jobs/$undisturbed/events?follow=0"
course "$body" >"$scratch/course"
for id in "$first" "$second"; do
  events_read "$id"
  cp "$body" "$scratch/$id"
  sequence "$scratch/$id" 1
  course "$scratch/$id" | cmp - "$scratch/course" || fail "$id took another course than the undisturbed job"
  check "one end, and a word about each new start" \
    '([.[] | select(.type == "end")] | length) == 1 and .[-1].type == "end" and
     ([.[] | select(.type == "restarted")] | length) >= 1' -s
done
sed -i "s/^ *//" "$scratch/watched" "$scratch/before" # a stream without news for a while sends spaces
cmp "$scratch/watched" "$scratch/$first" || fail "who watched through the worker's death saw something else"
whole=$(grep -c '}$' "$scratch/before" || true)
((whole > 0)) || fail "the watcher saw nothing before the kill"
cmp <(head -n "$whole" "$scratch/before") <(head -n "$whole" "$scratch/$second") ||
  fail "an event that was shown before the kill is not in the log"
echo "ok: no event was lost or doubled; the $whole that were shown before are all there"
daemon_stop
