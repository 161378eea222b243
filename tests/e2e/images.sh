#!/usr/bin/env bash
# Small generated images in parts: a convolutional network learns them, twice with the same bits;
# early stopping keeps the best; every optimizer, schedule and augmentation is taken and learns.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/images.py" "$scratch/images" 12 600 150
upload_images bars "$scratch/images"
http GET /v1/datasets/bars
check "four parts, bytes as they came" '.format == "parts" and
  (.parts.train.x | .rows == 600 and .columns == 144 and .dtype == "u1" and .shape == [12, 12]) and .parts.test.y.rows == 150'

# spec EXTRA: the job of every test here, EXTRA laid over it, objects within objects too
spec() {
  jq -nc --argjson extra "$1" '{
    data: {dataset: "bars", normalize: {mean: 0.15, std: 0.2}},
    model: {layers: [
      {type: "conv2d", out_channels: 8, kernel_size: 3, padding: 1}, {type: "batch_norm"}, {type: "relu"},
      {type: "max_pool2d", kernel_size: 2}, {type: "dropout2d", p: 0.1},
      {type: "conv2d", out_channels: 8, kernel_size: 3}, {type: "relu"}, {type: "max_pool2d", kernel_size: 2},
      {type: "flatten"}, {type: "linear", out_features: 3}]},
    loss: "cross_entropy", optimizer: {type: "sgd", lr: 0.05, momentum: 0.9},
    epochs: 12, batch_size: 50} * $extra'
}
sha() { jq -r .weights.sha256 "$body"; }
# course FILE: the epochs of the job $id as [epoch, loss, validation loss, lr]
course() {
  http GET "/v1/jobs/$id/events?follow=0"
  expect 200
  jq -c 'select(.type == "epoch") | [.epoch, .loss, .validation.loss?, .lr]' "$body" >"$1"
}

http POST '/v1/jobs?validate=only' "${json[@]}" -d "$(spec '{}')"
expect 200
check "the plan counts: 80 + 16 + 584 + 99 parameters" \
  '.parameters == 779 and [.layers[] | .out_features] ==
   [1152, 1152, 1152, 288, 288, 128, 128, 32, 32, 3]'

submit "$(spec '{}')"
first_id=$id
finish "$first_id"
check "a CNN learns: accuracy $(jq .metrics.test.accuracy "$body"), $(jq .timing.train_seconds "$body") s on $(jq -r .executor "$body")" \
  '.metrics.test.accuracy >= 0.95 and .metrics.test.rows == 150 and .model.parameters == 779'
first=$(sha)
submit "$(spec '{}')"
finish "$id"
[[ $(sha) == "$first" ]] || fail "the same spec gave two weights"
submit "$(spec '{"seed": 2}')"
finish "$id"
[[ $(sha) != "$first" ]] || fail "two seeds gave the same weights"
echo "ok: the same spec twice gives the same weights to the last bit, another seed others"

http PUT /v1/datasets/packed -T "$scratch/images/images.npz"
expect 201
submit "$(spec '{"data": {"dataset": "packed"}}')"
finish "$id"
course "$scratch/npz"
id=$first_id
course "$scratch/idx"
cmp "$scratch/npz" "$scratch/idx" || fail "NPZ and IDX of the same images take two courses"
echo "ok: Keras' NPZ takes the same course as the four IDX files"

http GET "/v1/jobs/$first_id/predictions"
expect 200
check "the test rows' predictions" '.rows == 150 and
  ([[.target, .prediction] | transpose[] | select(.[0] == .[1])] | length) >= 143'
jq -c '.prediction[0:10]' "$body" >"$scratch/served"
http POST "/v1/jobs/$first_id/predict" "${json[@]}" -d "{\"x\": $(<"$scratch/images/rows.json")}"
expect 200
check "the same of raw pixels in a request" \
  '[.predictions[] | . as $row | index($row | max)] == $served[0]' --slurpfile served "$scratch/served"

# early stopping: ends before its time, with the best epoch's weights
submit "$(spec '{"data": {"validation": 0.2}, "epochs": 120, "optimizer": {"lr": 0.1}, "report_every": 1,
  "early_stopping": {"patience": 4}}')"
finish "$id"
check "early stopping ended epoch $(jq .progress.epoch "$body") of 120, with 120 validation rows" \
  '.progress.epoch < 120 and .metrics.validation.rows == 120 and .metrics.train.rows == 480 and .spec.keep == "best"'
loss=$(jq .metrics.validation.loss "$body")
course "$scratch/stopped"
jq -s -e --argjson loss "$loss" '
  (map(.[2]) | min) as $best | (map(.[2]) | index($best)) as $at |
  length - 1 - $at == 4 and (($loss - $best) | fabs) <= 1e-5 * (1 + $best) and .[-1][2] > $best' \
  "$scratch/stopped" >/dev/null ||
  fail "not the best epoch's weights, or not 4 epochs after it: $loss of $(jq -c '[.[0], .[2]]' "$scratch/stopped" | paste -sd' ')"
echo "ok: it ended 4 epochs after the best, and kept that one: $loss"

# augmentation
for augment in '{"shift": 2}' '{"flip": true}' '{"crop": [10, 10]}'; do
  submit "$(spec "{\"data\": {\"augment\": $augment}, \"epochs\": 15}")"
  finish "$id"
  check "augment $augment: accuracy $(jq .metrics.test.accuracy "$body")" '.metrics.test.accuracy >= 0.9'
  [[ $(sha) != "$first" ]] || fail "$augment changed nothing"
  augmented=$(sha)
done
submit "$(spec "{\"data\": {\"augment\": $augment}, \"epochs\": 15}")"
finish "$id"
[[ $(sha) == "$augmented" ]] || fail "augmentation is not the same twice"
echo "ok: augmentation is the same twice"

# the words of the vocabulary: a new one that is not tried here fails the test
words() { sed -nE "/define EP_$1_TABLE/,/^\$/s/^ *X\([A-Z0-9_]+, \"([a-z0-9_]+)\".*/\1/p" "$here/../../api/vocabulary.h"; }
# falls WHAT: the job $id ends with a loss well below that of its first epoch
falls() {
  finish "$id"
  course "$scratch/course"
  jq -s -e '.[-1][1] < 0.7 * .[0][1]' "$scratch/course" >/dev/null ||
    fail "$1 does not learn: $(jq -c '.[1]' "$scratch/course" | paste -sd' ')"
  echo "ok: $1: $(jq -s -c '[.[0][1], .[-1][1]]' "$scratch/course")"
}
declare -A rate=([sgd]=0.05 [adam]=0.005 [adamw]=0.005 [rmsprop]=0.002 [adagrad]=0.02 [lion]=0.001 [nadam]=0.005
  [adamax]=0.01)
count=0
for type in $(words OPTIMIZER); do
  [[ -n ${rate[$type]:-} ]] || fail "the optimizer $type has no case here"
  submit "$(spec "{\"epochs\": 6}" | jq -c --arg type "$type" --argjson lr "${rate[$type]:-0}" \
    '.optimizer = {type: $type, lr: $lr, weight_decay: 1e-4, decay_all: false} | .clip = {norm: 5}')"
  falls "$type"
  count=$((count + 1))
done
((count == ${#rate[@]})) || fail "$count optimizers of ${#rate[@]} were tried"

declare -A schedule=([constant]='{"warmup_epochs": 2}' [step]='{"step_size": 3}' [multi_step]='{"milestones": [3, 5]}'
  [exponential]='{"gamma": 0.8}' [cosine]='{"eta_min": 1e-4, "warmup_epochs": 1, "warmup_factor": 0.1}'
  [one_cycle]='{"max_lr": 0.1}' [reduce_on_plateau]='{"patience": 1, "threshold": 0.9}')
# what the learning rates of six epochs, the first step of each, must be
declare -A course_of=([constant]='.[0] < .[1] and .[1] == .[5] and .[5] == 0.05'
  [step]='.[0] == 0.05 and .[2] == .[0] and (.[3] - 0.005 | fabs) < 1e-9 and .[5] == .[3]'
  [multi_step]='.[2] == 0.05 and (.[3] - 0.005 | fabs) < 1e-9 and (.[5] - 0.0005 | fabs) < 1e-9'
  [exponential]='(.[5] / .[4] - 0.8 | fabs) < 1e-9' [cosine]='.[5] < .[3] and .[3] < .[1]'
  [one_cycle]='(max > 0.05) and (index(max) as $top | $top > 0 and $top < 5)'
  [reduce_on_plateau]='.[0] == 0.05 and .[-1] < 0.05')
count=0
for type in $(words SCHEDULE); do
  [[ -n ${schedule[$type]:-} ]] || fail "the schedule $type has no case here"
  submit "$(spec '{"epochs": 6, "data": {"validation": 0.2}}' | jq -c --arg type "$type" \
    --argjson figures "${schedule[$type]:-{\}}" '.schedule = {type: $type} + $figures | .keep = "last"')"
  falls "$type"
  jq -s -e "map(.[3]) | ${course_of[$type]}" "$scratch/course" >/dev/null ||
    fail "$type: the learning rates are $(jq -c '.[3]' "$scratch/course" | paste -sd' ')"
  count=$((count + 1))
done
((count == ${#schedule[@]})) || fail "$count schedules of ${#schedule[@]} were tried"

# label smoothing and class weights; faults are refused with their pointers
submit "$(spec '{"epochs": 6, "loss": {"type": "cross_entropy", "label_smoothing": 0.1, "class_weights": [1, 2, 1]}}')"
falls "label smoothing and class weights"
# balanced weights are those that one would work out from the training rows
http PUT /v1/datasets/uneven -H 'Content-Type: text/csv' --data-binary "$(awk 'BEGIN {print "x,y"; for (i = 0; i < 120; i++) print i % 37 / 37 "," (i % 12 == 0 ? 2 : i % 3 == 0)}')"
expect 201
# uneven WEIGHTS: trains with them; the loss and the SHA-256 of the parameters' file but for its notes
uneven() {
  submit "$(jq -nc --argjson weights "$1" '{data: {dataset: "uneven", target: "y"}, model: {layers: [{type: "linear", out_features: 3}]},
    loss: {type: "cross_entropy", class_weights: $weights}, epochs: 5, device: "cpu"}')"
  finish "$id"
  jq -c .metrics.train.loss "$body"
}
balanced=$(uneven '"balanced"')
check "the spec keeps the word" '.spec.loss.class_weights == "balanced"'
[[ $balanced == "$(uneven "[$(awk 'BEGIN {printf "%.9g,%.9g,%.9g", 120 / 3 / 80, 120 / 3 / 30, 120 / 3 / 10}')]")" ]] || fail "balanced weights are others"
[[ $balanced != "$(uneven null)" ]] || fail "balanced weights change nothing"
# refused POINTER CHANGE: a jq filter that spoils the job
refused() {
  http POST /v1/jobs "${json[@]}" -d "$(spec '{}' | jq -c "$2")"
  expect 422
  check "refused: $(jq -r '.errors[0].detail' "$body")" 'any(.errors[]; .pointer == $pointer)' --arg pointer "$1"
}
refused /model/layers/0/kernel_size '.model.layers[0].kernel_size = 20'
refused /data/normalize '.data.normalize = {mean: [0.1, 0.2], std: [1, 1]}'
refused /early_stopping '.early_stopping = {patience: 3}'
refused /loss/class_weights '.loss = {type: "cross_entropy", class_weights: [1, 2]}'
refused /loss/class_weights '.loss = {type: "cross_entropy", class_weights: "even"}'
refused /model/layers/9/in_features '.model.layers[9].in_features = 33'
