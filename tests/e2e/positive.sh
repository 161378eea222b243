#!/usr/bin/env bash
# Which of two classes is the positive one: by its meaning, else the rarer, or as data.positive says; in metrics,
# curves and thresholds alike, and in a published model whatever the majority of the next training.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# table NAME OFTEN RARELY [LEAST]: 300 rows, of which x below LEAST are RARELY, about, and the others OFTEN
table() {
  awk -v often="$2" -v rarely="$3" -v least="${4:-30}" 'BEGIN {print "x,z,label"
    for (i = 0; i < 300; i++) { x = i * 37 % 100; print x "," i * 61 % 97 "," ((x + i * 11 % 31 < least + 15) ? rarely : often) }
  }' >"$scratch/$1.csv"
  http PUT "/v1/datasets/$1" -T "$scratch/$1.csv"
  expect 201
}
# job NAME [MORE]: of the data set; MORE fields of data
job() {
  jq -nc --arg name "$1" --argjson more "${2:-null}" '{data: ({dataset: $name, target: "label", test: 0.3, standardize: []} + $more),
    model: {layers: [{type: "linear", out_features: 2}]}, loss: "cross_entropy", optimizer: {type: "adam", lr: 0.05}, epochs: 30, batch_size: 32}'
}
train() { submit "$(job "$@")" && finish "$id"; }
scores='[.metrics.test | .f1, .precision, .recall, .roc_auc, .confusion]'

# "yes" is of most rows, then of few: both times it is the positive class, however it is spelt.
table often yes no
table often_true True False
table rare no yes
table often_sign positive negative
train often
check "the frequent word means yes" '.metrics.positive == "yes" and .metrics.class_names == ["no", "yes"] and .spec.data.positive == "yes"'
check "f1 is of class 1" '.metrics.test | ([.confusion[][1]] | add) as $said | ([.confusion[1][]] | add) as $are |
  (.f1 - 2 * .confusion[1][1] / ($said + $are)) | fabs < 1e-9'
yes=$(jq -c "$scores" "$body") often=$id
http GET "/v1/jobs?limit=1"
check "so does the list of jobs" '.data[0].metrics.positive == "yes"'
for name in often_true often_sign; do
  train "$name"
  check "another spelling gives the same numbers" "$scores == \$yes" --argjson yes "$yes"
done
check "a result is positive" '.metrics.positive == "positive"'
train rare
check "and the rare word" '.metrics.positive == "yes" and .metrics.class_names == ["no", "yes"]'

# The same with numbers, scaled as the columns of words are.
table numbers 1 0
train numbers '{"standardize": ["x"]}'
check "of numbers it is 1" '.metrics.positive == "1" and .spec.data.positive == null'
check "with the same numbers" '.metrics.test.f1 - $yes[0] | fabs < 0.02' --argjson yes "$yes"
train numbers '{"standardize": ["x"], "positive": 0}'
check "unless the job says 0" '.metrics.positive == "0" and .metrics.class_names == ["1", "0"] and .spec.data.positive == "0"'
check "which turns the matrix round" '(.metrics.test.confusion | map(add)) == ($yes[4] | map(add) | reverse)' --argjson yes "$yes"

# One output is the probability of the positive class.
http POST /v1/jobs "${json[@]}" -d "$(job often | jq -c '.loss = "bce_with_logits" | .model.layers[0].out_features = 1')"
expect 201
id=$(jq -r .id "$body")
finish "$id"
check "of one output" '.metrics.positive == "yes"'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"x": 99, "z": 50}, {"x": 0, "z": 50}]}'
check "a high one means yes" '.classes == ["yes", "no"] and .predictions[0][0] > 0 and .predictions[1][0] < 0 and .probabilities[0][1] > 0.5'

# Chosen: by another spelling of a word, too.
for asked in '"no"' '"NO"' false 0; do
  train often "{\"positive\": $asked}"
  check "positive $asked" '.metrics.positive == "no" and .metrics.class_names == ["yes", "no"] and .spec.data.positive == "no"'
done
# refused JOB PATTERN
refused() {
  http POST /v1/jobs "${json[@]}" -d "$1"
  expect 422
  check "refused: $2" '.errors | length == 1 and .[0].pointer == "/data/positive" and (.[0].detail | test($pattern))' --arg pattern "$2"
}
refused "$(job often '{"positive": "maybe"}')" 'no class "maybe": its classes are "yes" and "no"'
refused "$(job often '{"positive": 0.5}')" 'must be a word'
refused "$(job often '{"target": "x", "positive": "yes"}' | jq -c '.loss = "mse" | .model.layers[0].out_features = 1')" 'requires a classifier'
awk 'BEGIN {print "x,label"; for (i = 0; i < 60; i++) print i "," substr("abc", i % 3 + 1, 1)}' >"$scratch/three.csv"
http PUT /v1/datasets/three -T "$scratch/three.csv"
refused "$(job three '{"positive": "a"}' | jq -c '.model.layers[0].out_features = 3')" 'two classes, and this one has 3'
submit "$(job three | jq -c '.model.layers[0].out_features = 3')"
finish "$id"
check "of three classes none is positive" '.metrics | has("positive") | not'

# Curves and thresholds are of it.
for plot in roc pr calibration; do
  http GET "/v1/jobs/$often/plots/$plot"
  check "$plot" '.class == "yes"'
done
ask='{"rows": [{"x": 20, "z": 10}, {"x": 28, "z": 10}, {"x": 36, "z": 10}, {"x": 45, "z": 10}]}'
# said THRESHOLD: how many of these rows are "yes"
said() {
  http POST "/v1/jobs/$often/predict?threshold=$1" "${json[@]}" -d "$ask"
  expect 200
  check "the class of the threshold" '.positive == "yes" and .threshold >= 0' >&2
  jq '[.classes[] | select(. == "yes")] | length' "$body"
}
[[ $(said fp:1,fn:20) -gt $(said fp:20,fn:1) ]] || fail "a missed yes that costs more does not make more rows yes"
[[ $(said 0) == 4 && $(said 1) == 0 ]] || fail "a threshold is not of the positive class"

# A sweep, and folds.
http POST /v1/sweeps "${json[@]}" -d "{\"job\": $(job often '{"validation": 0.2}'), \"space\": {\"/optimizer/lr\": {\"values\": [0.01, 0.05]}}, \"metric\": \"validation.f1\"}"
expect 201
http GET "/v1/sweeps/$(jq -r .id "$body")"
check "a sweep stores it" '.spec.job.data.positive == "yes"'
submit "$(job often | jq -c '.folds = 3')"
finish "$id"
check "folds" '.metrics.positive == "yes"'

# A published threshold keeps its class, though the rarer word is another one in the next training.
table mail ham spam
table mail_later spam ham
train mail
check "the rarer word is positive" '.metrics.positive == "spam"'
first=$id
train mail_later
check "then another one" '.metrics.positive == "ham"'
later=$id
# publish JOB THRESHOLD
publish() { http PUT /v1/models/mail "${json[@]}" -d "{\"job\": \"$1\", \"threshold\": $2}"; }
rows='{"inputs": [{"name": "x", "shape": [5], "datatype": "FP64", "data": [5, 20, 30, 45, 90]}, {"name": "z", "shape": [5], "datatype": "FP64", "data": [9, 9, 9, 9, 9]}]}'
# spam_said THRESHOLD: how many of the rows are spam
spam_said() {
  publish "$later" "$1"
  expect 200
  check "still spam" '.positive == "spam"' >&2
  http POST /v2/models/mail/infer "${json[@]}" -d "$rows"
  expect 200
  check "which decides" '.parameters.positive == "spam"' >&2
  jq '[.outputs[] | select(.name == "class_name").data[] | select(. == "spam")] | length' "$body"
}
publish "$first" '"fp:1,fn:9"'
expect 201
check "of the first training" '.positive == "spam" and .threshold < 0.5'
[[ $(spam_said 0) == 5 && $(spam_said 1) == 0 ]] || fail "a threshold was turned round"
[[ $(spam_said '"fp:1,fn:20"') -gt $(spam_said '"fp:20,fn:1"') ]] || fail "a cost was turned round"
moved() { http PUT /v1/models/mail "${json[@]}" -d "{\"job\": \"$1\"}"; }
publish "$first" 0.3
moved "$later"
check "a threshold stays where the name moves" '.threshold == 0.3 and .positive == "spam" and .warnings == []'
moved "$often"
check "not with other classes, which is told" '.threshold == null and (.warnings | length) == 2 and
  (.warnings[0] | test("^mail answered .* before, and answers ")) and (.warnings[1] | test("the threshold 0.3 was of \"spam\""))'
publish "$first" 0.3
submit "$(job mail | jq -c '.data.target = "x" | .model.layers[0].out_features = 1 | .loss = "mse"')"
finish "$id"
moved "$id"
check "nor with another target" '.threshold == null and (.warnings | length) == 3 and
  (.warnings[0] | test("^mail predicted \".*\" before, and predicts \"x\" from here on"))'
if [[ -x $build/bin/epochctl ]]; then
  publish "$later" 0.25
  EPOCHD_SERVER=$url "$build/bin/epochctl" models ls >"$scratch/out"
  grep -q ' 0.25 of ham ' "$scratch/out" || fail "epochctl models ls: $(<"$scratch/out")"
  EPOCHD_SERVER=$url "$build/bin/epochctl" models publish mail "$id" 2>"$scratch/err" >/dev/null
  grep -q '^warning: mail predicted' "$scratch/err" || fail "epochctl models publish: $(<"$scratch/err")"
  EPOCHD_SERVER=$url "$build/bin/epochctl" models publish mail "$later" --threshold none 2>/dev/null >/dev/null
fi
publish "$first" 0.3
publish "$later" null
check "without a threshold there is none" '.positive == null and .threshold == null'
publish "$later" 0.4
check "after that the job's own is taken" '.positive == "ham"'
publish "$often" 0.4
check "as where the job has no such class" '.positive == "yes"'
http GET /v1/models/mail
before=$(cat "$body")
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
daemon_start
http GET /v1/models/mail
[[ $(cat "$body") == "$before" ]] || fail "after a kill the model is $(cat "$body")"
daemon_stop
