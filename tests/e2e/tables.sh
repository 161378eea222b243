#!/usr/bin/env bash
# A table as people have it: uploaded as it is, described, trained on, and asked by the names of its columns.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# the fare of passengers decides, and where they are from; some ages and ports are missing
awk 'BEGIN {print "id,name,sex,age,fare,port,joined,survived"
  for (i = 0; i < 400; i++) {
    s = i * 7 % 2 ? "male" : "female"; p = i % 9 == 0 ? "NA" : substr("SCQ", i % 3 + 1, 1); f = i * 37 % 100
    printf "%d,\"Person, %d\",%s,%s,%d.5,%s,191%d-0%d-1%d,%s\n", i, i, s, i % 11 == 0 ? "" : i * 13 % 80, f, p,
      i % 3, i % 9 + 1, i % 9, ((s == "female" && f > 20) || f > 80 ? "yes" : "no")
  }}' >"$scratch/people.csv"
http PUT /v1/datasets/people -T "$scratch/people.csv"
expect 201
http GET /v1/datasets/people
check "each column has a type" '[.columns[].type] == ["number", "text", "category", "number", "number", "category", "date", "category"] and
  [.columns[].missing] == [0, 0, 0, 37, 0, 45, 0, 0] and .columns[7].categories[0].value == "no"'
http GET '/v1/datasets/people/rows?limit=3&offset=10'
check "rows are objects by names" '.total == 400 and .has_more and .next == 13 and (.data | length) == 3 and .data[1] ==
  {"id": 11, "name": null, "sex": "male", "age": null, "fare": 7.5, "port": "Q", "joined": "1912-03-12", "survived": "no"}'
http GET '/v1/datasets/people/rows?limit=1000&offset=399'
check "the last row is the last" '(.data | length) == 1 and .next == null'
http GET '/v1/datasets/people/rows?split=test'
expect 400
http GET '/v1/datasets/people/rows?limit=1001'
expect 400
spec='{"data": {"dataset": "people", "target": "survived", "test": 0.25, "exclude": ["id"]}, "loss": "cross_entropy", "epochs": 60,
       "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "relu"}, {"type": "linear", "out_features": 2}]},
       "optimizer": {"type": "adam", "lr": 0.01}, "batch_size": 32}'
submit "$spec"
finish "$id"
check "it learns, and names its classes" '.metrics.test.accuracy > 0.93 and .metrics.class_names == ["no", "yes"]'
row='{"sex": "female", "age": null, "fare": 60, "port": "C", "joined": "1911-04-10"}'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"rows\": [$row, $(jq -c '.sex = "male" | .name = "x" | .port = "elsewhere"' <<<"$row")]}"
expect 200
check "rows by names" '.rows == 2 and (.predictions | (.[0][1] > .[0][0]) and (.[1][1] < .[1][0]))'
check "and their classes" '.classes == ["yes", "no"] and .class_names == ["no", "yes"] and
  all(.probabilities[]; length == 2 and add > 0.999 and add < 1.001) and .probabilities[0][1] > 0.5'
cp "$body" "$scratch/first"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"rows\": [$(jq -c 'to_entries | reverse | from_entries' <<<"$row")]}"
check "in any order" '.predictions[0] == $first[0].predictions[0]' --slurpfile first "$scratch/first"
# refused ROW POINTER PATTERN
refused() {
  http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"rows\": [$row, $1]}"
  expect 422
  check "refused: $1" 'any(.errors[]; .pointer == $pointer and (.detail | test($pattern)))' --arg pointer "$2" --arg pattern "$3"
}
refused "$(jq -c 'del(.fare)' <<<"$row")" /rows/1/fare 'is required by the model'
refused "$(jq -c '.sexx = "male"' <<<"$row")" /rows/1/sexx 'did you mean "sex"'
refused "$(jq -c '.age = "old"' <<<"$row")" /rows/1/age 'must be a number or null'
refused '[1, 2]' /rows/1 'must be an object'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": []}'
expect 422
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{'
expect 400

# the same as files
# text TYPE FILE: to be predicted
text() { http POST "/v1/jobs/$id/predict${3:-}" -H "Content-Type: $1" --data-binary "@$2"; }
http GET '/v1/datasets/people/rows?limit=400'
jq -c '{rows: .data}' "$body" >"$scratch/rows.json"
http POST "/v1/jobs/$id/predict" "${json[@]}" --data-binary "@$scratch/rows.json"
cp "$body" "$scratch/by_rows"
same() {
  expect 200
  check "$1" '.rows == $rows[0].rows and .predictions == $rows[0].predictions and .classes == $rows[0].classes' --slurpfile rows "$scratch/by_rows"
}
text text/csv "$scratch/people.csv"
same "the file that was trained on, its target ignored"
jq -c '.rows[] | del(.survived)' "$scratch/rows.json" >"$scratch/people.ndjson"
text application/x-ndjson "$scratch/people.ndjson"
same "an object a line"
jq -r '"port\tfare\tjoined\tsex\tage", (.rows[] | [.port, .fare, .joined, .sex, .age] | map(. // "NA") | join("\t"))' "$scratch/rows.json" >"$scratch/people.tsv"
text text/tab-separated-values "$scratch/people.tsv"
same "columns in another order, and fewer of them"
tr '\t.' ';,' <"$scratch/people.tsv" >"$scratch/people_comma.csv"
text text/csv "$scratch/people_comma.csv"
expect 422
check "another delimiter is refused, with the option" '.detail | test("delimiter=semicolon")'
text text/csv "$scratch/people_comma.csv" '?delimiter=semicolon&decimal=,'
same "semicolons and decimal commas"
# bad TYPE TEXT POINTER PATTERN: refused
bad() {
  printf '%b' "$2" >"$scratch/bad"
  text "$1" "$scratch/bad"
  expect 422
  check "refused: $(jq -r .detail "$body")" '($pointer == "" or any(.errors[]; .pointer == $pointer)) and
    any(.detail, .errors[].detail; test($pattern))' --arg pointer "$3" --arg pattern "$4"
}
head='sex,age,fare,port,joined'
bad text/csv "sex,age,port,joined\nmale,3,S,1911-04-10\n" /fare 'missing column'
bad text/csv "$head,sexx\nmale,3,5,S,1911-04-10,1\n" /sexx 'did you mean "sex"'
bad text/csv "$head\nmale,3,5,S,1911-04-10\nmale,old,5,S,1911-04-10\n" /rows/1/age 'a number or empty, not "old"'
bad text/csv "$head\nmale,3,5,S\n" "" 'row 2 has 4 cells'
bad text/csv "$head\n" "" 'no rows of data'
bad application/x-ndjson '{"sex": "male"' "" 'JSON: unexpected end of file'
bad application/x-ndjson '{"sex": "male", "age": 1, "fare": "much", "port": "S", "joined": null}\n' /rows/0/fare 'not "much"'
if [[ -x $build/bin/epochctl ]]; then
  EPOCHD=$url "$build/bin/epochctl" predict "$id" "$scratch/people_comma.csv" --delimiter semicolon --decimal , --csv >"$scratch/printed"
  [[ $(wc -l <"$scratch/printed") == 400 ]] || fail "epochctl predict of semicolons and decimal commas: $(head -3 "$scratch/printed")"
  EPOCHD=$url "$build/bin/epochctl" predict "$id" "$scratch/people.ndjson" --csv | diff - "$scratch/printed" || fail "epochctl predict of NDJSON"
  echo "ok: epochctl predict takes them"
fi

# rows with gaps in columns that say so are none, and such a row is not predicted
drop=$(jq -c '.data.columns = {"age": {"missing": "drop_row"}, "port": {"missing": "drop_row"}} | .epochs = 3' <<<"$spec")
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$drop"
expect 200
left=$(awk -F, 'NR > 1 && $(NF - 4) != "" && $(NF - 2) != "NA"' "$scratch/people.csv" | wc -l)
check "$left rows are left" '.rows.train + .rows.test == $left' --argjson left "$left"
submit "$drop"
finish "$id"
check "and trained on" '.metrics.train.rows + .metrics.test.rows == $left' --argjson left "$left"
http GET "/v1/jobs/$id/events?follow=0"
jq -rs '.[] | select(.type == "warning") | .message' "$body" | grep -q "^$((400 - left)) rows are left out" || fail "no word of the rows"
refused "$(jq -c '.age = null' <<<"$row")" /rows/1/age 'must be a number, not null'
refused "$(jq -c '.age = 3 | .port = ""' <<<"$row")" /rows/1/port 'must be a word'

# words that no row has are refused where the spec says so, rare ones count as others
submit "$(jq -c '.data.columns = {"port": {"unknown": "error", "min_count": 200}} | .epochs = 3' <<<"$spec")"
finish "$id"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"rows\": [$(jq -c '.port = null' <<<"$row"), $row, $(jq -c '.port = "Q"' <<<"$row")]}"
expect 200
check "ports of fewer than 200 training rows are alike" '.predictions[0] == .predictions[1] and .predictions[1] == .predictions[2]'
refused "$(jq -c '.port = "elsewhere"' <<<"$row")" /rows/1/port 'a word of the data or null, not "elsewhere"'
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.columns = {"fare": {"min_count": 2}}' <<<"$spec")"
expect 422
check "a number has no rare words" '.errors[0].pointer == "/data/columns/fare/min_count"'
# more words than 32 are embedded: each has a vector, which the words of numbers lie beside
awk 'BEGIN {srand(3); print "town,size,rich"; for (i = 0; i < 900; i++) {
  t = int(rand() * 60); f = int(rand() * 10); print "town " t "," f "," (((t * 7 % 60) < 30) == (f < 5) ? "yes" : "no")}}' >"$scratch/towns.csv"
http PUT /v1/datasets/towns -T "$scratch/towns.csv"
expect 201
towns='{"data": {"dataset": "towns", "target": "rich", "test": 0.2}, "loss": "cross_entropy", "epochs": 150, "batch_size": 32,
  "model": {"layers": [{"type": "linear", "out_features": 32}, {"type": "relu"}, {"type": "linear", "out_features": 2}]},
  "optimizer": {"type": "adam", "lr": 0.01}}'
for executor in cpu/blocked cpu/reference; do
  submit "$(jq -c --arg executor "$executor" '.executor = $executor | .epochs = (if $executor == "cpu/reference" then 40 else 150 end)' <<<"$towns")"
  finish "$id"
  check "a network on $executor tells 60 towns apart" '.metrics.test.accuracy > 0.9'
done
http GET "/v1/jobs/$id/weights?format=json"
check "the table has a row for each town and one for all others" '.tensors["columns.weight"].shape == [61, 8]'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"town": "town 3", "size": 1}, {"town": "elsewhere", "size": 1}, {"town": null, "size": 1}]}'
expect 200
# Products may add up in another order in the last rows of a batch.
check "a town that is not known counts as a missing one" '((.predictions[1][0] - .predictions[2][0]) | fabs) < 0.0001 and
  ((.predictions[0][0] - .predictions[1][0]) | fabs) > 0.1'
submit "$(jq -c '.data.columns.town.encode = "hash" | .data.columns.town.buckets = 200' <<<"$towns")"
finish "$id"
check "and hashed" '.metrics.test.accuracy > 0.9'
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.columns.town.encode = "hash" | .data.columns.town.buckets = 0' <<<"$towns")"
expect 422
check "into buckets" '.errors[0].pointer == "/data/columns/town/buckets"'

submit '{"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 2, "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
finish "$id"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"a": 1}]}'
expect 409
check "a job of plain numbers has no names" '.errors[0].pointer == "/rows"'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"rows": [{"a": 1}], "steps": 3}'
expect 422
check "and no steps" '.errors[0] | .pointer == "/steps" and (.detail | test("without \"window\""))'
http POST "/v1/jobs/$id/predict" -H 'Content-Type: image/png' -d 'a picture'
expect 409
check "nor takes it pictures" '.detail | test("did not train on pictures")'
