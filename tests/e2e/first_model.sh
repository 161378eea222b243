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
  .rows.test == 160 and .rows.validation == 0 and .spec.model.layers[2].type == "dropout"'
cp "$body" "$scratch/shown"
submit "$open"
finish "$id"
check "it learns: $(jq -c '.metrics.test | [.accuracy, .roc_auc]' "$body")" '.metrics.test.accuracy > 0.68 and .metrics.test.roc_auc > 0.7'
check "what trained is what was shown" '(.spec | del(.device)) == ($shown[0].spec | del(.device))' --slurpfile shown "$scratch/shown"
accuracy=$(jq .metrics.test.accuracy "$body")
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
warned 'any(.[]; test("rows have no target")) and any(.[]; test("the same class of all|commonest class"))'
submit '{"data": {"dataset": "titanic", "target": "age", "test": 0.2}, "loss": "mse", "optimizer": {"lr": 0}, "epochs": 1,
  "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
finish "$id"
warned 'any(.[]; test("r2 of the test rows is -"))'
# a user takes the answer, edits it, and sends it back
http GET "/v1/jobs/$id"
jq -c '.spec | .epochs = 3 | .name = "edited"' "$body" >"$scratch/edited"
submit "$(cat "$scratch/edited")"
finish "$id"
check "an edited spec" '.progress.epochs == 3 and .spec.name == "edited"'
# numbers alone: scaled all the same, and known by name
awk 'BEGIN { print "area,rooms,price"; for (i = 0; i < 300; i++) { a = 20 + i * 37 % 180; r = 1 + i % 5; print a "," r "," 1000 * a + 20000 * r } }' >"$scratch/flats.csv"
http PUT /v1/datasets/flats -T "$scratch/flats.csv"
expect 201
submit '{"data": {"dataset": "flats", "target": "price"}, "model": "auto"}'
finish "$id"
check "numbers" '.spec.loss == "mse" and .metrics.test.r2 > 0.99'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"rooms": 3, "area": 100}]}'
expect 200
check "by name, in the units of the data" '.predictions[0][0] > 150000 and .predictions[0][0] < 170000'
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
# a sweep's job as well
http POST '/v1/sweeps?validate=only' "${json[@]}" -d "{\"job\": $open, \"space\": {\"/optimizer/lr\": {\"values\": [0.001, 0.01]}}}"
expect 200
check "a sweep of it" '.trials == 2 and .spec.job.epochs > 1'
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
refused '{"data": {"dataset": "titanc"}, "model": "auto"}' /data/dataset 'no dataset'
refused '{"data": {"dataset": "titanic", "target": "name"}, "model": "auto"}' /data/target 'text'
refused '{"data": {"dataset": "titanic", "target": "survived"}, "model": "auto", "epoch": 3}' /epoch 'did you mean'
refused '{"model": "auto"}' /data 'required'
echo "accuracy $accuracy"
