#!/usr/bin/env bash
# disc: eight layers, 44.7 thousand parameters, mini-batches; the median of five seeds learns it.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized
daemon_start

layers=$(jq -nc '[4, 8, 16, 32, 64, 128, 256 | {type: "linear", out_features: .}, {type: "relu"}] +
                 [{type: "linear", out_features: 2}]')
ids=()
for seed in 1 2 3 4 5; do
  submit "$(jq -nc --argjson seed $seed --argjson layers "$layers" '{
    data: {generator: "disc", rows: 1000, seed: $seed, standardize: ["x"]}, model: {layers: $layers},
    loss: "cross_entropy", optimizer: {lr: 0.1}, epochs: 100, batch_size: 100, shuffle: false, seed: $seed}')"
  ids+=("$id")
done
for id in "${ids[@]}"; do
  finish "$id"
  check "error $(jq -c '[.metrics.train.error, .metrics.test.error]' "$body"), $(jq .timing.train_seconds "$body") s" \
    '.model.parameters == 44710 and .metrics.test.rows == 1000'
  jq .metrics.train.error "$body" >>"$scratch/errors"
done
median=$(sort -g "$scratch/errors" | sed -n 3p)
awk -v median="$median" 'BEGIN {exit !(median < 0.04)}' || fail "the median training error is $median"
echo "ok: the median training error is $median"
