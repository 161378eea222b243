#!/usr/bin/env bash
# logistic.json: logistic regression in its two forms, judged by accuracy and by ROC AUC.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
need_data iron/logistic.json
daemon_start
http PUT /v1/datasets/logistic -T "$file"
expect 201

spec=$(jq -nc '{data: {dataset: "logistic", standardize: ["x"]}, optimizer: {lr: 0.5}, epochs: 2000}')
logits='{"loss": "bce_with_logits", "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
probabilities='{"loss": "bce", "model": {"layers": [{"type": "linear", "out_features": 1}, {"type": "sigmoid"}]}}'
for form in "$logits" "$probabilities"; do
  submit "$(jq -c ". + $form" <<<"$spec")"
  finish "$id"
  check "$(jq -r .loss <<<"$form"): accuracy $(jq .metrics.test.accuracy "$body"), AUC $(jq .metrics.test.roc_auc "$body")" \
    '.metrics.test | .rows == 391 and .accuracy >= 0.929 and .roc_auc >= 0.87 and
     (.confusion | flatten | add) == 391 and .recall > 0'
  jq -c '.metrics.test | [.loss, .roc_auc]' "$body" >>"$scratch/forms"
done
jq -s -e '(.[0][0] - .[1][0] | fabs) < 1e-3' "$scratch/forms" >/dev/null || fail "the two forms disagree: $(<"$scratch/forms")"
echo "ok: the two forms agree"
