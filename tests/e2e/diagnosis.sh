#!/usr/bin/env bash
# A training that came to nothing says so in its events, in its JSON and in epochctl, with what to change.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start

# a circle among 200 points, and twelve sigmoids on top of each other: no gradient reaches the first
circle=$(jq -nc '[range(200) | {x: [((. * 37) % 100) / 50 - 1, ((. * 59) % 100) / 50 - 1]} | .y = (if .x[0] * .x[0] + .x[1] * .x[1] < 0.5 then 1 else 0 end)]
  | {x: [.[].x], y: [.[].y]}')
deep=$(jq -nc --argjson data "$circle" '{data: {inline: $data, test: 0.2}, loss: "bce_with_logits", epochs: 20, batch_size: 32,
  model: {layers: ([range(12) | {type: "linear", out_features: 8}, {type: "sigmoid"}] + [{type: "linear", out_features: 1}])}}')
submit "$deep"
finish "$id"
check "the job says that all rows are of one class, and what to change" \
    '.warnings | length == 1 and (.[0] | test("same class for all 40 test rows") and test("try another learning rate"))'
warning=$(jq -r '.warnings[0]' "$body")
events_read "$id"
sequence "$body" 1
check "so does an event, before the end" '.[-1].type == "end" and ([.[] | select(.type == "warning")] | length == 1 and .[0].message == $warning)' \
    -s --arg warning "$warning"
[[ ! -x $build/bin/epochctl ]] || EPOCHD_SERVER=$url "$build/bin/epochctl" show "$id" >"$scratch/summary" || fail "epochctl show"
[[ ! -e $scratch/summary ]] || grep -q "same class for all 40" "$scratch/summary" || fail "epochctl shows no warning: $(cat "$scratch/summary")"

# a rate that is too high is told while the job trains, once, and by its end with a better one
submit '{"data": {"inline": {"x": [[0],[1],[2],[3],[4],[5],[6],[7],[8],[9],[10],[11]], "y": [0,2,4,6,8,10,12,14,16,18,20,22]}},
         "model": {"layers": [{"type": "linear", "out_features": 1}]}, "loss": "mse", "optimizer": {"lr": 0.03}, "epochs": 1000,
         "report_every": 1}'
ended "$id"
check "the error has a tenth of the rate" '.error.message | test("rise in epoch 2 at a learning rate of 0.03: try 0.003")'
check "the explosion is among the warnings" '.warnings | any(test("keeps rising"))'
events_read "$id"
sequence "$body" 1
check "its warning stands behind the epoch that shows it" \
    '[.[] | select(.type == "epoch" or .type == "warning")] | (map(.type) | index("warning")) as $at
      | .[$at - 1].epoch == 4 and (.[$at].message | test("by epoch 4")) and (map(select(.type == "warning")) | length == 1)' -s
# the validation split's metrics, by name; one that the loss does not have is refused
job=$(jq -c '.data.validation = 0.2 | .epochs = 4 | .report_every = 1 | .validation_metrics = ["f1", "roc_auc"]
  | .early_stopping = {patience: 2, metric: "validation.accuracy"}' <<<"$deep")
submit "$job"
finish "$id"
events_read "$id"
check "epochs have the metrics that are named, and the one that decides" \
    '[.[] | select(.type == "epoch").validation | keys == ["accuracy", "error", "f1", "loss", "roc_auc"]] | length > 0 and all' -s
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.validation_metrics = ["mae"]' <<<"$job")"
expect 422
check "a metric of other losses is refused" '.errors | map(.pointer) == ["/validation_metrics"]'
# progress within epochs and of layers: no bit of the weights is another
disc=$(jq -nc '{data: {generator: "disc", rows: 2000}, loss: "bce_with_logits", epochs: 30, batch_size: 2, report_every: 10,
  model: {layers: [{type: "linear", out_features: 32}, {type: "relu"}, {type: "linear", out_features: 1}]}}')
within=$(jq -c '.report_batches = 100 | .report = {layers: true}' <<<"$disc")
tensors() {
  http GET "/v1/jobs/$1/weights?format=json"
  jq -cS .tensors "$body" | sha256sum
}
submit "$disc"
finish "$id"
plain=$(tensors "$id")
submit "$within"
finish "$id"
[[ $(tensors "$id") == "$plain" ]] || fail "what is told changes the weights"
events_read "$id"
check "epochs 1, 10, 20 and 30 are told" '[.[] | select(.type == "epoch").epoch] == [1, 10, 20, 30]' -s
check "so is every tenth of each epoch" \
    '[.[] | select(.type == "batch") | [.epoch, .batch]] == [range(1; 31) as $e | range(100; 1000; 100) | [$e, .]]' -s
check "a batch has its loss, its rate and what is left" \
    '[.[] | select(.type == "batch")] | all(.batches == 1000 and .loss > 0 and .lr == 0.01 and .elapsed_seconds > 0 and .eta_seconds > 0)' -s
check "layers come before their epochs" \
    '(map(select(.type == "layers").epoch) | . == unique and .[0] == 1) and
     ([range(length) as $i | select(.[$i].type == "layers") | .[$i + 1].epoch == .[$i].epoch] | all)' -s
check "with norms, dead units and histograms" \
    '[.[] | select(.type == "layers").layers] | all(map(.type) == ["linear", "relu", "linear"] and
       (.[0].gradient_norm > 0 and .[2].weight_norm > 0 and .[0].dead == null and .[1].gradient_norm == null) and
       (.[1].dead >= 0 and .[1].dead <= 1) and all(.counts | length == 16 and add > 0))' -s
[[ ! -x $build/bin/epochctl ]] || EPOCHD_SERVER=$url "$build/bin/epochctl" layers "$id" >"$scratch/layers" || fail "epochctl layers"
[[ ! -e $scratch/layers ]] || { grep -q "^epoch [0-9]* of 30" "$scratch/layers" && grep -q "^1  *relu" "$scratch/layers"; } ||
    fail "epochctl shows no layers: $(cat "$scratch/layers")"

# a worker dies: what was told is not told again, and nothing is left out
submit "$(jq -c '.epochs = 1000000 | .report_every = 5 | .checkpoint = {every_seconds: 1e6}' <<<"$within")"
told=$id
workers=$(pgrep -P "$daemon" epoch-worker)
grep -qm 1 '"type":"batch",.*"epoch":2,' < <(curl -sN "$url/v1/jobs/$told/events") || fail "the job tells of no batches"
# shellcheck disable=SC2086
kill -9 $workers
goes_on() {
  http GET "/v1/jobs/$told/events?follow=0"
  jq -se '(map(.type) | index("restarted")) as $at | $at != null and any(.[$at:][]; .type == "epoch") and any(.[$at:][]; .type == "batch")' "$body" >/dev/null
}
until_so "it goes on in another worker" goes_on
http POST "/v1/jobs/$told/cancel"
ended "$told"
events_read "$told"
sequence "$body" 1
check "every tenth of each epoch is told once, in order" \
    '[.[] | select(.type == "batch") | [.epoch, .batch]] as $told | $told == ([range(1; $told[-1][0] + 1) as $e | range(100; 1000; 100) | [$e, .]] | .[:$told | length])' -s
check "so is every fifth epoch" '[.[] | select(.type == "epoch").epoch] as $told | $told == ([1, range(5; $told[-1] + 1; 5)])' -s
check "and layers" '[.[] | select(.type == "layers").epoch] | . == unique' -s
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.report_batches = 1 | .epochs = 100000' <<<"$disc")"
expect 422
check "more lines than a log may have are refused" '.errors | map(.pointer) == ["/report_batches"]'
# a learning rate is found: a curve, a proposal that trains, a picture, and no weights
rate=$(jq -c '.epochs = 40 | .batch_size = 20 | .report_every = 40' <<<"$disc")
http POST "/v1/jobs?find=lr" "${json[@]}" -d "$rate"
expect 201
id=$(jq -r .id "$body")
finish "$id"
check "it has a rate, where the loss falls, and no weights" \
    '.spec.find == "lr" and .weights == null and .metrics.train == null and (.found | .proposal > 0 and .proposal <= .least / 10 and
     .proposal <= .steepest and (.lr | length) == (.loss | length) and (.smoothed | length) == (.lr | length) and .lr == (.lr | sort))'
proposal=$(jq .found.proposal "$body")
found=$(jq -cS .found "$body")
http GET "/v1/jobs/$id/plots"
check "its one plot is lr" '[.data[].name] == ["lr"]'
http GET "/v1/jobs/$id/plots/lr"
check "which has the curve" '.plot == "lr" and (.lr | length > 100)'
http GET "/v1/jobs/$id/plots/lr?format=svg"
expect 200
grep -q "proposal" "$body" || fail "the picture does not mark the proposal"
http GET "/v1/jobs/$id/plots/roc"
expect 404
check "the others need weights" '.detail | test("its plots are: lr")'
[[ ! -x $build/bin/epochctl ]] || EPOCHD_SERVER=$url "$build/bin/epochctl" find-lr - <<<"$rate" >"$scratch/rate" || fail "epochctl find-lr"
[[ ! -e $scratch/rate ]] || grep -q "train with" "$scratch/rate" || fail "epochctl proposes no rate: $(cat "$scratch/rate")"
http GET "/v1/jobs?limit=1"
[[ ! -e $scratch/rate ]] || [[ $(jq -cS '.data[0].found' "$body") == "$found" ]] || fail "the same search finds something else"
submit "$(jq -c --argjson lr "$proposal" '.optimizer = {lr: $lr}' <<<"$rate")"
finish "$id"
check "it trains" '.metrics.train.loss < 0.35 and .warnings == []'
http POST "/v1/jobs?find=momentum" "${json[@]}" -d "$rate"
expect 400
http POST "/v1/jobs?find=lr" "${json[@]}" -d "$(jq -c '.repeats = 3' <<<"$rate")"
expect 422
check "repeats are refused" '.errors | map(.pointer) == ["/find"]'
http POST /v1/sweeps "${json[@]}" -d "$(jq -c '{job: (. + {find: "lr"}), space: {"/seed": {values: [1, 2]}}, metric: "train.loss"}' <<<"$rate")"
expect 422
check "a sweep finds no rate" '.errors | map(.pointer) | index("/job/find")'
echo "ok: trainings that came to nothing say so"
