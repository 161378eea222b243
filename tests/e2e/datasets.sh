#!/usr/bin/env bash
# Uploads: CSV, gz, the target by name and by index, faults that name row and column, 409 while in use.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start

awk 'BEGIN {
  print "size,\"rooms, all\",price"
  for (i = 1; i <= 200; i++) {size = (i * 37) % 101; rooms = (i * 17) % 7; print size "," rooms "," 3 * size - 5 * rooms + 20}
}' >"$scratch/houses.csv"
http PUT /v1/datasets/houses -H 'Content-Type: text/csv' -T "$scratch/houses.csv"
expect 201
http HEAD /v1/datasets/houses
expect 200
http GET /v1/datasets/houses
check "a CSV" '.format == "csv" and .parts.train.table.rows == 200 and
  [.columns[].name] == ["size", "rooms, all", "price"] and .columns[0].min == 0 and .columns[0].max == 100'
gzip -c "$scratch/houses.csv" | curl -sS -o "$body" -w '%{http_code}\n' -T - "$url/v1/datasets/packed" >"$scratch/code"
[[ $(<"$scratch/code") == 201 ]] || fail "a gz was answered $(<"$scratch/code"): $(<"$body")"
http GET /v1/datasets/packed
check "the same, packed" '.parts.train.table.rows == 200'
http GET /v1/datasets
check "the list of datasets" '[.data[].name] | sort == ["houses", "packed"]'

spec='{"data": {"dataset": "houses", "target": "price", "test": 0.2, "validation": 0.1, "standardize": ["x", "y"]},
       "model": {"layers": [{"type": "linear", "out_features": 1}]}, "loss": "mse", "optimizer": {"lr": 0.2}, "epochs": 500}'
submit "$spec"
finish "$id"
check "the line is found, whatever the split" \
  '.metrics.test.rows == 40 and .metrics.validation.rows == 20 and .metrics.train.rows == 140 and
   .metrics.test.rmse < 0.01 and .metrics.test.r2 > 0.9999'
named=$(jq .metrics.test.loss "$body")
submit "$(jq -c '.data.target = -1' <<<"$spec")"
finish "$id"
[[ $(jq .metrics.test.loss "$body") == "$named" ]] || fail "the target by index gives another result"
echo "ok: the target by index is the target by name"
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.target = "prize"' <<<"$spec")"
expect 422
check "no such column" '.errors[0].pointer == "/data/target"'

# refused WHAT CSV PATTERN: a fault whose place the response must name
refused() {
  printf '%b' "$2" >"$scratch/wrong.csv"
  http PUT /v1/datasets/wrong -H 'Content-Type: text/csv' -T "$scratch/wrong.csv"
  [[ $code == 422 || $code == 400 ]] || fail "$1 was answered $code"
  grep -q "$3" "$body" || fail "$1: the answer does not say \"$3\": $(<"$body")"
  echo "ok: $1: $(jq -r .detail "$body")"
}
refused "an infinity" 'a,b\n1,2\n3,inf\n' 'row 3, column 2'
refused "a word that is not UTF-8" 'a,b\n\u00e9\u00e9,2\n\u00e8,4\n\xff,6\n' 'row 4, column 1'
refused "a short row" 'a,b\n1,2\n3\n' 'row 3'
refused "a short row of words" 'a,b\n1,x\n3\n' 'row 3'
http GET /v1/datasets/wrong
expect 404
http PUT /v1/datasets/my%20houses -T "$scratch/wrong.csv"
expect 404
check "a name with a space is told what a name is" '.detail | test("invalid name \"my houses\": a name has 1 to 128 letters")'

printf '%s\n' 'Survived,Name,Sex,Age,Cabin,Boarded' '0,"Braund, Mr. ""Owen"" Harris",male,22,,1912-04-10' \
  '1,"Cumings, Mrs. John",female,38,C85,1912-04-10' '1,"Heikkinen, Miss. Laina",female,NA,,1912-04-11' >"$scratch/people.csv"
http PUT /v1/datasets/people -H 'Content-Type: text/csv' -T "$scratch/people.csv"
expect 201
http GET /v1/datasets/people
check "a table with words, dates and gaps" \
  '[.columns[].type] == ["number", "category", "category", "number", "category", "date"] and
   [.columns[].missing] == [0, 0, 0, 1, 2, 0] and .columns[2].distinct == 2 and
   .columns[2].categories == [{"value": "female", "count": 2}, {"value": "male", "count": 1}] and
   .columns[3].min == 22 and .columns[3].max == 38'
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.dataset = "people" | .data.target = "Survived"' <<<"$spec")"
expect 422
check "its columns are scaled already" '.errors[0].pointer == "/data/standardize"'

submit "$(jq -c --argjson epochs "$endless" '.epochs = $epochs' <<<"$spec")"
http DELETE /v1/datasets/houses
expect 409
http POST "/v1/jobs/$id/cancel"
ended "$id"
http DELETE /v1/datasets/houses
[[ $code == 20[04] ]] || fail "deleting an idle dataset was answered $code"
http GET /v1/datasets/houses
expect 404
echo "ok: a dataset stays while a job needs it, and goes afterwards"

submit '{"data": {"inline": {"x": [[0], [1], [2], [3]], "y": [1, 3, 5, 7]}}, "loss": "mse", "epochs": 2000,
         "model": {"layers": [{"type": "linear", "out_features": 1}]}, "optimizer": {"lr": 0.1}}'
finish "$id"
check "rows within the job" '.metrics.train.loss < 1e-4 and .metrics.test == null'

# Pages by name, without columns; a page ends early where many columns must be read for it.
head=$(printf 'c%s,' {1..65535})z
row=$(printf '1%.0s,' {1..65535})1
for i in 1 2 3 4; do
  { echo "$head" && for ((j = 0; j <= i; j++)); do echo "$row"; done; } >"$scratch/wide.csv"
  http PUT "/v1/datasets/wide$i" -T "$scratch/wide.csv"
  expect 201
done
daemon_stop
daemon_start # which holds no summaries
names=
next=
pages=0
while :; do
  http GET "/v1/datasets?limit=3${next:+&after=$next}"
  expect 200
  (($(stat -c %s "$body") < 16384)) || fail "a page of three has $(stat -c %s "$body") bytes"
  check "a page" 'all(.data[]; has("columns") | not) and (.data | length) <= 3'
  names+=$(jq -r '.data[] | "\(.name):\(.columns_count) "' "$body" | tr -d '\n')
  pages=$((pages + 1))
  [[ $(jq .has_more "$body") == true ]] || break
  next=$(jq -r .next "$body")
done
[[ $names == *"wide1:65536 wide2:65536 wide3:65536 wide4:65536 "* ]] || fail "the pages have $names"
http GET /v1/datasets
check "with summaries held, all of them on a page" '[.data[] | select(.columns_count == 65536)] | length == 4'
http GET '/v1/datasets?limit=0'
expect 400
# Plots read the rows that a job trained on: once these were replaced they say so, and predictions go on.
{ echo a,b && for ((i = 0; i < 40; i++)); do echo "$i,$((i % 2))"; done; } >"$scratch/rows.csv"
http PUT /v1/datasets/replaced -T "$scratch/rows.csv"
expect 201
submit '{"data": {"dataset": "replaced", "target": "b", "test": 0.2}, "loss": "bce_with_logits", "epochs": 2, "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
finish "$id"
sed 's/^1,/100,/' "$scratch/rows.csv" >"$scratch/others.csv"
http PUT /v1/datasets/replaced -T "$scratch/others.csv"
expect 200
http GET "/v1/jobs/$id/plots/roc"
expect 409
check "plots without their rows" '.detail | test("rows that job .* trained on were replaced or deleted")'
http POST "/v1/jobs/$id/predict" "${json[@]}" -d '{"x": [[3]]}'
expect 200

if [[ -x $build/bin/epochctl ]]; then
  EPOCHD=$url "$build/bin/epochctl" data ls --quiet >"$scratch/names" || fail "epochctl data ls"
  (($(grep -c '^wide[1-4]$' "$scratch/names") == 4)) || fail "epochctl lists $(cat "$scratch/names")"
fi
echo "ok: $pages pages of data sets"
