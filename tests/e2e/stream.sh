#!/usr/bin/env bash
# Watching a job: lines come as they happen; a cut watcher goes on where it was; all see the same.
# EPOCHD_STREAM_SECONDS: how long the watched job is to train (4).
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
seconds=${EPOCHD_STREAM_SECONDS:-4}
epochs_lasting "$seconds"
epochs=$((epochs / 40 * 40)) # so that forty lines end with the last epoch
job=$(xor_job "$epochs" "{\"report_every\": $((epochs / 40)), \"device\": \"$device\"}")

# submit and stream, each line with the time of its arrival
curl -sSN --max-time "$patience" "$url/v1/jobs" "${ndjson[@]}" "${json[@]}" -d "$job" |
  while IFS= read -r line; do printf '%s\t%s\n' "$EPOCHREALTIME" "$line"; done >"$scratch/arrivals" &
own+=($!)
streaming=$!
until_so "the first line arrives" grep -q . "$scratch/arrivals"
id=$(head -n 1 "$scratch/arrivals" | cut -f 2 | jq -r .job)
events=$url/v1/jobs/$id/events

# meanwhile: two watchers from the start, one that is cut in the middle, one over SSE
curl -sSN --max-time "$patience" "$events" >"$scratch/first" & own+=($!)
first=$!
curl -sSN --max-time "$patience" "$events" -H 'Accept: application/x-ndjson' >"$scratch/second" & own+=($!)
second=$!
curl -sSN --max-time "$patience" "$events" -H 'Accept: text/event-stream' >"$scratch/sse" & own+=($!)
sse=$!
curl -sSN --max-time "$patience" "$events" >"$scratch/cut" 2>/dev/null & own+=($!)
cut=$!
has_lines() { (($(wc -l <"$scratch/cut") >= 12)); }
until_so "twelve lines before the cut" has_lines
{ kill -9 "$cut"; wait "$cut"; } 2>/dev/null || true

# what is whole of the cut stream, and the rest
whole=$(grep -c '}$' "$scratch/cut" || true)
head -n "$whole" "$scratch/cut" >"$scratch/resumed"
last=$(tail -n 1 "$scratch/resumed" | jq .seq)
[[ $(jq -r .type <<<"$(tail -n 1 "$scratch/resumed")") != end ]] || fail "the job ended before the cut"
curl -sSN --max-time "$patience" "$events?after=$last" >>"$scratch/resumed"
wait "$streaming" "$first" "$second" "$sse"
cut -f 2 "$scratch/arrivals" >"$scratch/submitted"

sequence "$scratch/first" 1
cmp "$scratch/first" "$scratch/second" || fail "two watchers saw different bytes"
echo "ok: two watchers see the same $(wc -c <"$scratch/first") bytes"
cmp "$scratch/first" "$scratch/submitted" || fail "submit-and-stream differs from a watcher"
cmp "$scratch/first" "$scratch/resumed" || fail "the watcher that was cut after $last missed or doubled something"
echo "ok: cut after event $last and resumed, it missed none and saw none twice"
cmp "$scratch/first" "$data_dir/jobs/$id/events.ndjson" || fail "events.ndjson is not what watchers got"
echo "ok: the job's folder holds exactly these lines"

sed -n 's/^data: //p' "$scratch/sse" | cmp - "$scratch/first" || fail "SSE carries other data"
sed -n 's/^id: //p' "$scratch/sse" | cmp - <(jq .seq "$scratch/first") || fail "the ids of SSE are not the sequence"
sed -n 's/^event: //p' "$scratch/sse" | cmp - <(jq -r .type "$scratch/first") || fail "the events of SSE are not the types"
echo "ok: server-sent events carry the same"
curl -sSN "$events" -H 'Accept: text/event-stream' -H "Last-Event-ID: $last" | sed -n 's/^data: //p' |
  cmp - <(tail -n "+$((last + 1))" "$scratch/first") || fail "Last-Event-ID goes on elsewhere"
echo "ok: Last-Event-ID goes on where it was"
curl -sSN "$events?every=$((epochs / 40 * 10))" | jq -c 'select(.type == "epoch") | .epoch' >"$scratch/every"
[[ $(wc -l <"$scratch/every") == 4 ]] || fail "every tenth of forty: $(paste -sd' ' "$scratch/every")"
echo "ok: every=N thins the stream"

# the clock: each line arrived soon after it happened, and they did not come all at once
python3 - "$scratch/arrivals" <<'PYTHON' || fail "lines did not arrive as they happened"
import datetime, json, sys
arrivals, late, trained = [], [], []
for line in open(sys.argv[1]):
    at, event = line.split("\t", 1)
    event = json.loads(event)
    happened = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
    late.append(float(at) - happened)
    if event["type"] == "epoch":
        arrivals.append(float(at))
        trained.append(event["elapsed_seconds"])
spread = arrivals[-1] - arrivals[0]
lasted = trained[-1] - trained[0]
steps = len({round(at * 10) for at in arrivals})
print(f"{len(arrivals)} epoch lines of {lasted:.2f} s of training over {spread:.2f} s, in {steps} different tenths of a second, "
      f"the latest {max(late) * 1000:.0f} ms after its time")
sys.exit(not (lasted > 1 and spread > 0.8 * lasted and steps >= 10 and max(late) < lasted / 2))
PYTHON
echo "ok: lines arrive as they happen"
