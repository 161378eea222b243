#!/usr/bin/env bash
# epochctl with a table, and no spec: from a file to a network, to its predictions beside the rows, to a search.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
export LC_ALL=C.UTF-8
unset EPOCHD EPOCHD_SERVER EPOCHD_TOKEN NO_COLOR COLUMNS
ctl=$build/bin/epochctl
[[ -x $ctl ]] || skip "epochctl was not built"
daemon_start
export EPOCHD_SERVER=$url
out=$scratch/out
err=$scratch/err.log # a sanitizer's words are looked for in *.log
cd "$scratch" || exit

# run STATUS ARGUMENTS…: epochctl must end with that status; its output goes to $out and $err.
run() {
  local wanted=$1 status=0
  shift
  timeout "$patience" "$ctl" "$@" >"$out" 2>"$err" || status=$?
  ((status == wanted)) || fail "epochctl $* ended with $status, not $wanted: $(head -c 900 "$out") $(head -c 900 "$err")"
  grep -aq 'Sanitizer\|runtime error:' "$err" && fail "epochctl $*: $(head -c 2000 "$err")"
  return 0
}
# says PATTERN…, warns PATTERN…: a line of each is there. silent: nothing is on standard error.
says() {
  local pattern
  for pattern; do grep -qE -- "$pattern" "$out" || fail "no \"$pattern\" in: $(head -c 1500 "$out")"; done
}
warns() {
  local pattern
  for pattern; do grep -qE -- "$pattern" "$err" || fail "no \"$pattern\" on standard error: $(head -c 900 "$err")"; done
}
silent() { [[ ! -s $err ]] || fail "standard error: $(head -c 900 "$err")"; }
ok() { echo "ok: $*"; }
# job FILTER: of the job that `train --detach` has submitted.
job() {
  curl -sSf "$url/v1/jobs/$(tail -n 1 "$out")" | jq -e "$1" >/dev/null || fail "$1: $(curl -sS "$url/v1/jobs/$(tail -n 1 "$out")" | head -c 900)"
}

awk -v OFS=, 'BEGIN {print "sex,age,survived"; for (i = 0; i < 120; i++) print i % 3 ? "male" : "female", i * 7 % 60, i % 3 ? "no" : "yes"}' >titanic.csv
mkdir other
head -n 91 titanic.csv >other/titanic.csv

# names: a job is called as its dataset, whose name means what it meant
run 0 train titanic.csv --target survived --detach
silent
job '.name == "titanic" and .spec.data.dataset == "titanic"'
run 0 train other/titanic.csv --target survived --detach
warns '^warning: dataset "titanic" is another file: this one is "titanic-2" \(--replace replaces the other\)$'
job '.name == "titanic-2" and .spec.data.dataset == "titanic-2"'
run 0 train other/titanic.csv --detach
warns 'this one is "titanic-2"'
run 0 train titanic.csv --target survived --detach --name mine
silent
job '.name == "mine" and .spec.data.dataset == "titanic"'
run 0 data ls -q
[[ $(sort "$out" | paste -sd ' ') == 'titanic titanic-2' ]] || fail "the datasets: $(<"$out")"
run 0 data show titanic
says '120 rows'
run 0 train other/titanic.csv --replace --detach
warns '^warning: 2 jobs were trained on the rows that it had before: what they learnt keeps working$'
run 0 data show titanic
says '90 rows'
http PUT '/v1/datasets/titanic?replace=false&header=true' -T titanic.csv
expect 201
check "how a file is read counts, too" '.name == "titanic-3"'
[[ $(header Location) == /v1/datasets/titanic-3 ]] || fail "Location: $(header Location)"
check "and of what differs" '.beside == "titanic" and .jobs == 0 and .warnings == ["dataset \"titanic\" is another file: this one is \"titanic-3\""]'
http PUT '/v1/datasets/titanic-2?replace=false&header=true&delimiter=comma' -T other/titanic.csv
expect 200
check "the same rows are the same dataset, however it was said" '.name == "titanic-2" and .warnings == []'
http PUT '/v1/datasets/titanic-2?replace=false&header=false' -T other/titanic.csv
expect 201
check "the same file read otherwise is told as that" '.name == "titanic-2-2" and .beside == "titanic-2" and
  (.warnings[0] | test("^dataset \"titanic-2\" is the same file, read with another header.*: this one is \"titanic-2-2\"$"))'
http PUT '/v1/datasets/titanic-2-2?replace=false' -T other/titanic.csv
expect 200
check "which takes its place where no job has read that" '.name == "titanic-2-2" and .warnings == []'
run 0 data rm titanic-2-2
silent
head -n 100 titanic.csv >typo.csv
run 2 train typo.csv --target survivd
run 0 train typo.csv --target survived --header true --detach
silent
job '.spec.data.dataset == "typo"'
cp titanic.csv last.csv
run 0 train last.csv --detach
silent
job '.name == "data-last" and .spec.data.dataset == "last"'
http POST '/v1/datasets?file=My%20%C3%BC%20flats.2024.CSV.gz' -T titanic.csv
expect 201
check "a file gives its name" '.name == "My---flats.2024"'
http POST '/v1/datasets?file=My%20%C3%BC%20flats.2024.csv' -T other/titanic.csv
check "and takes none" '.name == "My---flats.2024-2" and .beside == "My---flats.2024"'
run 0 data rm typo
warns '^warning: 1 job was trained on it: what it learnt keeps working$'
run 0 data rm last My---flats.2024 My---flats.2024-2
http PUT '/v1/datasets/titanic?replace=no' -T titanic.csv
expect 400
long=$(printf 'n%.0s' {1..128})
http PUT "/v1/datasets/$long?replace=false" -T titanic.csv
expect 201
http PUT "/v1/datasets/$long?replace=false" -T other/titanic.csv
expect 201
check "a long name is cut for its number" '.name == $name[:126] + "-2"' --arg name "$long"
ok "train replaces no dataset unless it is asked to"

# predict -o: the rows as they are, with the predicted columns behind them
run 0 train titanic.csv --dataset ours --target survived --set /seed=3
ours=$(head -n 1 "$out")
printf 'age,"sex"\r\n"7",male\r\n 21 ,"female"\r\n' >new.csv
run 0 predict "$ours" new.csv -o out.csv
says '^out\.csv  [0-9]+ B$'
printf 'age,"sex",survived_predicted\r\n"7",male,no\r\n 21 ,"female",yes\r\n' | cmp - out.csv || fail "predict -o: $(cat -A out.csv)"
run 0 predict "$ours" new.csv -o out.csv --probabilities
head -n 1 out.csv | grep -qx $'age,"sex",survived_predicted,survived_probability_no,survived_probability_yes\r' || fail "--probabilities: $(<out.csv)"
sed -n 2p out.csv | grep -qE $'^"7",male,no,0\\.9[0-9]*,0\\.0[0-9]*\r$' || fail "--probabilities: $(<out.csv)"
run 2 predict "$ours" new.csv --probabilities
printf 'a title\n\nsex,age\nmale,4\n' | "$ctl" predict "$ours" - -o - >"$out" 2>"$err" || fail "predict of a pipe: $(<"$err")"
printf 'sex,age,survived_predicted\nmale,4,no\n' | cmp - "$out" || fail "predict -o -: $(<"$out")"
warns '^warning: /rows: 2 lines before the table are left out'
printf 'sex,age\nmale,4\nneither,5\n' >odd.csv
run 0 predict "$ours" odd.csv -o out.csv
warns '^warning: /rows/1/sex: '
printf '[{"sex": "male",\n "age": 4.10}, {"age": null, "sex": "female"}]' >new.json
run 0 predict "$ours" new.json -o out.json
jq -e '. == [{"sex": "male", "age": 4.1, "survived_predicted": "no"}, {"age": null, "sex": "female", "survived_predicted": "yes"}]' out.json >/dev/null ||
  fail "rows of JSON: $(<out.json)"
grep -q '"age": 4\.10,"survived' out.json || fail "a number of JSON was written anew: $(<out.json)"
run 0 predict "$ours" new.json -o out.ndjson
[[ $(jq -c .age out.ndjson | paste -sd ' ') == '4.1 null' ]] || fail "lines of JSON: $(<out.ndjson)"
run 2 predict "$ours" new.csv -o ./new.csv
grep -q 'name another file' "$err" || fail "predict over its own rows: $(<"$err")"
run 2 predict "$ours" new.json -o out.csv
warns 'out.csv with the ending .json'
run 2 predict "$ours" new.csv -o out.json
warns 'with the ending .csv'
echo kept >kept.csv
printf 'sex,age\nmale,old\n' >odd.csv
run 2 predict "$ours" odd.csv -o kept.csv
warns '/rows/0/age: '
[[ $(<kept.csv) == kept ]] || fail "a refused prediction wrote its file"
run 2 predict "$ours" new.csv -o no/such/folder.csv
compgen -G '*.part-*' && fail "a part of a file is left"
ok "predict -o keeps the rows as they are written"

# numbers: plain, in the marks and with the sign of the table, where the table has it
awk 'BEGIN {print "area;price;note"; for (i = 0; i < 80; i++) printf "%d;€1.%d.%03d,50;x\n", 30 + i, 400 + i, (i * 37) % 1000}' >flats.csv
run 0 train flats.csv --target price --set /seed=3 --column note=ignore
flats=$(head -n 1 "$out")
head -n 4 flats.csv | cut -d ';' -f 1 >new.csv
run 0 predict "$flats" new.csv -o out.csv --delimiter ';'
head -n 1 out.csv | grep -qx 'area;price_predicted' || fail "the header: $(<out.csv)"
(($(tail -n +2 out.csv | grep -cE '^[0-9]+;€1[0-9]{6}(,[0-9]+)?$') == 3)) || fail "a price is no plain number: $(<out.csv)"
run 0 predict "$flats" new.csv --delimiter ';'
says '^row +price \(€\)$' '^ *0 +1[0-9]{6}(\.[0-9]+)?$'
awk 'BEGIN {print "a,rent"; for (i = 0; i < 80; i++) printf "%d,%d.50 €\n", i, 100 + i}' >rents.csv
run 0 train rents.csv --set /seed=3
run 0 predict last rents.csv -o -
says '^a,rent,rent_predicted$' '^[0-9]+,[0-9.]+ €,-?[0-9.]+ €$'
awk 'BEGIN {print "a,share"; for (i = 0; i < 80; i++) printf "%d,%.1f%%\n", i, i / 2}' >shares.csv
run 0 train shares.csv --set /seed=3
run 0 predict last shares.csv -o -
says '^a,share,share_predicted$' '^[0-9]+,[0-9.]+%,-?[0-9.]+%$'
awk 'BEGIN {for (i = 0; i < 80; i++) printf "%d %d \n", i, 3 * i}' >bare.txt
run 0 train bare.txt --set /seed=3
printf '1\n2\n' | "$ctl" predict last - -o - >"$out" || fail "rows without names"
says '^1 -?[0-9.]+$' '^2 -?[0-9.]+$'
[[ $(wc -l <"$out") == 2 ]] || fail "rows without names: $(<"$out")"
"$ctl" example xor | "$ctl" run - >/dev/null
printf '0,1\n' >new.csv
run 2 predict last new.csv -o out.csv
warns '^epochctl: without --output, cells are matched to columns by position$' '^  /rows: '
ok "and its numbers as they are written there"

# a series: what a window says stands behind its last row; over HTTP, a name for pictures and what has no rows of text
(echo power && for ((i = 0; i < 200; i++)); do echo "$((100 + i % 7))"; done) >power.csv
run 0 train power.csv --target power --set '/data/window={"length": 5, "horizon": 2}' --set /epochs=3
says 'epochctl predict power power.csv --steps 24' 'result +R² .* \(the last value: .*\), mae [0-9.]+ \([0-9.]+\), 2 rows ahead'
run 0 predict power power.csv --steps 3
says '^ *step +power' '^ *3 '
head -n 9 power.csv >new.csv
run 0 predict last new.csv -o out.csv
[[ $(head -n 1 out.csv) == power,power_predicted_2_rows_later ]] || fail "a series: $(<out.csv)"
[[ $(grep -cE '^10[0-9],$' out.csv) == 4 && $(grep -cE '^10[0-9],[0-9.]+$' out.csv) == 4 ]] || fail "windows: $(<out.csv)"
run 2 predict last new.csv -o out.csv --steps 3
warns 'has different rows'
(echo up && for ((i = 0; i < 60; i++)); do echo "$((i % 3 == 0))"; done) >up.csv
run 0 train up.csv --target up --set '/data/window={"length": 2, "horizon": 1}' --set /epochs=3
printf '{"up": %d}\n' 1 0 0 >new.ndjson
run 0 predict last new.ndjson -o out.ndjson
jq -se 'map(.up_predicted_1_row_later) | .[0] == null and (.[1:] | map(type) == ["number", "number"])' out.ndjson >/dev/null ||
  fail "classes of a series without names: $(<out.ndjson)"
http POST "/v1/jobs/$ours/predict?format=csv" "${json[@]}" -d '{"rows": [{"sex": "male", "age": 4}]}'
expect 200
[[ $(<"$body") == $'survived_predicted\nno' ]] || fail "rows that were no text: $(<"$body")"
[[ $(header Content-Type) == 'text/csv; charset=utf-8' ]] || fail "Content-Type: $(header Content-Type)"
http POST "/v1/jobs/$ours/predict" "${json[@]}" -d '{"rows": [{"sex": "male", "age": 4}]}'
check "the answer names its target" '.target == "survived" and (has("unit") | not)'
http POST "/v1/jobs/$ours/predict?format=xml" "${json[@]}" -d '{"rows": [{"sex": "male", "age": 4}]}'
expect 400
http POST "/v1/jobs/$ours/predict" -H 'Content-Type: text/csv' -H 'Accept: text/csv' --data-binary $'sex,age\nmale,4\n'
[[ $(<"$body") == $'sex,age,survived_predicted\nmale,4,no' ]] || fail "Accept: text/csv: $(<"$body")"
ok "a series, and requests of HTTP"

# sweep: of a file of data, about what the server chose
run 0 sweep titanic.csv --target survived --trials 4 --seconds 60 --tag mine
says '^succeeded  swp_.*  titanic-[0-9]+$|^succeeded  swp_.*  titanic$' '^  search +tpe, by validation.loss' '^  trainings +4 of 4' '^rank +trial +validation.loss +lr +weight_decay +out_features +p '
swept=$(head -n 1 "$out")
curl -sSf "$url/v1/sweeps/$swept" | jq -e '.spec.space | keys == ["/model/layers/0/out_features", "/model/layers/2/p", "/optimizer/lr", "/optimizer/weight_decay"]
  and .["/model/layers/0/out_features"].int_log_uniform == [16, 256] and .["/optimizer/lr"].log_uniform == [0.0003, 0.03]' >/dev/null ||
  fail "the space: $(curl -sS "$url/v1/sweeps/$swept" | jq -c .spec.space)"
run 0 sweep titanic.csv --target survived --set /epochs=3 --set /optimizer/lr=0.1,0.2 --trials 3 --name ours --detach
curl -sSf "$url/v1/sweeps/$(<"$out")" | jq -e '.name == "ours" and .spec.job.epochs == 3 and (.spec.space | keys) == ["/optimizer/lr"]' >/dev/null ||
  fail "a sweep with --set: $(curl -sS "$url/v1/sweeps/$(<"$out")" | head -c 900)"
run 0 sweep titanic.csv --validate
says '^50 trials, 50 trainings$'
run 0 sweep - --target survived --dataset ours --validate <titanic.csv
run 2 sweep titanic.csv --target survivd
warns '/job/data/target'
"$ctl" example xor >xor.json
run 2 sweep xor.json
warns 'nothing varies'
jq -c '{job: ., space: "auto", metric: "train.loss", max_trials: 2}' xor.json >auto.json
run 0 sweep auto.json
says '^  trainings +2 of 2'
ok "sweep of a table, with a space of the server"

# show and compare say what counts, and no more
run 0 train titanic.csv --dataset ours --target survived --set /epochs=20 --set /seed=4
first=$(head -n 1 "$out")
run 0 show "$first"
says '^  data +ours, target survived, test 0.2$' '^  network +linear 64, silu, dropout 0.5, linear 32, silu, dropout 0.5, linear 2$' '^  training +adamw, lr 0.003, .*schedule cosine'
(($(wc -l <"$out") <= 24)) || fail "show takes more than a screen: $(wc -l <"$out") lines"
run 0 show "$first" --json
jq -e '.spec.model.layers | length == 7' "$out" >/dev/null || fail "show --json has no spec"
run 0 train titanic.csv --dataset other-name --target age --set /epochs=20 --set /seed=4
second=$(head -n 1 "$out")
run 0 compare "$first" "$second"
says '^to beat +always "[a-z0-9]+": 0\.[0-9]+ +the mean alone: 0$' '^/data/target +survived +age$' '^/loss +cross_entropy +mse$'
grep -q 'sha256\|/data/dataset' "$out" && fail "compare shows what says nothing: $(<"$out")"
warns '^warning: the jobs predict different columns.*: survived, age$'
run 0 train other/titanic.csv --dataset ours --replace --target survived --set /epochs=20 --set /seed=4
run 0 compare "$first" "$(head -n 1 "$out")"
says '^/data/sha256 +[0-9a-f]{64} +[0-9a-f]{64}$'
warns '^warning: the jobs train on different rows under one name, so their metrics may not be comparable$'
ok "show is a summary, compare has what counts"

# the files of MNIST by their published names
python3 "$here/images.py" made 28 100 20
mkdir mnist
mv made/*-ubyte.gz mnist
run 0 data put digits mnist/*
run 0 data show digits --json
jq -e '.parts | [.train.x.rows, .train.y.rows, .test.x.rows, .test.y.rows] == [100, 100, 20, 20]' "$out" >/dev/null || fail "parts by names: $(head -c 900 "$out")"
cp mnist/train-labels-idx1-ubyte.gz mnist/train-labels.idx1-ubyte
run 2 data put digits mnist/*
warns 'train/y is given twice'
run 2 data put digits mnist/train-images-idx3-ubyte.gz titanic.csv
warns 'titanic.csv" is not'
ok "data put knows the files of MNIST"

# two commands: from a table to its predictions; the job is called as its file, its task may be said
begun=$(date +%s%N)
run 0 train titanic.csv --target survived --replace
says '^  result +[a-zA-Z0-9²_]+ [0-9.]+ \(.*: [0-9.-]+\)$' '^  epochctl predict titanic new.csv -o out.csv '
cut -d , -f 1,2 titanic.csv >new.csv
run 0 predict titanic new.csv -o out.csv
echo "two commands took $((($(date +%s%N) - begun) / 1000000)) ms"
[[ $(head -n 1 out.csv) == sex,age,survived_predicted && $(wc -l <out.csv) == 121 ]] || fail "two commands: $(head -n 3 out.csv)"
run 0 train titanic.csv --target age --task classification --set /epochs=2
run 0 show last --json
jq -e '.spec.data.task == "classification" and .spec.loss.type == "cross_entropy"' "$out" >/dev/null || fail "--task: $(head -c 900 "$out")"
run 2 train titanic.csv --target survived --task regression
warns '/data/task'
ok "train and predict by the file's name"
{ printf 'Flats 2024\nsize;rent\n' && for ((i = 30; i < 60; i++)); do echo "$i;$((i * 12)),50"; done; } >titled.csv
run 0 train titled.csv --target rent --detach
warns '^note: 1 line before the table is left out, the first is: `Flats 2024`$'
