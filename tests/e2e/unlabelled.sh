#!/usr/bin/env bash
# A picture of two colours as 40,000 rows [x, y] -> 0 or 1, and a grid of 50 x 50 points to be predicted, without targets.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# picture FILE MEMBERS: a disc of radius 0.35 about the middle
picture() {
  awk -v more="$2" 'function inside(a, b) {return (a - .5)^2 + (b - .5)^2 < .1225}
    BEGIN {
      printf "{\"m\": 40000, \"n\": 2, \"x\": ["
      for (i = 0; i < 40000; i++) printf "%s%g,%g", i ? "," : "", i % 200 / 199, int(i / 200) / 199
      printf "], \"y\": ["
      for (i = 0; i < 40000; i++) printf "%s%d", i ? "," : "", inside(i % 200 / 199, int(i / 200) / 199)
      printf "], \"m_test\": 2500, \"x_test\": ["
      for (i = 0; i < 2500; i++) printf "%s%g,%g", i ? "," : "", i % 50 / 49, int(i / 50) / 49
      print "]" more "}"
    }' >"$1"
}
picture "$scratch/absent.json" ''
picture "$scratch/empty.json" ', "y_test": []'
for name in absent empty; do
  http PUT "/v1/datasets/$name" -T "$scratch/$name.json"
  expect 201
  check "$name: test rows without targets" '.parts.train.x.rows == 40000 and (.parts.test | keys) == ["x"] and .parts.test.x.rows == 2500'
done
spec='{"data": {"dataset": "absent", "standardize": ["x"]}, "loss": "bce_with_logits", "epochs": 12, "batch_size": 64,
       "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]},
       "optimizer": {"type": "adam", "lr": 0.01}}'
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$spec"
expect 200
check "the rows of a job are told" '.rows == {"train": 40000, "validation": 0, "test": 2500}'
submit "$spec"
finish "$id"
check "it trains, and has no test metrics" '.metrics.test == null and .metrics.train.accuracy > 0.97'
http GET "/v1/jobs/$id/predictions"
expect 200
check "2,500 predictions" '.rows == 2500 and .target == null and (.prediction | length) == 2500 and (.output | length) == 2500'
check "and they are right" '[.prediction | to_entries[] | select((((.key % 50) / 49 - 0.5) * ((.key % 50) / 49 - 0.5) +
  ((.key / 50 | floor) / 49 - 0.5) * ((.key / 50 | floor) / 49 - 0.5) < 0.1225) == (.value == 1))] | length > 2400'
http GET "/v1/jobs/$id/predictions?format=csv"
expect 200
[[ $(head -n 1 "$body") == row,prediction,output_0 && $(wc -l <"$body") == 2501 ]] || fail "the CSV begins with $(head -n 2 "$body")"
echo "ok: the same as CSV"
http POST /v1/sweeps "${json[@]}" -d "$(jq -c '{job: ., space: {"/seed": {"values": [1]}}, search: "grid", metric: "test.accuracy", mode: "max", allow_test_metric: true}' <<<"$spec")"
expect 422
check "no sweep is measured by them: $(jq -r '.errors[0].detail' "$body")" '.errors[0].pointer == "/metric"'
http POST /v1/sweeps "${json[@]}" -d "$(jq -c '.epochs = 1 | {job: ., space: {"/seed": {"values": [1, 2]}}, search: "grid", metric: "train.loss", mode: "min"}' <<<"$spec")"
expect 201
sweep=$(jq -r .id "$body")
swept() { http GET "/v1/sweeps/$sweep"; [[ $(jq -r .status "$body") == succeeded ]]; }
until_so "the sweep ends" swept
