#!/usr/bin/env bash
# A table as a series: windows of its rows train, the newest rows test, and a forecast goes on with its own output.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
# 60 days of a sum of two waves, an hour a row, the newest hour first; the tide of every hour is known ahead
awk 'BEGIN {print "hour,temp,tide"
  for (i = 1439; i >= 0; i--) printf "%d,%.4f,%.4f\n", i, 10 + 8 * sin(i * 6.2831853 / 24) + 3 * sin(i * 6.2831853 / 168), sin(i * 6.2831853 / 12)}' \
  >"$scratch/weather.csv"
# temperatures of two sites alone, one after the other, without a time
awk 'BEGIN {print "site;temp"
  for (s = 0; s < 2; s++) for (i = 0; i < 300; i++) printf "%s;%.4f\n", s ? "Oslo" : "Rome", 20 * s + 5 * sin(i * 6.2831853 / 24)}' \
  >"$scratch/sites.csv"
for name in weather sites; do
  http PUT "/v1/datasets/$name" -T "$scratch/$name.csv"
  expect 201
done
spec='{"data": {"dataset": "weather", "target": "temp", "time": "hour", "features": ["temp"], "window": {"length": 24}, "test": 0.2,
        "standardize": ["y"]}, "loss": "mse", "epochs": 60, "batch_size": 32, "optimizer": {"type": "adam", "lr": 0.01},
       "schedule": "cosine", "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
submit "$spec"
finish "$id"
check "examples of each side alone: 1152 - 24 train, 288 - 24 test" '.metrics.train.rows == 1128 and .metrics.test.rows == 264 and
  .metrics.test.r2 > 0.99 and .spec.data.window == {"length": 24, "horizon": 1, "stride": 1, "group": null, "gaps": "cut"} and
  .warnings == []'
univariate=$id
rows=$(jq -Rsc 'split("\n")[1:] | map(select(. != "") | split(",") | {hour: .[0], temp: .[1], tide: .[2]}) | reverse' "$scratch/weather.csv")
# predict BODY: of the job at hand
predict() { http POST "/v1/jobs/$id/predict" "${json[@]}" -d "$1"; }
# window FIRST LAST [MORE]: so many rows, and members beside them
window() { jq -c ".[$1:$2] | {rows: .${3:+, $3}}" <<<"$rows"; }
predict "$(window 1200 1224)"
expect 200
check "one window, one prediction" '.rows == 1 and (.predictions[0][0] - $temp | fabs) < 0.5' \
  --argjson temp "$(jq '.[1224].temp | tonumber' <<<"$rows")"
cp "$body" "$scratch/one"
predict "$(window 1200 1224 'steps: 1, future: []')"
check "nothing has to be known ahead" '.predictions == $one[0].predictions' --slurpfile one "$scratch/one"
predict "$(window 1200 1230)"
check "successive rows have a prediction a window" '.rows == 7 and .predictions[0] == $one[0].predictions[0]' --slurpfile one "$scratch/one"
predict "$(window 1000 1224 'steps: 48')"
expect 200
check "two days ahead" '.rows == 48 and .predictions[0] == $one[0].predictions[0] and
  ([.predictions, [$rows[1224:1272][].temp | tonumber]] | transpose | map(.[0][0] - .[1] | fabs) | max) < 2' \
  --slurpfile one "$scratch/one" --argjson rows "$rows"
cp "$body" "$scratch/forecast"
# the same by hand: each output is the newest row of the next request
predict "$(jq -c '.predictions[0][0] as $next | $rows[1201:1224] + [{hour: 1224, temp: $next, tide: null}] | {rows: .}' --argjson rows "$rows" "$scratch/one")"
check "each step's output is fed back" '.predictions[0] == $forecast[0].predictions[1]' --slurpfile forecast "$scratch/forecast"
predict "$(jq -c '.[1200:1226] | .[24].temp = null | .[25].temp = null | {rows: .}' <<<"$rows")"
check "and so it is of rows whose target is missing" '.rows == 3 and .predictions == $forecast[0].predictions[:3]' \
  --slurpfile forecast "$scratch/forecast"

# refused BODY POINTER PATTERN
refused() {
  predict "$1"
  expect 422
  check "refused: $(jq -r '.errors[0].detail' "$body")" '.errors[0] | .pointer == $pointer and (.detail | test($pattern))' \
    --arg pointer "$2" --arg pattern "$3"
}
refused "$(window 0 23)" /rows '24 successive rows.* not 23'
refused "$(window 0 23 'steps: 2')" /rows 'the last 24 rows'
refused "$(window 0 24 'steps: 0')" /steps 'from 1 to 10000'
refused "$(window 0 24 'steps: 10001')" /steps 'from 1 to 10000'
refused "$(window 0 24 'future: []')" /steps 'with "future"'
refused "$(window 0 24 'step: 3')" /step 'unknown field'
refused "$(jq -c '.[0:24] | del(.[3].temp) | {rows: .}' <<<"$rows")" /rows/3/temp 'is required by the model'
{ echo temp,hour,tide && awk 'BEGIN {for (i = 0; i < 120000; i++) print i % 7 "," i - 120000 ",0"}' && jq -r '.[1000:1224][] | "\(.temp),\(.hour),\(.tide)"' <<<"$rows"; } >"$scratch/long.csv"
http POST "/v1/jobs/$id/predict?steps=48" -H 'Content-Type: text/csv' --data-binary "@$scratch/long.csv"
check "of a long history the last rows count" '.predictions == $forecast[0].predictions' --slurpfile forecast "$scratch/forecast"
http POST "/v1/jobs/$id/predict?steps=0" -H 'Content-Type: text/csv' --data-binary "@$scratch/long.csv"
expect 400
http POST "/v1/jobs/$id/predict?steps=3" "${json[@]}" -d "$(window 1000 1224 'steps: 48')"
check "one number of steps: $(jq -r '.errors[0].detail' "$body")" '.errors[0].pointer == "/steps" and (.errors[0].detail | test("the 3 of"))'
if [[ -x $build/bin/epochctl ]]; then
  # forecasts JOB FILE FLAGS…: epochctl prints what the curl before it got
  forecasts() {
    EPOCHD=$url "$build/bin/epochctl" predict "$@" --csv >"$scratch/printed" || fail "epochctl predict $* ended with $?"
    jq -nRe --slurpfile forecast "$scratch/forecast" '[inputs | split(",") | last] | .[0] == "temp_predicted" and
      ([.[1:], $forecast[0].predictions] | transpose | all((.[0] | tonumber) - .[1][0] | fabs < 1e-5))' "$scratch/printed" >/dev/null || fail "epochctl predict $*: $(head -n 3 "$scratch/printed")"
  }
  # declines PATTERN JOB FILE FLAGS…
  declines() {
    local pattern=$1 status=0
    shift
    EPOCHD=$url "$build/bin/epochctl" predict "$@" >"$scratch/printed" 2>&1 || status=$?
    ((status == 2)) && grep -q -- "$pattern" "$scratch/printed" || fail "epochctl predict $*: $status, $(<"$scratch/printed")"
  }
  jq -r '.[1000:1224][] | "\(.hour),\(.temp),\(.tide)"' <<<"$rows" >"$scratch/last"
  { echo hour,temp,tide && cat "$scratch/last"; } >"$scratch/last.csv"
  jq -c '.[1000:1224][]' <<<"$rows" >"$scratch/last.ndjson"
  for file in last last.csv last.ndjson; do forecasts "$id" "$scratch/$file" --steps 48; done
  window 1000 1224 | forecasts "$id" - --steps 48
  declines 'requires the last 24 rows' "$id" - --steps 2 <<<"$(head -n 3 "$scratch/last")"
  declines 'the model requires it' "$id" - --steps 2 <<<"$(cut -d , -f 1,3 "$scratch/last")"
  sed 's/,/;/g; s/\./,/g; 1i title of the table\' "$scratch/last.csv" >"$scratch/written.csv"
  forecasts "$id" "$scratch/written.csv" --steps 48 --delimiter semicolon --decimal ,
  declines 'the number of rows to forecast' "$id" "$scratch/last" --future "$scratch/last"
  declines 'cannot both be' "$id" - --steps 2 --future -
  echo "ok: epochctl predict --steps"
fi
http GET "/v1/jobs/$id/weights?format=onnx"
expect 422
check "an ONNX graph has no windows: $(jq -r .detail "$body")" '.detail | test("windows of a series")'
http PUT /v1/models/weather "${json[@]}" -d "{\"job\": \"$id\"}"
expect 201
http POST /v2/models/weather/infer "${json[@]}" -d "$(jq -c '.[1200:1224] | {inputs: [{name: "x", datatype: "FP64", shape: [1, 72],
  data: map(.hour, .temp, .tide | tonumber)}]}' <<<"$rows")"
expect 200
check "KServe takes a window a row" '(.outputs[0].data[0] - $one[0].predictions[0][0] | fabs) < 1e-5' --slurpfile one "$scratch/one"

# other columns have to be known ahead
submit "$(jq -c 'del(.data.features) | .data.window.horizon = 3 | .epochs = 20' <<<"$spec")"
finish "$id"
check "the tide is a feature, the hour is not" '.spec.data.window.horizon == 3 and .metrics.test.rows == 262'
predict "$(window 1200 1226 'steps: 3')"
expect 200
check "no step needs the future within the horizon" '.rows == 3'
cp "$body" "$scratch/one"
refused "$(window 1200 1226 'steps: 10')" /future '7 rows after the last one.*requires their "tide"'
refused "$(window 1200 1226 'steps: 10, future: [range(7) | {tide: null}]')" /future/0/tide 'missing in a row to come'
refused "$(window 1200 1226 'steps: 10, future: [range(7) | {}]')" /future/0/tide 'is required by the model'
refused "$(window 1200 1225 'steps: 3')" /rows 'the last 26 rows'
predict "$(jq -c '{rows: .[1200:1226], steps: 10, future: [.[1226:1233][] | del(.temp)]}' <<<"$rows")"
expect 200
check "with it" '.rows == 10 and .predictions[:3] == $one[0].predictions' --slurpfile one "$scratch/one"
cp "$body" "$scratch/forecast"
predict "$(jq -c '{rows: (.[1200:1226] + [.[1226:1233][] | .temp = null])}' <<<"$rows")"
if [[ -x $build/bin/epochctl ]]; then
  jq -r '.[1200:1226][] | "\(.hour),\(.temp),\(.tide)"' <<<"$rows" >"$scratch/last"
  jq -r '"tide", .[1226:1233][].tide' <<<"$rows" >"$scratch/ahead.csv"
  forecasts "$id" "$scratch/last" --steps 10 --future "$scratch/ahead.csv"
  declines '--future: 10 steps require 7 rows after the last one.*"tide"' "$id" "$scratch/last" --steps 10
  jq -r '.[1226:1233][] | "\(.hour),,\(.tide)"' <<<"$rows" | cat "$scratch/last" - >"$scratch/whole"
  forecasts "$id" "$scratch/whole" --steps 10
  echo "ok: epochctl predict --future"
fi
check "the same as rows without targets" '.rows == 10 and .predictions == $forecast[0].predictions' --slurpfile forecast "$scratch/forecast"

# several series, and one-dimensional convolutions over their windows
submit "$(jq -c '.data |= (.dataset = "sites" | .window.group = "site" | del(.time, .features) | .shape = [1, 1, 24])
  | .model.layers = [{type: "conv2d", out_channels: 4, kernel_size: [1, 5]}, {type: "relu"}, {type: "flatten"}, {type: "linear", out_features: 1}]' <<<"$spec")"
finish "$id"
check "no window has rows of both sites" '.metrics.train.rows == 2 * (240 - 24) and .metrics.test.rows == 2 * (60 - 24) and .metrics.test.r2 > 0.99'

# rows of both, by turns: no prediction mixes them
sites=$(jq -Rsc 'split("\n")[1:] | map(select(. != "") | split(";") | {site: .[0], temp: .[1]})' "$scratch/sites.csv")
turns=$(jq -c '[.[:30], .[300:330]] | transpose | add' <<<"$sites")
for site in Rome Oslo; do
  predict "$(jq -c --arg site "$site" '{rows: map(select(.site == $site))}' <<<"$turns")"
  check "7 windows of $site" '.rows == 7 and has("names") == false'
  cp "$body" "$scratch/$site"
done
one=(--slurpfile rome "$scratch/Rome" --slurpfile oslo "$scratch/Oslo")
predict "$(jq -c '{rows: .}' <<<"$turns")"
check "each window is of one site" '.rows == 14 and .names == [range(7) | "Rome", "Oslo"] and .last_rows == [range(46; 60)] and
  ([.predictions, ([$rome[0].predictions, $oslo[0].predictions] | transpose | add)] | transpose | all(.[0][0] - .[1][0] | fabs < 1e-4))' "${one[@]}"
cp "$body" "$scratch/turns"
jq -r '"site;temp", (.[] | "\(.site);\(.temp)")' <<<"$turns" >"$scratch/turns.csv"
http POST "/v1/jobs/$id/predict?format=csv" -H 'Content-Type: text/csv' --data-binary "@$scratch/turns.csv"
[[ $(awk -F ';' 'NR > 1 && $3 != "" {print NR - 2}' "$body") == "$(seq 46 59)" ]] || fail "behind other rows: $(<"$body")"
for site in Rome Oslo; do
  predict "$(jq -c --arg site "$site" '{rows: map(select(.site == $site)), steps: 3}' <<<"$turns")"
  cp "$body" "$scratch/$site"
done
http POST "/v1/jobs/$id/predict?steps=3" -H 'Content-Type: text/csv' --data-binary "@$scratch/turns.csv"
check "a forecast of each" '.rows == 6 and .names == [range(3) | "Rome"] + [range(3) | "Oslo"] and
  ([.predictions, $rome[0].predictions + $oslo[0].predictions] | transpose | all(.[0][0] - .[1][0] | fabs < 1e-4))' "${one[@]}"
cp "$body" "$scratch/forecast"
[[ ! -x $build/bin/epochctl ]] || EPOCHD=$url "$build/bin/epochctl" predict "$id" "$scratch/turns.csv" --steps 3 --csv >"$scratch/printed"
[[ ! -x $build/bin/epochctl || $(cut -d , -f 1,2 "$scratch/printed") == "$(jq -r '"site,step", ([.names, [1, 2, 3, 1, 2, 3]] | transpose[] | "\(.[0]),\(.[1])")' "$scratch/forecast")" ]] ||
  fail "epochctl predict --steps of two sites: $(<"$scratch/printed")"
refused "$(jq -c '.[3].site = null | {rows: .}' <<<"$turns")" /rows/3/site 'identifies the series'
predict "$(jq -c '{rows: (.[:48] + .[49:50])}' <<<"$turns")"
check "one site may have more windows than the other" '.rows == 3'
predict "$(jq -c '{rows: map(select(.site == "Rome" or .temp == "20.0000"))}' <<<"$turns")"
check "a site of too few rows is left out: $(jq -r '.warnings[0].detail' "$body")" '.rows == 7 and (.warnings[0].detail | test("\"Oslo\" has"))'

# Hours of two stations on 30 days: of the first two days are missing and one hour comes twice, of the other nothing.
awk 'BEGIN {srand(7); print "time,station,level"
  for (s = 0; s < 2; s++) for (i = 0; i < 720; i++) {
    if (!s && i >= 240 && i < 288) continue
    for (k = 0; k < 1 + (!s && i == 400); k++) printf "2024-03-%02d %02d:00,%s,%.3f\n", 1 + i / 24, i % 24, s ? "up" : "down", 5 * s + sin(i / 4) + rand() / 9 + k}}' \
  >"$scratch/levels.csv"
{ head -n 1 "$scratch/levels.csv" && tail -n +2 "$scratch/levels.csv" | sort -t , -k 3; } >"$scratch/shuffled.csv"
for name in levels shuffled; do
  http PUT "/v1/datasets/$name" -T "$scratch/$name.csv"
  expect 201
done
levels='{"data": {"dataset": "levels", "target": "level", "time": "time", "window": {"length": 12, "group": "station"}, "test": 0.2,
  "standardize": ["y"]}, "loss": "mse", "epochs": 5, "batch_size": 32, "optimizer": {"type": "adam", "lr": 0.01},
  "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
# of 673 and 720 rows 538 and 576 train; 12 windows are over the hole, and 12 over the hour that comes twice
submit "$levels"
finish "$id"
check "windows over gaps are left out, and a warning says how many" '.metrics.train.rows == 538 - 12 - 24 + 576 - 12 and
  .metrics.test.rows == 135 - 12 + 144 - 12 and (.warnings | length) == 1 and
  (.warnings[0] | startswith("1 gap (2 days after 2024-03-10 23:00), 1 repeated time: 24 of 1345 windows are left out"))'
cut=$id
submit "$(jq -c '.data.dataset = "shuffled"' <<<"$levels")"
finish "$id"
check "the order of the file does not matter" '.metrics.train.rows == 1066 and .metrics.test == $cut[0].metrics.test' \
  --slurpfile cut <(curl -sSf "$url/v1/jobs/$cut")
http GET "/v1/jobs/$id/weights?format=json"
cp "$body" "$scratch/shuffled.json"
http GET "/v1/jobs/$cut/weights?format=json"
[[ $(jq -cS .tensors "$body") == "$(jq -cS .tensors "$scratch/shuffled.json")" ]] || fail "the weights depend on the order of the file"
http POST "/v1/jobs/$cut/predict?steps=4" -H 'Content-Type: text/csv' --data-binary "@$scratch/levels.csv"
cp "$body" "$scratch/forecast"
http POST "/v1/jobs/$cut/predict?steps=4" -H 'Content-Type: text/csv' --data-binary "@$scratch/shuffled.csv"
check "nor for a forecast" '[.names, .predictions] | transpose | sort == ([$forecast[0].names, $forecast[0].predictions] | transpose | sort)' \
  --slurpfile forecast "$scratch/forecast"
submit "$(jq -c '.data.window.gaps = "keep"' <<<"$levels")"
finish "$id"
check "they stay where that is asked for" '.metrics.train.rows == 538 - 12 + 576 - 12 and .warnings == []'
submit "$(jq -c 'del(.data.window.group)' <<<"$levels")"
finish "$id"
check "two series that nothing tells apart are uneven" '.metrics.train.rows == 1114 - 12 and
  (.warnings[0] | test("repeated times in 1392 steps: the times are uneven.*\"group\""))'
grep -v ,up, "$scratch/levels.csv" >"$scratch/down.csv"
http PUT /v1/datasets/down -T "$scratch/down.csv"
expect 201
for gaps in '.data.window = {length: 400}' '.data.window |= (.gaps = "hide")'; do
  http POST "/v1/jobs?validate=only" "${json[@]}" -d "$(jq -c ".data.dataset = \"down\" | del(.data.test) | $gaps" <<<"$levels")"
  expect 422
  check "refused: $(jq -r '.errors[0].detail' "$body")" '.errors[0].pointer == "/data/window/gaps"'
done

# and a first model
http POST /v1/jobs "${json[@]}" -d '{"data": {"dataset": "sites", "target": "temp", "window": {"length": 24, "group": "site"}}, "model": "auto", "epochs": 3}'
expect 201
id=$(jq -r .id "$body")
finish "$id"
check "auto takes windows" '.spec.data.window.length == 24 and .metrics.test.rows == 2 * (60 - 24)'

# bad VALUE POINTER: in the place of "window"
bad() {
  http POST /v1/jobs "${json[@]}" -d "$(jq -c ".data.window = $1" <<<"$spec")"
  expect 422
  check "refused: $(jq -r '.errors[0].detail' "$body")" '.errors[0].pointer == $pointer' --arg pointer "$2"
}
bad '{}' /data/window/length
bad '{"length": 0}' /data/window/length
bad '{"length": 2000}' /data/window/length
bad '{"length": 288}' /data/test
bad '{"length": 24, "group": "site"}' /data/window/group
id=$univariate
submit '{"data": {"dataset": "weather", "exclude": ["hour"]}, "loss": "mse", "epochs": 1, "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
finish "$id"
refused "$(jq -c '{rows: .[0:1], steps: 2}' <<<"$rows")" /steps 'without "window"'
http DELETE /v1/datasets/weather
expect 204
if [[ -x $build/bin/epochctl ]]; then
  http GET "/v1/jobs/$univariate/inputs"
  check "what a row has is the model's" '.window == {length: 24, horizon: 1} and .target == "temp" and
    [.columns[] | "\(.name) \(.used)"] == ["hour false", "temp true", "tide false"]'
  id=$univariate
  predict "$(jq -c '{rows: .[1200:1226], steps: 10}' <<<"$rows")"
  expect 200
  cp "$body" "$scratch/forecast"
  forecasts "$univariate" "$scratch/last" --steps 10
  echo "ok: a forecast goes on without the table"
fi
