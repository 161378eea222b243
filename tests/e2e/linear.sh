#!/usr/bin/env bash
# linear.json: the uploaded file, least squares by gradient descent, and a small network.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
need_data iron/linear.json
daemon_start

http PUT /v1/datasets/linear -T "$file"
expect 201
http GET /v1/datasets/linear
expect 200
check "the upload is known by content" '.sha256 == $sha' --arg sha "$(sha256sum "$file" | cut -d ' ' -f 1)"
check "its rows" '.parts.train.x.rows == 321 and .parts.train.x.columns == 6 and .parts.test.x.rows == 93'

submit '{"data": {"dataset": "linear", "standardize": ["x", "y"]},
         "model": {"layers": [{"type": "linear", "out_features": 1}]},
         "loss": "mse", "optimizer": {"lr": 0.1}, "epochs": 3000}'
finish "$id"
check "least squares" \
  '.metrics.test | .rows == 93 and (.mse - 59.678 | fabs) < 0.01 and (.rmse - 7.725 | fabs) < 0.001'
http GET "/v1/jobs/$id/predictions"
check "the predictions give the metrics again" \
  '([.target, .prediction] | transpose | map(.[0] - .[1] | . * .) | add / length) - 59.678 | fabs < 0.01'

for seed in 1 2 3; do
  submit "$(jq -nc --argjson seed $seed '{
    name: "6-6-1", seed: $seed, epochs: 40000, batch_size: "full", loss: "mse",
    data: {dataset: "linear", standardize: ["x", "y"]},
    model: {layers: [{type: "linear", out_features: 6}, {type: "relu"}, {type: "linear", out_features: 1}]},
    optimizer: {type: "sgd", lr: 0.005}}')"
  finish "$id"
  check "6-6-1, seed $seed: test MSE $(jq .metrics.test.mse "$body") in 44 to 54, $(jq .timing.epoch_microseconds "$body") us/epoch" \
    '(.metrics.test.mse | . > 44 and . < 54) and .model.parameters == 49 and .metrics.train.loss < 0.32'
done

http DELETE /v1/datasets/linear
[[ $code == 200 || $code == 204 ]] || fail "deleting the dataset was answered $code"
echo "ok: nothing needs the dataset any more"
