#!/usr/bin/env bash
# Cells of a prediction mean what those of the training meant, however they are written; a job's types of columns obey.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# rent depends on the town, the floor and the code; a third of the levels, the days and the marks can be read
awk 'BEGIN {print "town,floor,code,größe,level,day,mark,rent"
  split("café Roma Oslo", towns); split("501 2134 10001 60601 99950", codes)
  for (i = 0; i < 300; i++) {
    t = i % 3 + 1; f = i * 7 % 5 + 1; c = i * 11 % 5 + 1
    printf "%s,%d,%d,%d,%s,%s,%s,%d\n", towns[t], f, codes[c], i * 13 % 40,
      i % 3 ? "w" i % 20 : i % 50, i % 3 ? "d" i % 20 : sprintf("202%d-0%d-15", i % 5, i % 9 + 1), i % 4 ? "m" i % 20 : i % 30,
      100 * t + 10 * f + 200 * c
  }}' >"$scratch/flats.csv"
http PUT /v1/datasets/flats -T "$scratch/flats.csv"
expect 201
model='"model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "relu"}, {"type": "linear", "out_features": 1}]},
  "loss": "mse", "optimizer": {"type": "adam", "lr": 0.02}, "epochs": 150, "batch_size": 32'
# train DATA [REST]: with these members of data
train() {
  submit "{\"data\": {\"dataset\": \"flats\", $1}, ${2:-$model}}"
  finish "$id"
}
ask() { http POST "/v1/jobs/$id/predict" "${json[@]}" -d "$1"; expect 200; }

train '"target": "rent", "standardize": ["y"], "test": 0.2, "exclude": ["level", "day", "mark"],
  "columns": {"floor": {"type": "category"}, "code": {"type": "category"}}'
check "five numbers far apart are five categories" '.metrics.test.r2 > 0.95'
row='{"town": "café", "floor": 5, "code": 2134, "größe": 3}'
ask "$(jq -c '{rows: [., (.floor = "5"), (.floor = "5.0"), (.floor = " 05 "), (.code = "2134.0"), (.town = "  café"), (.town = "cafe\u0301")]}' <<<"$row")"
check "cells of one value or word have one prediction" '.rows == 7 and (.predictions | unique | length) == 1 and (has("warnings") | not)'
cp "$body" "$scratch/first"
printf 'floor,town,gro\u0308ße ,code\n05,cafe\u0301,3,2134\n5.0,\u00a0café,3,02134\n' >"$scratch/rows.csv"
http POST "/v1/jobs/$id/predict" -H 'Content-Type: text/csv' --data-binary "@$scratch/rows.csv"
expect 200
check "a table by composed names, too" '.rows == 2 and (.predictions | unique) == ($first[0].predictions | unique)' --slurpfile first "$scratch/first"


# composed or not, a name of a job means the column
http POST '/v1/jobs?validate=only' "${json[@]}" -d "{\"data\": {\"dataset\": \"flats\", \"target\": \"gro\u0308ße\", \"exclude\": [\"day\", \"mark\"],
  \"columns\": {\"level\": {\"type\": \"ignore\"}}}, \"model\": \"auto\"}"
expect 200
http POST '/v1/jobs?validate=only' "${json[@]}" -d "{\"data\": {\"dataset\": \"flats\", \"target\": \"rent\", \"features\": [\"gro\u0308ße\"],
  \"columns\": {\"gro\u0308ße\": {\"scale\": \"none\"}}, \"time\": \"gro\u0308ße\"}, \"model\": \"auto\"}"
expect 200
# what the model does not know is listed
other="$(jq -c '.town = "Nowhere" | .code = 77' <<<"$row")"
ask "{\"rows\": [$row, $other]}"
check "words that are not known are listed" '[.warnings[].pointer] == ["/rows/1/town", "/rows/1/code"] and
  (.warnings[0].detail | test("\"Nowhere\" is not one of the 3 words of \"town\"")) and .predictions[0] != .predictions[1]'
cp "$body" "$scratch/first"
printf '%s\n%s\n' "$row" "$other" >"$scratch/rows.ndjson"
http POST "/v1/jobs/$id/predict" -H 'Content-Type: application/x-ndjson' --data-binary "@$scratch/rows.ndjson"
expect 200
check "of lines as well" '.predictions == $first[0].predictions and .warnings == $first[0].warnings' --slurpfile first "$scratch/first"
ask "$(jq -c --argjson other "$other" '{rows: [range(20) | $other]}' <<<null)"
check "and counted beyond the first ones" '(.warnings | length) == 16 and .warnings_left_out == 24'
EPOCHD=$url "$build/bin/epochctl" predict "$id" "$scratch/rows.ndjson" >"$scratch/printed" 2>"$scratch/said" || fail "epochctl predict: $(cat "$scratch/said")"
grep -q '/rows/1/town: "Nowhere" is not one of' "$scratch/said" || fail "epochctl prints no warning: $(cat "$scratch/said")"
echo "ok: epochctl prints them"
http PUT /v1/models/flats "${json[@]}" -d "{\"job\": \"$id\"}"
expect 201
http POST /v2/models/flats/infer "${json[@]}" -d '{"inputs": [
  {"name": "town", "shape": [2], "datatype": "BYTES", "data": ["cafe\u0301", "Nowhere"]}, {"name": "floor", "shape": [2], "datatype": "INT64", "data": [5, 5]},
  {"name": "code", "shape": [2], "datatype": "FP64", "data": [2134, 2134]}, {"name": "größe", "shape": [2], "datatype": "FP64", "data": [3, 3]}]}'
expect 200
check "the inference protocol has them as a parameter" '.parameters.warnings | test("^/rows/1/town: \"Nowhere\" is not one of the 3 words") and (contains("rows/0") | not)'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d "$(jq -c '.["gro\u0308ße"] = 4 | {rows: [.]}' <<<"$row")"
expect 422
check "a column is not given twice" '.errors[0].detail | test("without a column")'

# types obey, with counts
train '"target": "rent", "standardize": ["y"], "exclude": ["mark"], "columns": {"level": {"type": "number"}, "day": {"type": "date"}}'
check "words that cannot be read are missing, and counted" '.warnings | any(test("^level: 100 numbers; 200 cells of 20 words \\(`w.*, …\\) are taken as missing")) and
  any(test("^day: 100 dates; 200 cells of 20 words"))'
row="$(jq -c '.level = 7 | .day = "2021-02-15"' <<<"$row")"
ask "$(jq -c '{rows: [., (.level = "7"), (.level = null), (.level = "w7")]}' <<<"$row")"
check "numbers are read as numbers, and its missing words as missing" '.predictions | .[0] == .[1] and .[2] == .[3] and .[0] != .[2]'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d "$(jq -c '.level = "high" | {rows: [.]}' <<<"$row")"
expect 422
check "any other word is refused" '.errors[0] | .pointer == "/rows/0/level" and (.detail | test("must be a number"))'

train '"target": "mark", "columns": {"mark": {"type": "number"}}, "standardize": ["y"], "exclude": ["level", "day"]'
check "a target of words is a number" '.metrics.train.r2 != null and (.warnings | any(test("^mark: 75 numbers; 225 cells of 15 words")) and any(test("^225 rows have no target.*[?]missing=")))'
train '"target": "floor", "columns": {"floor": {"type": "category"}}, "exclude": ["level", "day", "mark"]' '"model": "auto", "epochs": 5'
check "a target of numbers has classes" '.metrics.class_names == ["1", "2", "3", "4", "5"] and .metrics.train.accuracy != null'
train '"target": "floor", "columns": {"floor": {"type": "number"}}, "exclude": ["level", "day", "mark"]' '"model": "auto", "epochs": 5'
check "or is a number" '.metrics.train.r2 != null'
train '"target": "code", "columns": {"code": {"type": "category"}}, "exclude": ["level", "day", "mark"], "test": 0.2, "stratify": true' '"model": "auto", "epochs": 5'
check "numbers far apart are classes in their order" '.metrics.class_names == ["501", "2134", "10001", "60601", "99950"]'
# refused DATA POINTER PATTERN
refused() {
  http POST '/v1/jobs?validate=only' "${json[@]}" -d "{\"data\": {\"dataset\": \"flats\", $1}, $model}"
  expect 422
  check "refused: $1" 'any(.errors[]; .pointer == $pointer and (.detail | test($pattern)))' --arg pointer "$2" --arg pattern "$3"
}
refused '"target": "rent", "columns": {"town": {"type": "number"}}' /data/columns/town/type 'none of the column'
refused '"target": "rent", "columns": {"rent": {"scale": "none"}}' /data/columns/rent 'only its "type"'
daemon_stop
