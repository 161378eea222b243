#!/usr/bin/env bash
# Splits that a column decides: the latest rows are the test; rows of one group are on one side.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# 210 rows in no order: the day's number is y, the person has 1 … 20 rows and the number p; a cell in 70 has no person
awk 'BEGIN {print "day,person,p,x,y"
  for (i = 0; i < 210; i++) {d = i * 83 % 210; p = int((sqrt(8 * i + 1) - 1) / 2)
    printf "%04d-%02d-%02d,%s,%d,%d,%d\n", 2000 + int(d / 84), int(d % 84 / 7) + 1, d % 7 + 1, (i == 70 ? "" : "person " p), p, i % 10, d}}' >"$scratch/visits.csv"
http PUT /v1/datasets/visits -T "$scratch/visits.csv"
expect 201
spec='{"data": {"dataset": "visits", "target": "y", "test": 0.2, "validation": 0.1, "time": "day"}, "loss": "mse", "epochs": 2,
       "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
submit "$spec"
finish "$id"
check "rows of a job by time" '.metrics | [.train.rows, .validation.rows, .test.rows] == [147, 21, 42]'
check "the spec says so" '.spec.data.time == "day"'
http GET "/v1/jobs/$id/predictions"
check "the latest rows are the test" '.target | sort == [range(168; 210)]'
submit "$(jq -c 'del(.data.time) | .data.group = "person" | .data.target = "p"' <<<"$spec")"
finish "$id"
check "about those shares by groups" '.metrics | (.train.rows + .validation.rows + .test.rows == 210) and
  (.test.rows | . > 30 and . < 54) and (.validation.rows | . > 10 and . < 32)'
jq -c '.metrics | {train: .train.rows, validation: .validation.rows, test: .test.rows}' "$body" >"$scratch/rows"
http GET "/v1/jobs/$id/predictions"
check "each group is whole: $(jq -c '.target | group_by(.) | map("\(.[0]):\(length)") | join(" ")' "$body")" \
  '.target | group_by(.) | all(.[]; length == .[0] + 1 or (.[0] == 11 and length == 11) or length == 1)'
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$(jq -c 'del(.data.time) | .data.group = "person" | .data.target = "p"' <<<"$spec")"
expect 200
check "as said before" '.rows == $rows[0]' --slurpfile rows "$scratch/rows"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"day": "2001-02-03", "x": 1, "y": 2}]}'
expect 200
echo "ok: the group is no feature"

# classes keep their shares; a split that lacks one is told, and so are columns that are mostly missing
awk 'BEGIN {print "x,gap,kind"; for (i = 0; i < 100; i++) print i "," (i % 3 ? "" : i) "," (i == 50 ? "rare" : i % 5 ? "plain" : "odd")}' >"$scratch/kinds.csv"
http PUT /v1/datasets/kinds -T "$scratch/kinds.csv"
expect 201
kinds='{"data": {"dataset": "kinds", "target": "kind", "test": 0.5}, "loss": "cross_entropy", "epochs": 2,
        "model": {"layers": [{"type": "linear", "out_features": 3}]}}'
submit "$kinds"
finish "$id"
check "stratified without a word" '.spec.data.stratify'
http GET "/v1/jobs/$id/predictions"
check "half of the odd ones are test rows" '[.target[] | select(. == "odd" or . == 1)] | length | . == 9 or . == 10'
http GET "/v1/jobs/$id/events?follow=0"
jq -rs '.[] | select(.type == "warning") | .message' "$body" >"$scratch/warnings"
grep -Eqx 'no (test|training) rows of the class: "rare"; (it has too few rows: add more, or merge it with another class|"stratify": true in data gives each split its share)' "$scratch/warnings" || fail "no word of the rare class: $(<"$scratch/warnings")"
grep -qx 'more than half of the training rows have no cell in: "gap"' "$scratch/warnings" || fail "no word of the gaps: $(<"$scratch/warnings")"
submit "$(jq -c '.data.stratify = false' <<<"$kinds")"
finish "$id"
check "and not, where the spec says so" '.spec.data.stratify == false'

# refused FILTER POINTER PATTERN
refused() {
  http POST /v1/jobs "${json[@]}" -d "$(jq -c "$1" <<<"$spec")"
  expect 422
  check "refused, $1: $(jq -r '.errors[0].detail' "$body")" '.errors[0] | .pointer == $pointer and (.detail | test($pattern))' --arg pointer "$2" --arg pattern "$3"
}
refused '.data.time = "dya"' /data/time 'no column'
refused '.data.time = "person"' /data/time 'of words'
refused '.data.group = "person"' /data/time 'remove one'
refused 'del(.data.time) | .data.group = "day"' /data/group 'numbers or dates'
refused '.data += {folds: 3, fold: 0} | del(.data.validation)' /data/time 'folds'
refused '.loss = "cross_entropy" | .data.stratify = true | .data.target = "x" | .model.layers[0].out_features = 10' /data/time 'stratify'
refused 'del(.data.time) | .data.group = "person" | .data.test = 0.0001' /data/group 'more than twice'
refused '.data = {inline: {x: [[1], [2]], y: [1, 2]}, test: 0.5, time: "x"}' /data/time '.'
# rows without a target: none of them is split, the latest of the others test; groups would not know their sizes
awk -F, 'NR == 1 || $5 % 10 != 3 {print; next} {print $1 "," $2 "," $3 "," $4 ","}' "$scratch/visits.csv" >"$scratch/gaps.csv"
http PUT /v1/datasets/gaps -T "$scratch/gaps.csv"
expect 201
submit "$(jq -c '.data.dataset = "gaps"' <<<"$spec")"
finish "$id"
check "189 rows have a target" '.metrics | .train.rows + .validation.rows + .test.rows == 189'
http GET "/v1/jobs/$id/predictions"
check "the latest of them are the test" '(.target | length) as $n | .target | sort == ([range(210) | select(. % 10 != 3)] | .[-$n:])'
http POST /v1/jobs "${json[@]}" -d "$(jq -c 'del(.data.time) | .data.group = "person" | .data.dataset = "gaps"' <<<"$spec")"
expect 422
check "groups are refused" '.errors[0] | .pointer == "/data/group" and (.detail | test("21 rows have no target"))'
