#!/usr/bin/env bash
# Files as programs write them: JSON in its layouts, dates and numbers in their forms; several tables in one file.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start

# the price of a flat, in the words and dates of its country
rows() {
  awk 'BEGIN {for (i = 0; i < 120; i++) {
    a = 30 + i * 37 % 90; k = i * 7 % 3
    printf "{\"area\": \"%d,5\", \"kind\": \"%s\", \"built\": \"%02d.%02d.19%02d\", \"price\": %s}\n", a,
      (k == 0 ? "old" : k == 1 ? "new" : "l\\u00e4ndlich"), i % 28 + 1, i % 12 + 1, 50 + i % 40, (i % 17 == 0 ? 0 : 2 * a + 50 * k) }}'
}
rows >"$scratch/flats.ndjson"
jq -s . "$scratch/flats.ndjson" >"$scratch/flats.json"
jq -s '{columns: (.[0] | keys_unsorted), data: map([.[]])}' "$scratch/flats.ndjson" >"$scratch/split.json"
jq -s '. as $all | .[0] | with_entries(.key as $key | .value = ($all | to_entries | map({key: "\(.key)", value: .value[$key]}) | from_entries))' \
  "$scratch/flats.ndjson" >"$scratch/columns.json"
for name in flats.ndjson flats.json split.json columns.json; do
  http PUT "/v1/datasets/$name" -T "$scratch/$name"
  expect 201
  check "$name: $(jq -c '[.format, .rows]' "$body")" '.rows == 120 and [.columns[] | [.name, .type, .form]] ==
    [["area", "number", "decimal_comma"], ["kind", "category", null], ["built", "date", "day_first"], ["price", "number", null]]'
done
jq -c .columns "$body" >"$scratch/last"
http GET /v1/datasets/flats.ndjson
check "all alike" '.columns == $last[0]' --slurpfile last "$scratch/last"

# of a large table of words and dates, little lies in memory at a time
awk 'BEGIN {print "a,b,c"; for (i = 0; i < 4000000; i++) print "1.5,some word,2024-01-02"}' >"$scratch/large.csv"
http PUT /v1/datasets/large -T "$scratch/large.csv"
expect 201
check "100 MB of CSV" '.rows == 4000000 and .bytes > 96000000 and ([.columns[].type] == ["number", "category", "date"])'
peak=$(awk '/^VmHWM/ {print int($2 / 1024)}' "/proc/$daemon/status")
((peak < 64)) || fail "epochd took $peak MiB"
echo "ok: $peak MiB"

submit '{"data": {"dataset": "flats.json", "target": "kind", "test": 0.2}, "loss": "cross_entropy", "epochs": 40,
         "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "relu"}, {"type": "linear", "out_features": 3}]},
         "optimizer": {"type": "adam", "lr": 0.03}, "batch_size": 16}'
finish "$id"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [
  {"area": "47,5", "built": "13.02.1961", "price": 94}, {"area": 47.5, "built": "1961-02-13", "price": "94"}]}'
expect 200
check "cells of a request are read as the table was" '.predictions[0] == .predictions[1]'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"area": "1,2,3", "built": "02/13/1961", "price": 94}]}'
expect 422
check "and are refused where they are in another form" '[.errors[].pointer] == ["/rows/0/area", "/rows/0/built"]'

# prices and shares as people write them: columns of numbers, which predict reads with the sign and without
awk 'BEGIN {print "price;share;mixed;rent"; for (i = 0; i < 60; i++)
  printf "%d.%03d,50 €;%d%%;%s;%d\n", 1 + i % 9, i * 37 % 1000, i % 100, (i % 2 ? "$1" : "€1"), i}' >"$scratch/priced.csv"
http PUT /v1/datasets/priced -T "$scratch/priced.csv"
expect 201
check "numbers with signs: $(jq -c .note "$body")" '([.columns[] | [.type, .form, .unit]] == [["number", "decimal_comma", "€"],
  ["number", "decimal_comma", "%"], ["category", null, null], ["number", null, null]]) and (.note | contains("words: its numbers have different signs"))'
if [[ -x $build/bin/epochctl ]]; then
  EPOCHD=$url "$build/bin/epochctl" data show priced >"$scratch/shown" || fail "epochctl data show"
  grep -Eq 'price +number, € ' "$scratch/shown" && grep -Eq 'share +whole number, % ' "$scratch/shown" || fail "$(cat "$scratch/shown")"
fi
submit '{"data": {"dataset": "priced", "target": "rent", "exclude": ["mixed"]}, "loss": "mse", "epochs": 1,
         "model": {"layers": [{"type": "linear", "out_features": 1}]}, "optimizer": {"type": "adam", "lr": 0.03}}'
finish "$id"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"price": "1.234,5 €", "share": "7 %"}, {"price": "1234,50", "share": 7}, {"price": 1234.5, "share": "7"}]}'
expect 200
check "cells with the sign and without" '.predictions[0] == .predictions[1] and .predictions[1] == .predictions[2]'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"price": "$7", "share": "7 €"}]}'
expect 422
check "and no other sign: $(jq -r '.errors[0].detail' "$body")" '[.errors[].pointer] == ["/rows/0/price", "/rows/0/share"]'

# several tables, each in another form
jq -nc --slurpfile flats "$scratch/flats.json" '{flats: $flats[0], xor: {m: 4, n: 2, x: [0,0,0,1,1,0,1,1], y: [0,1,1,0]}, note: "of tables"}' \
  >"$scratch/several.json"
http PUT /v1/datasets/several -T "$scratch/several.json"
expect 422
check "several tables: $(jq -r .detail "$body")" '.detail | contains("?table=NAME") and contains("\"flats\", \"xor\"")'
http PUT '/v1/datasets/one?table=flats' -T "$scratch/several.json"
expect 201
check "one of them" '.rows == 120 and .columns[1].categories[0].value == "ländlich"'
http PUT '/v1/datasets/two?table=xor' -T "$scratch/several.json"
expect 201
check "and the other, of the same bytes" '.parts.train.x.rows == 4'
http GET /v1/datasets/one
check "the first is what it was" '.rows == 120'
http PUT '/v1/datasets/two?table=xor' -T "$scratch/several.json"
expect 200
http PUT '/v1/datasets/three?table=note' -T "$scratch/several.json"
expect 422
http PUT /v1/datasets/three/train/x -T "$scratch/flats.json"
expect 422
printf '[{"a": 1}, {"a": 2}' >"$scratch/torn.json"
http PUT /v1/datasets/three -T "$scratch/torn.json"
expect 422
check "a torn file: $(jq -r .detail "$body")" '.detail | contains("unexpected end of file")'
http GET /v1/datasets/three
expect 404
