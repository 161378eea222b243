#!/usr/bin/env bash
# One training on several ranks: the losses of one rank, the cut and the table of ranks, pauses, sweeps over the cut,
# predictions, and what is refused at submission.
EPOCHD_TEST_DEVICE=cpu
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# rows that no number of ranks divides: the last batch of an epoch has 3
spec='{"data": {"generator": "disc", "rows": 1003}, "loss": "cross_entropy", "epochs": 10, "batch_size": 100, "device": "cpu",
       "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "tanh"}, {"type": "linear", "out_features": 16},
        {"type": "residual", "layers": [{"type": "linear", "out_features": 16}, {"type": "relu"}]}, {"type": "dropout", "p": 0.1},
        {"type": "linear", "out_features": 2}]}, "optimizer": {"type": "adam", "lr": 0.01}}'
# trained JQ: trains the job as changed.
trained() {
  submit "$(jq -c "$1" <<<"$spec")"
  finish "$id"
}
trained '.executor = "cpu/reference"'
check "one rank has no table" '.parallel == null and .ranks == null and .spec.parallel == null'
loss=$(jq .metrics.train.loss "$body")

# ranks PARALLEL DATA MODEL: so many ranks, and the loss of one.
ranks() {
  trained ".parallel = $1"
  check "$2 replicas of $3 stages" '.status == "succeeded" and .executor == "cpu/ranks" and
    .parallel.data == $d and .parallel.model == $m and (.parallel.stages | length) == $m and
    (.parallel.stages | map(.parameters) | add) == .model.parameters and .parallel.stages[-1].layers[1] == 5 and
    ([.ranks[] | [.rank, .data, .model]] == [range($d) as $i | range($m) as $j | [$i * $m + $j, $i, $j]]) and
    all(.ranks[]; .bytes > 0 and .compute_microseconds > 0 and .idle_share >= 0 and .idle_share <= 1) and
    (.metrics.train.loss / $loss - 1 | fabs) < 1e-4' --argjson d "$2" --argjson m "$3" --argjson loss "$loss"
}
ranks '{data: 4}' 4 1
ranks '{model: 4}' 1 4
ranks '{data: 4, model: 4}' 4 4
ranks '{stages: [[0, 2], [3, 5]], data: 3, micro_batches: 5}' 3 2
check "the cut is as given" '.spec.parallel == {data: 3, model: 2, stages: [[0, 2], [3, 5]], micro_batches: 5, elastic: false} and .parallel.micro_batches == 5'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"x": [[0.5, 0.5]]}'
expect 200
check "it predicts, on one rank" '.predictions[0] | length == 2'
http GET "/v1/jobs/$id/weights?format=onnx"
expect 200
ranks '{model: 2}' 1 2
first=$(jq -r .weights.sha256 "$body")
ranks '{model: 2}' 1 2
[[ $(jq -r .weights.sha256 "$body") == "$first" ]] || fail "the same job on the same ranks gave other weights"
trained '.parallel = {data: 2} | .folds = 3 | .repeats = 2'
check "folds and repeats" '.metrics.parts.each | length == 6 and all(.[]; .outcome == "ok")'
trained '.parallel = {data: "auto"}'
check "auto is one replica" '.executor != "cpu/ranks" and .ranks == null and .parallel.data == 1 and (.parallel.note | test("a whole device"))'

http POST /v1/sweeps "${json[@]}" -d "$(jq -c '{job: ., space: {"/parallel/data": {values: [1, 2, 4]}}, metric: "train.loss"}' <<<"$spec")"
expect 201
id=$(jq -r .id "$body")
sweep_ended() {
  http GET "/v1/sweeps/$id"
  jq -e '.finished_at != null' "$body" >/dev/null
}
until_so "a sweep over replicas ends" sweep_ended
http GET "/v1/sweeps/$id/trials"
check "its trials differ by rounding" '.data | length == 3 and (map(.train_loss) | max / min - 1) < 1e-4'

# refused JQ POINTER PATTERN: the job must be refused when it is submitted, there, with that reason.
refused() {
  http POST /v1/jobs "${json[@]}" -d "$(jq -c "$1" <<<"$spec")"
  expect 422
  check "refused: $1" '.errors | length == 1 and .[0].pointer == $pointer and (.[0].detail | test($pattern))' \
    --arg pointer "$2" --arg pattern "$3"
}
refused '.parallel = {model: 7}' /parallel/model '7 stages, and the model has 6 layers'
refused '.parallel = {data: 8, model: 9}' /parallel 'the limit is 64'
refused '.parallel = {data: 4} | .batch_size = 3' /parallel/data '4 replicas share a batch of 3 rows'
refused '.parallel = {data: 2, model: 2, micro_batches: 51}' /parallel/micro_batches 'a slice of 50 rows'
refused '.parallel = {data: 2} | .executor = "cpu/fused"' /executor 'trains on one rank'
refused '.executor = "cpu/ranks"' /executor 'give "parallel"'
refused '.parallel = {data: 2} | .model.layers[1].type = "batch_norm"' /parallel/data 'the last batch of an epoch'
refused '.parallel = {stages: [[0, 2], [4, 5]]}' /parallel/stages/1/0 'must be 3'

# A job that names the executor predicts as others do: on one rank.
submit "$(jq -c '.parallel = {data: 2} | .executor = "cpu/ranks" | .epochs = 2' <<<"$spec")"
finish "$id"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"x": [[0.5, 0.5], [0.1, 0.2]]}'
expect 200
check "its predictions" '.predictions | length == 2'
daemon_stop
