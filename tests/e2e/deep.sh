#!/usr/bin/env bash
# 6-6-6-1 on linear.json for 100,000 epochs; and a learning rate too great shows in the curve.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized
need_data iron/linear.json
daemon_start
http PUT /v1/datasets/linear -T "$file"
expect 201

spec=$(jq -nc '{data: {dataset: "linear", standardize: ["x", "y"]}, loss: "mse", epochs: 100000,
  optimizer: {lr: 0.001},
  model: {layers: [{type: "linear", out_features: 6}, {type: "relu"}, {type: "linear", out_features: 6},
                   {type: "relu"}, {type: "linear", out_features: 1}]}}')
submit "$spec"
finish "$id"
check "6-6-6-1: test MSE $(jq .metrics.test.mse "$body") beside the published 46.27" \
  '.metrics.test.mse | . > 40 and . < 60'
http GET "/v1/jobs/$id/curve"
check "a small learning rate falls all the way" \
  '[.loss[:-1], .loss[1:]] | transpose | map(select(.[1] > .[0] + 1e-4)) | length < 5'

submit "$(jq -c '. + {epochs: 2000, optimizer: {lr: 0.4}, report_every: 1}' <<<"$spec")"
ended "$id"
http GET "/v1/jobs/$id/curve?max_points=2000"
check "a great one swings in the curve" \
  '[.loss[:-1], .loss[1:]] | transpose | map(select(.[1] > .[0] + 1e-3)) | length > 20'
