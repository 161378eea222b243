#!/usr/bin/env bash
# epochctl against servers that are no epochd, connections that are cut, and names with control characters.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
export LC_ALL=C.UTF-8
unset EPOCHD EPOCHD_SERVER EPOCHD_TOKEN
ctl=$build/bin/epochctl
[[ -x $ctl ]] || skip "epochctl was not built"
out=$scratch/out
err=$scratch/err.log

# impostor MODE…: starts one; where it listens goes to $impostor.
impostor() {
  : >"$scratch/port"
  python3 "$here/impostor.py" "$@" >"$scratch/port" 2>"$scratch/requests.$1" &
  own+=($!)
  until_so "the impostor listens" test -s "$scratch/port"
  impostor=http://127.0.0.1:$(<"$scratch/port")
}
run() {
  local wanted=$1 status=0
  shift
  timeout "$patience" "$ctl" --server "$impostor" "$@" >"$out" 2>"$err" || status=$?
  [[ " $wanted " == *" $status "* ]] || fail "epochctl $* ended with $status, not $wanted: $(head -c 600 "$out") $(head -c 600 "$err")"
  grep -aq 'Sanitizer\|runtime error:' "$err" && fail "epochctl $*: $(head -c 2000 "$err")"
  return 0
}

# shown WORDS…: whatever comes of it, no control character reaches the terminal.
shown() {
  run "0 1 2 3" "$@" <<<'1,2'
  LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$out" "$err" &&
    fail "epochctl $* lets a control character through: $(cat -v "$out" "$err" | head -c 500)"
  return 0
}

# A minute of patience is over in seconds by a clock that is ten times as fast. A sanitizer's library must be the first
# one, and has none.
preload=$build/tests/e2e/libfast_clock.so rate=10 apart=1.4
[[ -r $preload ]] || fail "there is no $preload"
[[ -z ${EPOCHD_SANITIZE:-} ]] || preload='' rate=1 apart=9

impostor hostile
job=job_00000000000000000000000000
sweep=swp_00000000000000000000000000
for command in "ls" "ls -q" "show $job" "data ls" "plot $job" "plot $job --log" "queue" "models ls" "devices" "watch $job" \
  "compare $job" "cancel $job" "predict $job -" "rm $job" "data show x" "models publish a $job" "weights $job -o $scratch/w" \
  "weights $job --checkpoint latest -o $scratch/w" "predict $job - -c 7" "pause $job" "resume $job" "checkpoints $job" \
  "sweeps ls" "sweeps ls -q" "sweeps show last" "sweeps show $sweep --csv --limit 5" "sweeps promote $sweep 1" \
  "sweeps promote $sweep" "set $sweep --name x" "pause $sweep" "cancel swp_0"; do
  # shellcheck disable=SC2086
  shown $command
done
LD_PRELOAD=$preload EPOCHD_TEST_CLOCK_RATE=$rate shown watch $sweep # it asks again for a minute
run 3 devices
grep -q 'larger than 64 MiB' "$err" || fail "a flood is not said to be one: $(<"$err")"
run 3 queue
grep -q 'unexpected response from' "$err" || fail "HTML passes for JSON: $(<"$err")"
run "2 3" watch $job
grep -q 'longer than 65536 bytes' "$err" || fail "a line without an end: $(<"$err")"
run 0 ls
grep -qF '\x1b[31mred\u202e' "$out" || fail "the name is not shown escaped: $(cat -v "$out" | head -c 400)"
echo "ok: names are shown and not obeyed; floods and strangers end with a message"

impostor tempting "$scratch/obeyed"
for words in "data rm" "models rm" "show" "watch" "sweeps show"; do
  # shellcheck disable=SC2016,SC2086
  got=$(PATH=$build/bin:$PATH EPOCHD=$impostor bash --norc -c '
    source <(epochctl completion bash)
    COMP_WORDS=("$@" "") COMP_CWORD=$#
    _epochctl 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' - epochctl $words | grep -vx last | sort -u | paste -sd ' ')
  [[ ! -e $scratch/obeyed ]] || fail "completing \"epochctl $words\" ran what a server said"
  [[ $got == a-plain.name ]] || fail "completing \"epochctl $words\" offers \"$got\""
done
echo "ok: completion offers plain words alone, and runs none"

# More than a minute without an event is no silence where signs of life come. Where the clock is not faster, the
# minute passes while the rest is tested.
daemon_start
quiet=$("$ctl" --server "$url" run --detach <("$ctl" example xor)) || fail "a job is not taken"
impostor quiet "$url" "$apart"
LD_PRELOAD=$preload EPOCHD_TEST_CLOCK_RATE=$rate timeout "$patience" "$ctl" --server "$impostor" watch "$quiet" >"$scratch/quiet" 2>&1 &
watcher=$!
own+=("$watcher")

impostor cutting "$url"
status=0
jq -c '.epochs = 40 | .report_every = 1' <("$ctl" example xor) |
  LD_PRELOAD=$preload EPOCHD_TEST_CLOCK_RATE=$rate timeout "$patience" "$ctl" --server "$impostor" run - --json >"$out" 2>"$err" || status=$?
((status == 0)) || fail "run over cuts ended with $status: $(<"$err")"
id=$(head -n 1 "$out" | jq -r .id)
tail -n +2 "$out" | cmp - <(curl -sSf "$url/v1/jobs/$id/events?follow=0") || fail "the events over cuts are not the log"
requests=$(grep -c '/events' "$scratch/requests.cutting")
((requests >= 3)) || fail "the stream was interrupted only $requests times"
[[ $("$ctl" --server "$url" ls -q) == "$id"$'\n'"$quiet" ]] || fail "a job whose answer was lost was submitted twice"
[[ $(grep -c '^POST /v1/jobs ' "$scratch/requests.cutting") == 2 ]] || fail "no answer was lost: $(<"$scratch/requests.cutting")"
echo "ok: a lost answer is asked for again, and makes no second job"
echo "ok: $((requests - 1)) cuts, and each event once"
run 0 weights "$id" -o "$scratch/w.safetensors"
cmp "$scratch/w.safetensors" <(curl -sSf "$url/v1/jobs/$id/weights") || fail "the weights over cuts are others"
grep -q 'bytes=1400-' "$scratch/requests.cutting" || fail "the download was not taken up: $(<"$scratch/requests.cutting")"
echo "ok: a download goes on where it was cut"
wait "$watcher" || fail "a job that was quiet was left: $(<"$scratch/quiet")"
grep -q 'connection lost' "$scratch/quiet" && fail "heartbeats are taken for silence: $(<"$scratch/quiet")"
echo "ok: who hears only heartbeats for a minute goes on listening"
daemon_stop
