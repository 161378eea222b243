#!/usr/bin/env bash
# Starting and stopping: one daemon a folder, no network without a token, a clean end, a light idle.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start

timeout "$patience" "$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" --devices cpu 2>"$scratch/second" &&
  fail "a second daemon on the same folder ran" || status=$?
((status != 124)) || fail "a second daemon on the same folder started"
grep -qi 'another\|already\|lock\|in use' "$scratch/second" || fail "it gave no reason: $(<"$scratch/second")"
echo "ok: a second daemon on the same folder refuses: $(tail -n 1 "$scratch/second" | cut -c 1-200)"

for address in 0.0.0.0:0 '[::]:0'; do
  timeout "$patience" "$build/bin/epochd" --listen "$address" --data-dir "$scratch/open" --devices cpu 2>"$scratch/open.log" &&
    fail "$address without a token ran" || status=$?
  ((status != 124)) || fail "$address without a token started"
  grep -qi token "$scratch/open.log" || fail "it gave no reason: $(<"$scratch/open.log")"
done
echo "ok: an address beyond this machine needs a token"

if [[ -z ${EPOCHD_SANITIZE:-} ]]; then
  submit "$(xor_job 1000)"
  finish "$id"
  rss() { awk '/^VmRSS/ {print $2}' "/proc/$1/status"; }
  worker=$(pgrep -P "$daemon" | head -n 1)
  echo "idle: epochd $(rss "$daemon") KiB, worker $(rss "$worker") KiB"
  is_light() { (($(rss "$daemon") < 24 * 1024)); }
  until_so "epochd holds less than 24 MiB idle" is_light
  echo "ok: epochd idles in less than 24 MiB"
fi

# SIGTERM in the middle of a job and of a stream
epochs_lasting 4
submit "$(xor_job "$epochs" "{\"report_every\": $((epochs / 20))}")"
job=$id
curl -sSN --max-time "$patience" "$url/v1/jobs/$job/events" >"$scratch/stream" 2>/dev/null & own+=($!)
until_so "the stream has an epoch" grep -q '"type":"epoch"' "$scratch/stream"
workers=$(pgrep -P "$daemon")
daemon_stop
gone() { ! kill -0 "$1" 2>/dev/null; }
for worker in $workers; do until_so "worker $worker ends with epochd" gone "$worker"; done
echo "ok: SIGTERM ends it cleanly, with a job that runs and a stream that is open"
daemon_start
finish "$job"
events_read "$job"
sequence "$body" 1
echo "ok: the job that was interrupted finished after the next start"
daemon_stop

# a token
printf 'correct-horse-battery-staple\n' >"$scratch/token"
chmod 600 "$scratch/token"
: >"$log" # now, not when the daemon's process opens it: the last one's port must not be read from it
"$build/bin/epochd" --listen 0.0.0.0:0 --data-dir "$data_dir" --devices cpu --token-file "$scratch/token" 2>>"$log" &
daemon=$!
until_so "with a token it starts" listens
url=http://127.0.0.1:${url##*:}
http GET /v1/jobs
expect 401
http GET /v1/jobs -H 'Authorization: Bearer wrong-horse'
expect 401
http GET /v1/jobs -H 'Authorization: Bearer correct-horse-battery-staple'
expect 200
echo "ok: with a token it serves who has it"
daemon_stop
