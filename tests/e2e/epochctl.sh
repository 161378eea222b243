#!/usr/bin/env bash
# epochctl in a pipe: each command against a real epochd, and how it ends.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
export LC_ALL=C.UTF-8
unset EPOCHD EPOCHD_SERVER EPOCHD_TOKEN NO_COLOR COLUMNS
ctl=$build/bin/epochctl
[[ -x $ctl ]] || skip "epochctl was not built"
daemon_start --cpu-jobs 1 --checkpoint-after 0 # some jobs are to wait
export EPOCHD_SERVER=$url
out=$scratch/out
err=$scratch/err.log # a sanitizer's words are looked for in *.log

# run STATUS ARGUMENTS…: epochctl must end with that status; its output goes to $out and $err.
run() {
  local wanted=$1 status=0
  shift
  timeout "$patience" "$ctl" "$@" >"$out" 2>"$err" || status=$?
  ((status == wanted)) || fail "epochctl $* ended with $status, not $wanted: $(head -c 600 "$out") $(head -c 600 "$err")"
  grep -aq 'Sanitizer\|runtime error:' "$err" && fail "epochctl $*: $(head -c 2000 "$err")"
  return 0
}
# says PATTERN…, warns PATTERN…: a line of each is there.
says() {
  local pattern
  for pattern; do grep -qE -- "$pattern" "$out" || fail "no \"$pattern\" in: $(head -c 900 "$out")"; done
}
warns() {
  local pattern
  for pattern; do grep -qE -- "$pattern" "$err" || fail "no \"$pattern\" on standard error: $(head -c 900 "$err")"; done
}
ok() { echo "ok: $*"; }

# run, in a pipe: the id, a line at each tenth, the outcome
"$ctl" example xor >"$scratch/xor.json"
run 0 run "$scratch/xor.json" --name first --tag red --tag round --set /epochs=2000 --set '/model/layers/1={"type":"relu"}' --set /optimizer/lr=0.3
says '^job_[0-9a-z]{26}$'
says '^epoch 2,000/2,000  100 %  loss [0-9.e-]+ '
says '^succeeded  job_.*  first$'
(($(grep -c '^epoch ' "$out") <= 12)) || fail "too many lines: $(grep -c '^epoch ' "$out")"
first=$(head -n 1 "$out")
run 0 show last --json
jq -e --arg id "$first" '.id == $id and .spec.epochs == 2000 and .spec.optimizer.lr == 0.3 and .spec.model.layers[1].type == "relu"
  and .name == "first" and .tags == ["red", "round"]' "$out" >/dev/null || fail "--set, --name, --tag: $(head -c 900 "$out")"
LC_ALL=C grep -q $'\x1b' "$out" && fail "an escape sequence in a pipe"
ok "run submits, follows, and ends with 0"

# --json: the job, then the events as the server has them
run 0 run - --json <"$scratch/xor.json"
head -n 1 "$out" | jq -e '.object == "job"' >/dev/null || fail "the job does not come first"
second=$(head -n 1 "$out" | jq -r .id)
curl -sSf "$url/v1/jobs/$second/events?follow=0" | cmp - <(tail -n +2 "$out") || fail "run --json is not the server's stream"
run 0 watch "$second" --json
curl -sSf "$url/v1/jobs/$second/events?follow=0" | cmp - "$out" || fail "watch --json is not the server's stream"
run 0 show "$second" --json
curl -sSf "$url/v1/jobs/$second" | cmp - <(head -c "$(curl -sSf "$url/v1/jobs/$second" | wc -c)" "$out") || fail "show --json is not the server's answer"
ok "--json prints the server's bytes"

# 1: a job that fails, one that is cancelled
run 1 run "$scratch/xor.json" --set /loss=mse --set /optimizer/lr=1e30 --set /optimizer/momentum=0
says '^failed  job_'
says 'error +.+'
run 0 cancel last
says '^job_.* has already failed$'
run 0 run "$scratch/xor.json" --set /epochs="$endless" --detach
long=$(<"$out")
watched() { curl -sSf "$url/metrics" | grep -x 'epochd_watchers 1' >/dev/null; }
(until_so "the job is watched" watched && "$ctl" cancel "$long" >/dev/null) &
own+=($!)
run 1 watch "${long: -10}"
says '^cancelled  job_'
ok "a job that failed or was cancelled ends with 1"

# 2: usage, and refusals of the server with their pointers
run 2
run 2 fly
run 2 run
run 2 ls --no-such-flag
run 2 ls --limit many
warns '^usage: epochctl ls; '
run 2 ls twice
warns 'unexpected argument "twice"'
run 0 help data
says '^epochctl data put NAME FILE…: '
says '^epochctl data ls: '
run 0 ls --version
says '^epochctl [0-9]'
run 2 weights last --format docx
run 2 run "$scratch/not-there.json"
echo '{"epochs": 1,' >"$scratch/torn.json"
run 2 run "$scratch/torn.json"
run 2 run "$scratch/xor.json" --set /optimizer/lr=-1 --set /epochs=0
warns '^  /optimizer/lr: must be '
warns '^  /epochs: must be '
run 2 validate "$scratch/xor.json" --set /model/layers/0/type=linaer
warns '/model/layers/0/type: '
run 2 run "$scratch/xor.json" --set /optimizer/lr=-1 --json
jq -e '.errors[0].pointer == "/optimizer/lr"' "$err" >/dev/null || fail "--json does not say the problem as it came"
run 2 show job_00000000000000000000000000
run 2 show zzzz
run 2 rm "$first" nothing-like-it # nothing is deleted
run 0 show "$first"
ok "wrong usage and refused specs end with 2, with pointers"

# 3: nobody there, no token
run 3 ls --server http://127.0.0.1:9
warns 'Is epochd running'
run 3 ls --server http://no-such-host.invalid
ok "no answer ends with 3"

# 130: Ctrl-C leaves the job alone
run 0 run "$scratch/xor.json" --set /epochs="$endless" --detach
long=$(<"$out")
"$ctl" watch "$long" >"$out" 2>"$err" &
watcher=$!
until_so "it watches" grep -q '^epoch ' "$out"
kill -INT "$watcher"
status=0
wait "$watcher" || status=$?
((status == 130)) || fail "Ctrl-C ended with $status"
warns "epochctl cancel $long"
[[ $(curl -sSf "$url/v1/jobs/$long" | jq -r .status) == running ]] || fail "Ctrl-C stopped the job"
ok "Ctrl-C ends the watching with 130; the job goes on"

# a job that waits, behind it: priority, the queue
run 0 run "$scratch/xor.json" --detach
waits=$(<"$out")
run 0 set "$waits" --priority 7 --name patient --tag blue --pinned true
run 0 show "$waits"
says "pinned +yes"
run 0 set "$waits" --pinned false
run 0 queue
says "1 running, 1 waiting"
says "1 .* 7 +$waits +patient"
says "position +starts in +priority +job +owner +name"
run 0 ls --state queued -q
[[ $(<"$out") == "$waits" ]] || fail "ls --state queued: $(<"$out")"
run 0 ls --tag red --tag round -q
[[ $(<"$out") == "$first" ]] || fail "ls --tag: $(<"$out")"
run 0 devices
says 'cpu +busy +job_'
run 0 cancel "$waits" "$long" "$first"
says "^$waits is cancelled$"
says "^$long is (being )?cancelled$" # it may have ended meanwhile
says "^$first has already succeeded$"
ended "$long"
run 0 cancel "$long"
says "^$long is cancelled$"
run 0 set "$waits" --tag '' --name ''
run 0 show "$waits" --json
jq -e '.name == "" and .tags == []' "$out" >/dev/null || fail "set does not take away: $(head -c 300 "$out")"
run 2 set "$waits" --priority 9
run 0 ls
says '^job +name +status'
ok "ls, set, queue, devices, cancel"

# names of jobs
run 0 show "${first: -8}" --json
[[ $(jq -r .id "$out") == "$first" ]] || fail "the end of an id is not found"
run 0 show "${first#job_}" --json
run 2 sweeps show "$first"
warns 'is a job: a sweep is required'
run 2 show job_0
warns 'at least 4 characters after job_'
run 2 show "${first:0:8}"
warns 'is ambiguous: it matches several jobs: job_'
run 0 set "$first" --name 'a b/c'
run 0 show 'a b/c' --json
[[ $(jq -r .id "$out") == "$first" ]] || fail "a name is not found"
run 2 show 'a b/d'
warns 'no job named "a b/d": did you mean "a b/c"'
ok "a name is enough, or an id's start or end, if one job alone has it"

# results
run 0 plot "$first" --width 60 --height 12
says '⣀⣤ training loss'
[[ $(wc -l <"$out") == 12 ]] || fail "the plot has $(wc -l <"$out") lines"
run 0 plot "$first" --log --ascii --by seconds
LC_ALL=C grep -q '[^ -~]' "$out" && fail "--ascii is not ASCII"
says '\* training loss'
run 0 plot "$first" --error
LC_ALL=C run 0 plot "$first"
run 0 plot "$first" --json
jq -e '.object == "curve"' "$out" >/dev/null || fail "plot --json"
(cd "$scratch" && "$ctl" weights "$first" -o w.safetensors) | grep -q 'SHA-256 verified' || fail "weights"
[[ $(sha256sum <"$scratch/w.safetensors" | cut -d ' ' -f 1) == $(curl -sSf "$url/v1/jobs/$first" | jq -r .weights.sha256) ]] || fail "the weights are others"
for format in npz json onnx c; do
  "$ctl" weights "$first" --format $format -o - | cmp - <(curl -sSf "$url/v1/jobs/$first/weights?format=$format") || fail "weights --format $format"
done
run 2 weights "$first" -o "$scratch/no/such/folder/w"
compgen -G "$scratch/*.part-*" && fail "a part of a download is left"
printf 'a,b\n0,1\n1,1\n' >"$scratch/rows.csv"
run 0 predict "$first" "$scratch/rows.csv" --csv
curl -sSf "$url/v1/jobs/$first/predict" "${json[@]}" -d '{"x":[[0,1],[1,1]]}' | jq -r '.predictions[][0]' | cmp - "$out" || fail "predict --csv"
echo '[[0, 1], [1, 1]]' | "$ctl" predict "$first" - >"$out" || fail "predict of JSON"
says '^ +0 +1 '
says '^ +1 +0 '
printf '0,1\n1,x\n' >"$scratch/rows.csv"
run 2 predict "$first" "$scratch/rows.csv"
warns 'line 2: every cell must be a number'
printf 'a,b\n' >"$scratch/rows.csv"
run 2 predict "$first" "$scratch/rows.csv"
[[ $(<"$err") == "epochctl: no rows to predict" ]] || fail "an earlier refusal is told again: $(<"$err")"
run 2 plot "$first" --repeats 7
warns '--repeats requires the NAME of a plot'
(cd "$scratch" && "$ctl" plot "$first" roc) | grep -qx "$first-roc.svg" || fail "plot roc"
ok "plot, weights, predict"

# data
printf 'area,rooms,price\n' >"$scratch/houses.csv"
for ((i = 0; i < 60; i++)); do echo "$((35 + i)),$((1 + i % 5)),$((100 + 3 * i))"; done >>"$scratch/houses.csv"
run 0 data put houses "$scratch/houses.csv"
says '^houses  csv, 60 rows, '
"$ctl" data put piped - <"$scratch/houses.csv" >/dev/null || fail "data put of a pipe"
run 0 data put apart --header true train/x="$scratch/houses.csv"
run 2 data put several "$scratch/houses.csv" "$scratch/houses.csv"
run 2 data put houses "$scratch/not-there"
run 0 data ls -q
[[ $(sort "$out" | paste -sd ' ') == "apart houses piped" ]] || fail "data ls: $(<"$out")"
run 0 data show houses
says 'price +whole number +0 +60 +100 to 277'
run 0 data head houses --rows 2
says '^area +rooms +price' '^ *36 +2 +103$' '^2 of 60 rows$'
run 0 data head apart -n 1
says '^x$' '^\[35, 1, 100\]$|^\{.*35.*\}$'
run 2 data head houses --split test
run 0 data rm piped apart
run 2 data show piped
"$ctl" example houses | "$ctl" run - >"$out" || fail "the example houses"
says 'r2 '
printf 'town;born;m2\nOslo;31.1.2020;1,5\nBergen;1.2.2021;\nOslo;3.3.2022;2,5\n' | "$ctl" data put towns - >/dev/null || fail "data put of words"
run 0 data show towns
says 'town +category +0 +2 +Oslo, Bergen' 'born +date +0 +3 +2020-01-31 to 2022-03-03' 'm2 +number +1 +2 +1.5 to 2.5'
awk 'BEGIN {print "town;rent;age;zip"; for (i = 1; i <= 60; i++) printf "t%d;%d.234;%s;%05d\n", i % 3, i, i % 30 ? i : "unknown", i % 7 + 1000}' >"$scratch/flats.csv"
run 2 data put flats "$scratch/flats.csv"
warns 'column 2 \("rent"\): .*choose with --decimal and --thousands'
run 0 data put flats "$scratch/flats.csv" --delimiter ';' --decimal , --missing '-,none of these'
run 0 data show flats
says '^--delimiter +; +.;.: 4 cells in 61 of' '^--decimal +,$|^--decimal +, ' '^--missing +-,none of these' 'column 3 \("age"\): .*unknown' 'rent +.*1,?234 to 60,?234'
run 2 data put flats "$scratch/flats.csv" --decimal x
warns '--decimal must be one of \.\|,'
run 2 data put flats "$scratch/flats.csv" --delimiter nothing
warns 'epochctl: --delimiter must be one character'
ok "data put, ls, show, head, rm, and how a CSV is written"

# the options of a dialect for train and predict, and a type for a column
run 2 train "$scratch/flats.csv" --column zip
warns '--column must be NAME=TYPE'
run 2 train "$scratch/flats.csv" --decimal . --target rent --column zip=roman
warns '/data/columns/zip/type'
run 0 train "$scratch/flats.csv" --decimal . --target rent --column zip=category --column age=ignore --set /seed=3
"$ctl" show last --json | jq -e '.spec.data.columns | .zip.type == "category" and .age.type == "ignore"' >/dev/null || fail "train --column"
head -3 "$scratch/flats.csv" >"$scratch/points.csv"
sed 's/\./,/' "$scratch/points.csv" >"$scratch/commas.csv"
run 0 predict last "$scratch/points.csv" --csv
cp "$out" "$scratch/answer"
run 0 predict last "$scratch/commas.csv" --csv --decimal , --thousands none
cmp "$out" "$scratch/answer" || fail "predict --decimal ,"
iconv -f utf-8 -t utf-16 "$scratch/points.csv" >"$scratch/wide.csv"
run 0 predict last "$scratch/wide.csv" --csv --encoding utf-16le
cmp "$out" "$scratch/answer" || fail "predict --encoding utf-16le"
run 2 predict last "$scratch/points.csv" --steps 2 --decimal .
warns '--steps: requires a series'
ok "train --column, and a dialect for predict"

# train: from a file to its metrics, by names
awk -v OFS=, 'BEGIN {print "sex,age,survived"; for (i = 0; i < 120; i++) print i % 3 ? "male" : "female", i * 7 % 60, i % 3 ? "no" : "yes"}' >"$scratch/our titanic.v2.csv"
run 0 train "$scratch/our titanic.v2.csv" --target survived --set /seed=7 --tag mine
says '^succeeded  job_.*  our-titanic.v2$'
says '^  test  .* accuracy 1 '
says '^ *true . said +no +yes$'
says '^ *yes +0 +8$'
says '^  epochctl predict our-titanic.v2 new.csv -o out.csv ' 
run 0 show last --json
jq -e '.spec.data.dataset == "our-titanic.v2" and .spec.data.target == "survived" and .spec.seed == 7 and .tags == ["mine"]' "$out" >/dev/null ||
  fail "train: $(head -c 900 "$out")"
run 0 predict last "$scratch/our titanic.v2.csv"
says '^ *row +class +no +yes$'
says '^ *0 +yes +0.0'
printf 'age,sex\n7,male\n' | "$ctl" predict last - >"$out" || fail "predict by names"
says '^ *0 +no +0.9'
run 0 train "$scratch/houses.csv" --target price --set '/data/standardize=["x", "y"]'
printf 'area,rooms\n60,3\n' | "$ctl" predict last - >"$scratch/area" || fail "predict of plain numbers"
printf 'rooms,price,area\n3,1,60\n' | "$ctl" predict last - | cmp - "$scratch/area" || fail "the order of names counts"
printf 'rooms,aera\n3,60\n' >"$scratch/rows.csv"
run 2 predict last "$scratch/rows.csv"
warns '/aera: .*did you mean "area"'
run 0 train - --dataset piped --detach <"$scratch/our titanic.v2.csv"
says '^job_[0-9a-z]{26}$'
run 2 train "$scratch/our titanic.v2.csv" --target survivd
warns '/data/target'
run 2 train "$scratch/not-there.csv"
ok "train"

# side by side; a name for the outside
run 0 compare "$first" "$second"
says '/optimizer/lr +0.3 +0.5'
says '^test accuracy'
run 0 compare "$first" "$second" --csv
(($(wc -l <"$out") == 3)) || fail "compare --csv: $(<"$out")"
run 0 compare "$first" "$second" --json
jq -e '.object == "comparison"' "$out" >/dev/null || fail "compare --json"
run 0 models publish gate "$first"
says "gate is $first"
run 0 models ls
says "gate +$first"
run 2 rm "$first"
run 0 models rm gate
run 0 rm "$first" "$second"
run 2 show "$first"
ok "compare, models, rm"

# checkpoints, a pause
run 0 run "$scratch/xor.json" --set /epochs="$endless" --set '/checkpoint={"every_seconds":0}' --detach
long=$(<"$out")
newest() { step=$("$ctl" checkpoints "$long" --json | jq -e '.data[0].step'); }
is() { [[ $(curl -sSf "$url/v1/jobs/$long" | jq -r .status) == "$1" ]]; }
until_so "it has a checkpoint" newest
run 0 pause "$long"
says "^$long is paus(ing|ed)$"
until_so "it is paused" is paused
run 0 pause "$long"
says "^$long is paused$"
run 0 ls --state paused -q
[[ $(<"$out") == "$long" ]] || fail "ls --state paused: $(<"$out")"
newest
run 0 checkpoints last
says '^ *step +epoch +of +loss '
says "^ *$step +[0-9,]+ +900,000,000 +[0-9]"
at=$(curl -sSf "$url/v1/jobs/$long/checkpoints" | jq '.data[0].epoch')
(cd "$scratch" && "$ctl" weights "$long" --checkpoint "$step") | grep -q 'SHA-256 verified' || fail "weights --checkpoint"
cmp "$scratch/$long-$step.safetensors" <(curl -sSf "$url/v1/jobs/$long/checkpoints/latest/weights") || fail "the checkpoint's weights are others"
"$ctl" weights "$long" -c latest -o - | cmp - "$scratch/$long-$step.safetensors" || fail "the latest checkpoint is another"
for wrong in ../x latest.x 12345678901234567890 '' $((step + 1)); do run 2 weights "$long" --checkpoint "$wrong"; done
run 2 weights "$long" -c latest --format npz
echo 0,1 | "$ctl" predict "$long" - --csv -c latest >"$out" || fail "predict --checkpoint"
curl -sSf "$url/v1/jobs/$long/predict?checkpoint=$step" "${json[@]}" -d '{"x":[[0,1]]}' | jq -r '.predictions[0][0]' | cmp - "$out" || fail "predict -c latest"
"$ctl" watch "$long" >"$scratch/watched" 2>&1 &
watcher=$!
own+=("$watcher")
run 0 resume "$long"
says "^$long is (queued|running)$"
until_so "it runs" is running
run 0 cancel "$long"
wait "$watcher" || true
grep -q "^paused: at epoch .* of 900,000,000$" "$scratch/watched" || fail "watch has no pause: $(<"$scratch/watched")"
[[ $(grep '^resumed: ' "$scratch/watched" | tr -d ,) == "resumed: at epoch $at of 900000000" ]] || fail "watch: $(<"$scratch/watched")"
run 2 pause "$long"
run 2 resume "$long"
run 0 run "$scratch/xor.json" --set /epochs="$endless" --detach
long=$(<"$out")
until_so "it trains" is running
run 0 pause "$long"
until_so "it is paused" is paused
run 0 cancel "$long"
run 0 show "$long"
! grep -q '0 s training' "$out" || fail "a time that nobody took: $(head -n 4 "$out")"
run 2 weights "$long"
warns 'ended without weights$'
ok "pause, resume, checkpoints, and what one holds"

# a token
(umask 077 && echo 'open-sesame-and-more' >"$scratch/tokens")
daemon_stop
daemon_start --cpu-jobs 1 --token-file "$scratch/tokens"
run 3 ls --server "$url"
warns 'requires a token'
EPOCHD_TOKEN=open-says-me-and-more run 3 ls --server "$url"
warns 'rejected the token'
run 0 ls --server "$url" --token-file "$scratch/tokens"
EPOCHD_TOKEN=open-sesame-and-more run 0 ls --server "${url#http://}/"
EPOCHD_TOKEN=$'two\nlines' run 2 ls --server "$url"
ok "a token, from a file or the environment"
daemon_stop
