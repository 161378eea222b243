#!/usr/bin/env bash
# Sweeps by the clients, against a real epochd: epochctl in a pipe, and clients/python/epochd.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
export LC_ALL=C.UTF-8
unset EPOCHD EPOCHD_SERVER EPOCHD_TOKEN NO_COLOR COLUMNS
ctl=$build/bin/epochctl
[[ -x $ctl ]] || skip "epochctl was not built"
daemon_start --cpu-jobs 1 --checkpoint-after 0
export EPOCHD_SERVER=$url EPOCHD=$url
out=$scratch/out
err=$scratch/err.log # a sanitizer's words are looked for in *.log

# run STATUS ARGUMENTS…: epochctl must end with that status; its output goes to $out and $err.
run() {
  local wanted=$1 status=0
  shift
  timeout "$patience" "$ctl" "$@" >"$out" 2>"$err" || status=$?
  ((status == wanted)) || fail "epochctl $* ended with $status, not $wanted: $(head -c 900 "$out") $(head -c 900 "$err")"
  grep -aq 'Sanitizer\|runtime error:' "$err" && fail "epochctl $*: $(head -c 2000 "$err")"
  return 0
}
says() { grep -qE -- "$1" "$out" || fail "no \"$1\" in: $(head -c 1500 "$out")"; }
warns() { grep -qE -- "$1" "$err" || fail "no \"$1\" on standard error: $(head -c 900 "$err")"; }
ok() { echo "ok: $*"; }

jq -c --arg device "$device" '{device: $device, data: {generator: "disc", rows: 200, validation: 0.25},
  model: {layers: [{type: "linear", out_features: 4}, {type: "tanh"}, {type: "linear", out_features: 1}]},
  loss: "bce_with_logits", optimizer: {type: "adam", lr: 0.01}, batch_size: 50, epochs: 20}' <<<null >"$scratch/disc.json"

# what would be done
run 0 sweep "$scratch/disc.json" --set /optimizer/lr=0.1,0.01,0.001 --set /model/layers/0/out_features=2,4 --repeats 2 \
  --search grid --validate
says '^6 trials, 12 trainings$'
says '^rows: 150 to train, 50 to validate, 200 to test$'
says '^about .* on a CPU, one training after another$'
[[ $("$ctl" sweeps ls) == 'no sweeps' ]] || fail "--validate has queued a sweep"
run 0 sweeps ls -q
[[ ! -s $out ]] || fail "sweeps ls -q of none: $(<"$out")"
run 2 sweeps show last
warns 'no sweeps yet'
ok "sweep --validate counts trials and trainings"

# followed to its end: the id, a line at each tenth, the best ten
run 0 sweep "$scratch/disc.json" --set /optimizer/lr=log:1e-4..1e-1 --set /model/layers/0/out_features=int:2..8 \
  --set /batch_size=10,50 --set /epochs=10 --trials 40 --name first --tag red
says '^swp_[0-9a-z]{26}$'
says '^40/40 trainings  100 %  best [0-9.e-]+  .*lr [0-9.e-]+'
says '^succeeded  swp_.*  first$'
says '^  search +random, by validation.loss \(min\)$'
says '^  trainings +40 of 40$'
says '^ *rank +trial +validation.loss +.*lr '
says ' epochs trained  training$'
(($(grep -c ' trainings  ' "$out") <= 12)) || fail "too many lines: $(<"$out")"
(($(sed -n '/^ *rank /,/^and /p' "$out" | wc -l) == 12)) || fail "not the best ten: $(<"$out")"
says '^and 30 more: epochctl sweeps show swp_'
LC_ALL=C grep -q $'\x1b' "$out" && fail "an escape sequence in a pipe"
first=$(head -n 1 "$out")
curl -sSf "$url/v1/sweeps/$first" >"$scratch/first.json"
jq -e '.spec.job.epochs == 10 and .spec.max_trials == 40 and .tags == ["red"]
  and .spec.space["/optimizer/lr"].log_uniform == [0.0001, 0.1] and .spec.space["/batch_size"].values == [10, 50]
  and .spec.space["/model/layers/0/out_features"].int_uniform == [2, 8]' "$scratch/first.json" >/dev/null ||
  fail "the options are not in the spec: $(<"$scratch/first.json")"
says "^  epochctl sweeps promote $first "
ok "sweep submits, follows, and ends with the best ten"

# a whole request; --json is the server's stream
jq -c '{job: ., space: {"/optimizer/lr": {values: [0.1, 0.01]}, "/seed": {values: [1, 2, 3]}}, search: "grid"}' "$scratch/disc.json" >"$scratch/whole.json"
run 0 sweep - --json --metric train.loss <"$scratch/whole.json"
head -n 1 "$out" | jq -e '.object == "sweep" and .search == "grid" and .metric == "train.loss"' >/dev/null || fail "the sweep does not come first"
second=$(head -n 1 "$out" | jq -r .id)
curl -sSf "$url/v1/sweeps/$second/events?follow=0" | cmp - <(tail -n +2 "$out") || fail "sweep --json is not the server's stream"
run 0 watch "$second" --json
curl -sSf "$url/v1/sweeps/$second/events?follow=0" | cmp - "$out" || fail "watch --json is not the server's stream"
[[ $(jq -s '[.[] | select(.type == "trial")] | length' "$out") == 6 ]] || fail "there are not six trials: $(<"$out")"
ok "a whole request, and --json"

# the list, a leaderboard, CSV
run 0 sweeps ls
says '^sweep +name +status'
says "^$first +first +succeeded +100 %.* 40  validation.loss [0-9.e-]+"
run 0 sweeps ls -q --limit 1
[[ $(<"$out") == "$second" ]] || fail "the newest sweep is another: $(<"$out")"
run 0 sweeps ls -q --tag red
[[ $(<"$out") == "$first" ]] || fail "sweeps ls --tag: $(<"$out")"
run 0 sweeps show last --limit 6
(($(sed -n '/^ *rank /,$p' "$out" | wc -l) == 7)) || fail "not all six: $(<"$out")"
run 0 sweeps show "${first: -8}" --sort trial --limit 3
[[ $(sed -n '/^ *rank /,/^and /p' "$out" | awk 'NR > 1 && !/^and/ {print $2}' | paste -sd ' ') == "0 1 2" ]] || fail "not by number: $(<"$out")"
run 0 sweeps show "$first" --csv
curl -sSf "$url/v1/sweeps/$first/trials?format=csv" | cmp - "$out" || fail "--csv is not the server's"
(($(wc -l <"$out") == 41)) || fail "the CSV has $(wc -l <"$out") lines"
run 0 sweeps show "$first" --json
[[ $(jq -s -r '[.[].object] | join(" ")' "$out") == "sweep list" ]] || fail "show --json: $(head -c 300 "$out")"
run 2 show "$first"
warns 'is a sweep: a job is required'
run 2 sweeps show swp_00000000000000000000000000
warns 'sweep swp_0.* not found'
run 0 cancel "$first"
says "^$first has already succeeded$"
run 2 pause "$first"
warns "sweep $first has ended"
ok "sweeps ls, show, CSV"

# a trial becomes a job
run 0 sweeps promote "$first"
job=$(<"$out")
run 0 sweeps promote "$first" "$(jq .best.trial "$scratch/first.json")"
[[ $(<"$out") == "$job" ]] || fail "said again, it is another job"
run 0 watch "$job"
says '^succeeded  job_'
curl -sSf "$url/v1/jobs/$job" | jq -e --slurpfile sweep "$scratch/first.json" '.tags == [$sweep[0].id]
  and .spec.optimizer.lr == $sweep[0].best.values["/optimizer/lr"]' >/dev/null || fail "the job is not the best trial: $(curl -sSf "$url/v1/jobs/$job")"
run 2 sweeps promote "$first" 40
run 2 sweeps promote "$first" best
ok "sweeps promote"

# refusals
run 2 sweep "$scratch/disc.json"
warns 'nothing varies'
run 2 sweep "$scratch/disc.json" --set /optimizer/lr=log:0..1 --set /model/layers/7/out_features=1,2
warns '/space/~1'
run 2 sweep "$scratch/disc.json" --set /optimizer/lr=log:1
run 2 sweep "$scratch/disc.json" --set /optimizer/lr=0.1,0.2 --metric test.loss
warns '/metric: '
run 2 sweep "$scratch/disc.json" --set /optimizer/lr=0.1,0.2 --search best
run 2 sweep "$scratch/disc.json" --set /optimizer/lr=0.1,0.2 --seconds soon
warns '/max_seconds: '
ok "refusals, with pointers"

# a long one: watched, paused, resumed, renamed, cancelled, deleted, by the start of its id
run 0 sweep "$scratch/disc.json" --set /optimizer/lr=log:1e-4..1e-1 --trials 1000000 --detach
long=$(<"$out") id=$long
until_so "it runs" sweep_is running
"$ctl" watch "$long" >"$scratch/watched" 2>&1 &
watcher=$!
own+=("$watcher")
until_so "trials come" grep -q ' trainings ' "$scratch/watched"
run 0 pause "$long"
until_so "it is paused" sweep_is paused
run 0 sweeps ls --state paused -q
[[ $(<"$out") == "$long" ]] || fail "sweeps ls --state paused: $(<"$out")"
run 0 set "$long" --name patient --pinned true
says "^paused  $long  patient$"
run 0 resume "$long"
until_so "it runs again" sweep_is running
until_so "watch tells of the pause" grep -q "^paused: at training [0-9,]* of 1,000,000$" "$scratch/watched"
kill -INT "$watcher"
status=0
wait "$watcher" || status=$?
((status == 130)) || fail "Ctrl-C ended with $status"
run 0 cancel "$long"
until_so "it is cancelled" sweep_is cancelled
run 1 watch "$long"
says '^cancelled  swp_'
run 0 rm "$long" "$second"
run 2 sweeps show "$long"
ok "watch, pause, resume, set, cancel, rm take sweeps"

# Python, without and with NumPy
export PYTHONPATH=$here/../../clients/python PYTHONDONTWRITEBYTECODE=1 EPOCHD_TEST_DEVICE=$device
python3 -W error "$here/sweep_client.py" || fail "the Python client fails at sweeps"
daemon_stop
