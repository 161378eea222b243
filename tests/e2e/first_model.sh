#!/usr/bin/env bash
# "model": "auto": a job that names a table and its target gets a network, which is shown, and learns as well as can be.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# Who survives is drawn by sex, class and age; names, tickets and a count of the rows say nothing. Half of what is drawn
# is chance: nobody can foretell more than some 80 %.
awk 'function uniform() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN { seed = 1; print "PassengerId,survived,pclass,name,sex,age,fare,cabin,embarked"
    for (i = 1; i <= 800; i++) {
      p = uniform() < 0.25 ? 1 : uniform() < 0.3 ? 2 : 3; s = uniform() < 0.35 ? "female" : "male"; a = int(uniform() * 70)
      z = (s == "female" ? 3 : 0) - (p - 1) - 0.03 * (a - 30) - 0.8 + (a < 10 ? 1.2 : 0)
      printf "%d,%d,%d,\"Doe, %d\",%s,%s,%.2f,%s,%s\n", i, uniform() < 1 / (1 + exp(-z)), p, i, s, uniform() < 0.2 ? "" : a,
        100 / p * (0.5 + uniform()), uniform() < 0.8 ? "" : "C" int(uniform() * 99), uniform() < 0.02 ? "NA" : substr("SCQ", int(uniform() * 3) + 1, 1)
    }}' >"$scratch/titanic.csv"
http PUT /v1/datasets/titanic -T "$scratch/titanic.csv"
expect 201
open='{"data": {"dataset": "titanic", "target": "survived"}, "model": "auto"}'
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$open"
expect 200
check "the whole choice is shown" '.spec.loss.type == "cross_entropy" and .spec.model.layers[-1].out_features == 2 and
  .spec.data.exclude == ["PassengerId"] and .spec.data.stratify and .spec.data.columns["*"].scale == "standard" and
  .rows.test == 160 and .rows.validation == 80 and .spec.early_stopping.tolerance == 0.11 and .spec.model.layers[2].type == "dropout"'
cp "$body" "$scratch/shown"
check "and said: $(jq .auto.summary "$body")" '.auto | .task == "classification" and .target == "survived" and .classes == 2 and
  .rows == 800 and .columns == ["pclass", "sex", "age", "fare", "cabin", "embarked"] and .columns_count == 6 and
  .left_out == [{name: "PassengerId", reason: "an id of each row"}, {name: "name", reason: "text"}] and
  .network == "dense 128-64, relu, dropout 0.5" and .hint == null and .baseline.metric == "accuracy" and
  .baseline.of == "always \"0\"" and .baseline.value > 0.5 and .baseline.value < 0.7 and
  (.summary | contains("one of 2 classes, from 6 columns") and contains("80 to validate, 160 to test") and contains("up to 200 epochs") and contains("\"PassengerId\" (an id"))'
submit "$open"
finish "$id"
check "the job says the same" '.auto == $shown[0].auto' --slurpfile shown "$scratch/shown"
check "it learns: $(jq -c '.metrics.test | [.accuracy, .roc_auc]' "$body")" '.metrics.test.accuracy > 0.68 and .metrics.test.roc_auc > 0.7'
check "what trained is what was shown" '(.spec | del(.device)) == ($shown[0].spec | del(.device))' --slurpfile shown "$scratch/shown"
check "held against the test rows" '.metrics | .baseline.metric == "accuracy" and .baseline.of == "always \"0\"" and
  ((.test.confusion[0] | add) / .test.rows - .baseline.value | fabs) < 1e-12'
accuracy=$(jq .metrics.test.accuracy "$body")
check "which epoch was kept, and why: $(jq .kept.reason "$body")" '.kept as $k | $k | .metric == "validation.loss" and .tolerance == 0.11 and
  .best <= .value and .value <= .best * 1.11 and (.reason | startswith("epoch \($k.epoch) of ")) and
  (if .epoch == .best_epoch then .reason | endswith("is the lowest") else .reason | contains("within 11% of the lowest") and contains("at epoch \($k.best_epoch)") end)'
if [[ -x $build/bin/epochctl ]]; then
  EPOCHD_SERVER=$url "$build/bin/epochctl" show "$id" | grep -qE "kept +epoch $(jq .kept.epoch "$body") of" || fail "epochctl show does not say which epoch was kept"
fi
# warned CHECK: the warnings of job $id, as a list of messages
warned() {
  http GET "/v1/jobs/$id/events?follow=0"
  jq -s '[.[] | select(.type == "warning") | .message]' "$body" >"$scratch/warnings"
  jq -e "$1" "$scratch/warnings" >/dev/null || fail "warnings: not so ($1) in $(<"$scratch/warnings")"
  echo "ok: warned: $(jq -c . "$scratch/warnings")"
}
warned 'length == 2 and (.[0] | contains("left out") and contains("\"name\"") and (contains("PassengerId") | not)) and
  (.[1] | contains("have no cell in: \"cabin\""))'
# rows without a target are none, and a network that learns nothing is told
submit '{"data": {"dataset": "titanic", "target": "embarked", "features": ["sex"]}, "model": "auto"}'
finish "$id"
check "rows with a target alone" '.metrics | [.train, .test | .rows] | add < 800'
warned 'any(.[]; test("rows have no target")) and any(.[]; test("the same class for all|most frequent class"))'
submit '{"data": {"dataset": "titanic", "target": "age", "test": 0.2}, "loss": "mse", "optimizer": {"lr": 0}, "epochs": 1,
  "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
finish "$id"
warned 'any(.[]; test("r2 on the test rows is -"))'
# a user takes the answer, edits it, and sends it back
http GET "/v1/jobs/$id"
jq -c '.spec | .epochs = 3 | .name = "edited"' "$body" >"$scratch/edited"
submit "$(cat "$scratch/edited")"
finish "$id"
check "an edited spec" '.progress.epochs == 3 and .spec.name == "edited" and .auto == null and
  .metrics.baseline == {metric: "r2", value: 0, of: "the mean alone"}'
# numbers alone: scaled all the same, and known by name
awk 'BEGIN { print "area,rooms,price"; for (i = 0; i < 300; i++) { a = 20 + i * 37 % 180; r = 1 + i % 5; print a "," r "," 1000 * a + 20000 * r } }' >"$scratch/flats.csv"
http PUT /v1/datasets/flats -T "$scratch/flats.csv"
expect 201
submit '{"data": {"dataset": "flats", "target": "price"}, "model": "auto"}'
finish "$id"
check "numbers" '.spec.loss == "mse" and .metrics.test.r2 > 0.99 and .auto.task == "regression" and
  .auto.baseline == {metric: "r2", value: 0, of: "the mean alone"} and .metrics.baseline == .auto.baseline'
http GET "/v1/compare?jobs=$id"
check "compared too" '.jobs[0].metrics.baseline.of == "the mean alone"'
daemon_stop
daemon_start
http GET "/v1/jobs/$id"
check "what was said outlives the daemon" '.auto.task == "regression" and .auto.rows == 300'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"rooms": 3, "area": 100}]}'
expect 200
check "by name, in the units of the data" '.warnings == null and .predictions[0][0] > 150000 and .predictions[0][0] < 170000'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"rooms": 3, "area": 100000}]}'
expect 200
check "far outside of the training: $(jq -r '.warnings[0].detail' "$body")" '.warnings | length == 1 and .[0].pointer == "/rows/0/area" and
  (.[0].detail | startswith("100000 is far outside of what the model learnt from, 20 to "))'
# the loss alone
http POST '/v1/jobs?validate=only' "${json[@]}" -d '{"data": {"dataset": "titanic", "target": "survived"}, "loss": "auto",
  "model": {"layers": [{"type": "linear", "out_features": 1}]}, "epochs": 1}'
expect 200
check "one logit" '.spec.loss.type == "bce_with_logits" and .spec.optimizer.type == "sgd"'
# every source of rows has a first model
for data in '{"generator": "xor"}' '{"generator": "disc"}' '{"inline": {"x": [[1], [2], [3], [4]], "y": [2, 4, 6, 8.5]}}'; do
  submit "{\"data\": $data, \"model\": \"auto\"}"
  finish "$id"
done
# the task can be set: numbers as classes, classes as numbers
submit '{"data": {"dataset": "titanic", "target": "pclass", "task": "regression"}, "model": "auto", "epochs": 2}'
finish "$id"
check "a number" '.auto.task == "regression" and .auto.hint == null and .spec.loss == "mse" and .spec.data.task == "regression" and
  .metrics.test.mae > 0'
submit '{"data": {"dataset": "titanic", "target": "age", "task": "classification"}, "model": "auto", "epochs": 2}'
finish "$id"
check "classes" '.auto.task == "classification" and .spec.loss.type == "cross_entropy" and .spec.model.layers[-1].out_features == .auto.classes'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"sex": "male", "pclass": 1, "survived": 0, "fare": 10, "cabin": null, "embarked": "S"}]}'
expect 200
check "which are named by their numbers" '.classes[0] | tonumber | . >= 0 and . < 70'
http POST '/v1/jobs?validate=only' "${json[@]}" -d '{"data": {"dataset": "titanic", "target": "pclass"}, "model": "auto"}'
expect 200
check "few whole numbers ask for the task" '.auto.hint | contains("3 whole numbers, taken for classes") and contains("--task regression")'
# a forecast has to beat the last value: of 0, 1, 2, … it misses each of n targets by 1, whose squares about their mean add up
# to n (n n - 1) / 12
{ echo t,y; for ((i = 0; i < 300; i++)); do echo "$i,$i"; done; } >"$scratch/line.csv"
http PUT /v1/datasets/line -T "$scratch/line.csv"
expect 201
http POST '/v1/jobs?validate=only' "${json[@]}" -d '{"data": {"dataset": "line", "target": "y", "time": "t", "window": {"length": 4}}, "model": "auto"}'
expect 200
check "the last value" '.rows.test as $n | .auto | .task == "forecast" and .baseline.of == "the last value" and
  (.baseline.value - (1 - 12 / ($n * $n - 1)) | fabs) < 1e-9 and .baseline.mae == 1 and (.summary | contains("the last value (MAE 1)"))'
submit '{"data": {"dataset": "line", "target": "y", "time": "t", "window": {"length": 4}, "test": 0.2}, "loss": "mse",
  "model": {"layers": [{"type": "linear", "out_features": 1}]}, "epochs": 2}'
finish "$id"
check "that of a written network as well" '.metrics | .test.rows as $n | .baseline.of == "the last value" and
  (.baseline.value - (1 - 12 / ($n * $n - 1)) | fabs) < 1e-9 and .baseline.mae == 1'
# rows in the order of a date: the test has random ones, unless the date splits
awk 'BEGIN {print "day,shuffled,y"; for (i = 0; i < 60; i++) printf "2024-%02d-%02d,2024-01-%02d,%d\n", 1 + i / 28, 1 + i % 28, 1 + i * 7 % 28, i * i % 11}' >"$scratch/log.csv"
http PUT /v1/datasets/log -T "$scratch/log.csv"
expect 201
hint() {
  http POST '/v1/jobs?validate=only' "${json[@]}" -d "{\"data\": {\"dataset\": \"log\", \"target\": \"y\", \"task\": \"regression\"$1}, \"model\": \"auto\"}"
  expect 200
}
hint ''
check "the order of the rows is told" '.auto.hint | contains("in the order of \"day\"") and contains("--set /data/time=day")'
for split in ', "time": "day"' ', "test": 0' ', "window": {"length": 4}'; do
  hint "$split"
  check "no hint with${split#,}" '.auto.hint == null'
done
http PUT /v1/datasets/log -T <(cut -d , -f 2- "$scratch/log.csv")
hint ''
check "nor of dates in no order" '.auto.hint == null'
# a date is no target, unless its seconds are asked for
printf 'x,day\n' >"$scratch/days.csv"
for day in {10..28}; do echo "$day,2024-03-$day"; done >>"$scratch/days.csv"
http PUT /v1/datasets/days -T "$scratch/days.csv"
expect 201
http POST '/v1/jobs?validate=only' "${json[@]}" -d '{"data": {"dataset": "days"}, "model": "auto"}'
expect 422
check "dates are refused" '.errors[0] | .pointer == "/data/target" and (.detail | contains("\"day\" has dates"))'
http POST '/v1/jobs?validate=only' "${json[@]}" -d '{"data": {"dataset": "days", "task": "regression"}, "model": "auto"}'
expect 200
# a sweep's job as well
http POST '/v1/sweeps?validate=only' "${json[@]}" -d "{\"job\": $open, \"space\": {\"/optimizer/lr\": {\"values\": [0.001, 0.01]}}}"
expect 200
check "a sweep of it" '.trials == 2 and .spec.job.epochs > 1 and .auto.epochs == .spec.job.epochs and .auto.task == "classification"'
http POST /v1/sweeps "${json[@]}" -d "{\"job\": $(jq -c '.epochs = 1' <<<"$open"), \"space\": {\"/optimizer/lr\": {\"values\": [0.01]}}}"
expect 201
sweep=$(jq -r .id "$body")
http GET "/v1/sweeps/$sweep"
check "a sweep says it, too" '.auto.rows == 800 and .auto.epochs == 1 and .warnings == []'
sweep_submit '{"job": {"data": {"generator": "xor"}, "model": {"layers": [{"type": "linear", "out_features": 1}]}, "loss": "mse",
  "epochs": 1}, "metric": "train.loss", "space": {"/optimizer/lr": {"values": [1e-7, 1e-6, 1e-5]}}}'
sweep_finish
check "a best value at the end of its range asks for more" '.warnings | length == 1 and (.[0] | test("/optimizer/lr.*end of its range.*widen"))'
# epochs can be compared by a validation split alone, which there is then
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$(jq -c '.keep = "best"' <<<"$open")"
expect 200
check "the best epoch" '.spec.data.validation > 0 and .spec.keep == "best"'
# refused JOB POINTER PATTERN
refused() {
  http POST /v1/jobs "${json[@]}" -d "$1"
  expect 422
  check "refused: $1" 'any(.errors[]; .pointer == $pointer and (.detail | test($pattern)))' --arg pointer "$2" --arg pattern "$3"
}
refused '{"data": {"dataset": "titanic", "target": "survivd"}, "model": "auto"}' /data/target 'no column'
refused '{"data": {"dataset": "titanic", "target": "Survived"}, "model": "auto"}' /data/target 'did you mean "survived"'
refused '{"data": {"dataset": "titanc"}, "model": "auto"}' /data/dataset 'dataset .* not found'
refused '{"data": {"dataset": "titanic", "target": "name"}, "model": "auto"}' /data/target 'text'
refused '{"data": {"dataset": "titanic", "target": "survived"}, "model": "auto", "epoch": 3}' /epoch 'did you mean'
refused '{"model": "auto"}' /data 'required'
refused '{"data": {"dataset": "titanic", "target": "sex", "task": "regression"}, "model": "auto"}' /data/task 'none of the target.s 2 words'
refused '{"data": {"dataset": "titanic", "target": "fare", "task": "classification"}, "model": "auto"}' /data/task 'use "regression"'
refused '{"data": {"dataset": "titanic", "target": "pclass", "task": "classification"}, "model": "auto", "loss": "mse"}' /data/task 'for numbers'
refused '{"data": {"dataset": "titanic", "target": "pclass", "task": "regression", "columns": {"pclass": {"type": "category"}}},
  "model": "auto"}' /data/task 'in columns is "category"'
refused '{"data": {"dataset": "titanic", "target": "pclass", "task": "number"}, "model": "auto"}' /data/task 'unknown task'
refused '{"data": {"dataset": "titanic", "target": "fare"}, "model": "auto", "loss": "cross_entropy"}' /loss 'the target "fare" has numbers'
echo "accuracy $accuracy"
