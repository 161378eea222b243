#!/usr/bin/env bash
# Folds: each validates as the same rows do elsewhere (folds.py), and what cannot be folded is refused at submission.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/folds.py" "$url" "$device" "${EPOCHD_TEST_DATA:+$EPOCHD_TEST_DATA/iron}" || fail "the folds do not validate as they should"

awk 'BEGIN {print "a,b,kind"; for (i = 0; i < 150; i++) print i ",0." i * 7 % 10 "," (i < 3 ? 2 : i % 2)}' >"$scratch/kinds.csv"
http PUT /v1/datasets/kinds -T "$scratch/kinds.csv"
expect 201
spec='{"data": {"dataset": "kinds", "folds": 3, "fold": 0, "stratify": true}, "loss": "cross_entropy", "epochs": 2,
       "model": {"layers": [{"type": "linear", "out_features": 3}]}}'
http POST "/v1/jobs?validate=only" "${json[@]}" -d "$spec"
expect 200
check "rows of a fold" '.rows == {train: 100, validation: 50, test: 0}'
http POST "/v1/jobs?validate=only" "${json[@]}" -d "$(jq -c '.data.test = 0.2' <<<"$spec")"
expect 422
check "test rows are taken first" '.errors[0].detail | test("that are not test rows")'
submit "$spec"
finish "$id"
check "the stored job has its fold" '.metrics.validation.rows == 50 and .spec.data.folds == 3 and .spec.data.fold == 0 and .spec.data.stratify'
submit "$(jq -c 'del(.data.folds, .data.fold, .data.stratify)' <<<"$spec")"
finish "$id"
check "a job without folds" '.metrics.validation == null and .spec.data.folds == null and .spec.data.fold == null and .spec.data.stratify == false'

# refused JQ POINTER PATTERN: the job must be refused when it is submitted, there, with that reason.
refused() {
  http POST /v1/jobs "${json[@]}" -d "$(jq -c "$1" <<<"$spec")"
  expect 422
  check "refused: $1" '.errors | length == 1 and .[0].pointer == $pointer and (.[0].detail | test($pattern))' \
    --arg pointer "$2" --arg pattern "$3"
}
refused '.data.folds = 4' /data/folds 'class 2 has 3 rows, fewer than 4 folds'
refused '.data.stratify = false | .data.folds = 100 | .data.test = 0.5' /data/folds '100 folds of 75 rows that are not test rows'
refused 'del(.data.fold)' /data/fold 'from 0 to 2'
refused 'del(.data.folds)' /data/fold 'requires "folds"'
refused '.data.fold = 3' /data/fold 'below folds, 3'
refused '.data.validation = 0.1' /data/validation 'leave this out'
refused '.loss = "mse" | .model.layers[0].out_features = 1' /data/stratify 'not the loss of a classifier'
refused '.data.target = "b" | .loss = "bce_with_logits" | .model.layers[0].out_features = 1' /data/stratify 'not all targets are 0 or 1'
refused '.data = {generator: "xor", folds: 3, fold: 1, stratify: true}' /data/folds 'class 0 has 2 rows'

# Parts: a validation set of their own stands in the way, a test set does not.
for part in train/x test/x validation/x; do printf '%s\n' 1 2 3 4 5 6 | curl -sSf -T - "$url/v1/datasets/parts/$part" >/dev/null; done
for part in train/y test/y validation/y; do printf '%s\n' 0 1 0 1 0 1 | curl -sSf -T - "$url/v1/datasets/parts/$part" >/dev/null; done
refused '.data.dataset = "parts"' /data/folds 'already has a validation set \(6 rows\)'
for part in train/x test/x; do printf '%s\n' 1 2 3 4 5 6 | curl -sSf -T - "$url/v1/datasets/two/$part" >/dev/null; done
for part in train/y test/y; do printf '%s\n' 0 1 0 1 0 1 | curl -sSf -T - "$url/v1/datasets/two/$part" >/dev/null; done
submit "$(jq -c '.data.dataset = "two"' <<<"$spec")"
finish "$id"
check "a test set of its own stays" '.metrics.test.rows == 6 and .metrics.validation.rows == 2 and .metrics.train.rows == 4'
refused '.data.dataset = "two" | .data.folds = 4' /data/folds 'class 0 has 3 rows'

# A job of its own that is divided: each fold first, then a training on all rows.
whole=$(jq -c 'del(.data.fold, .data.folds, .data.stratify) | .folds = 3 | .stratify = true | .repeats = {seeds: [4, 9]}' <<<"$spec")
submit "$whole"
finish "$id"
cp "$body" "$scratch/whole.json"
check "all rows train at last" '.metrics.train.rows == 150 and .metrics.validation == null and (.weights.sha256 | length) == 64'
check "each fold of each seed" '.metrics.parts | [.each[].part] == [range(6)] and all(.each[]; .outcome == "ok" and .metrics.validation.loss > 0)'
check "their mean and deviation" '.metrics.parts | [.each[].metrics.validation.accuracy] as $a | ($a | add / 6) as $m |
  (.mean.validation.accuracy - $m | fabs) < 1e-12 and
  (.deviation.validation.accuracy - ([$a[] | (. - $m) * (. - $m)] | add / 5 | sqrt) | fabs) < 1e-12'
submit "$(jq -c '.seed = 9 | .data.fold = 1' <<<"$spec")"
finish "$id"
check "a part is that job alone" '.metrics.validation.loss == $whole[0].metrics.parts.each[4].metrics.validation.loss' --slurpfile whole "$scratch/whole.json"
submit "$(jq -c 'del(.folds, .stratify, .repeats)' <<<"$whole")"
finish "$id"
check "and the weights those of the job without folds" '.metrics.train.loss == $whole[0].metrics.train.loss' --slurpfile whole "$scratch/whole.json"
spec=$whole
refused '.folds = 4' /folds 'class 2 has 3 rows, fewer than 4 folds'
refused '.stratify = true | .folds = null' /stratify 'requires "folds"'
refused '.data.validation = 0.2' /folds 'remove \"validation\"'
refused '.data.folds = 3 | .data.fold = 0' /folds 'already names a fold'
refused '.repeats = {seeds: []}' /repeats/seeds 'at least one seed'
