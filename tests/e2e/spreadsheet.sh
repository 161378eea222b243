#!/usr/bin/env bash
# CSV for spreadsheets: no cell of a table, a class, a name or a trial is a formula; numbers stay. And forecasts in CSV.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
ctl=$build/bin/epochctl
formulas() { python3 - "$@" <<'PYTHON'
import csv, sys
delimiter, *files = sys.argv[1:]
for name in files:
    with open(name, newline="", encoding="utf-8") as file:
        for row in csv.reader(file, delimiter=delimiter):
            for cell in row:
                if cell[:1] in tuple("=+-@\t\r\n") and not cell.lstrip("+-").replace(".", "", 1).replace("e-", "", 1).isdigit():
                    sys.exit(f"{name}: {cell!r}")
PYTHON
}
# harmless PATH [CURL-OPTIONS…]: the answer has formulas, and none with ?spreadsheet=1, with the same cells but for the apostrophes
harmless() {
  local path=$1
  shift
  http "${method:-GET}" "$path" "$@"
  expect 200
  cp "$body" "$scratch/raw.csv"
  ! formulas "${delimiter:-,}" "$scratch/raw.csv" 2>/dev/null || fail "$path has no formula to begin with: $(head -n 3 "$body")"
  http "${method:-GET}" "$path&spreadsheet=1" "$@"
  expect 200
  formulas "${delimiter:-,}" "$body" || fail "$path: see above"
  [[ $(sed "s/'\([=+@-]\)/\1/g" "$body") == "$(sed "s/'\([=+@-]\)/\1/g" "$scratch/raw.csv")" ]] || fail "$path changes more: $(diff "$body" "$scratch/raw.csv" | head -n 4)"
}
daemon_start
awk 'BEGIN {print "+note;x;kind"; for (i = 0; i < 200; i++) printf "@SUM(A%d);%.3f;%s\n", i % 3, (i % 20 - 10) / 10, i % 20 < 10 ? "=HYPERLINK(\"a\")" : "-b"}' \
  >"$scratch/kinds.csv"
http PUT /v1/datasets/kinds -T "$scratch/kinds.csv"
expect 201
spec='{"name": "one", "data": {"dataset": "kinds", "target": "kind", "test": 0.3}, "loss": "cross_entropy", "epochs": 5,
  "optimizer": {"type": "adam", "lr": 0.05}, "model": {"layers": [{"type": "linear", "out_features": 2}]}}'
submit "$spec"
one=$id
submit "$(jq -c '.name = "@other" | .data.exclude = ["+note"]' <<<"$spec")"
finish "$one"
finish "$id"
harmless "/v1/jobs/$one/predictions?format=csv"
http GET "/v1/jobs/$one/predictions?format=csv&spreadsheet=1" -H 'Range: bytes=0-9'
expect 206
[[ $(header ETag) == *-spreadsheet* ]] || fail "both have the ETag $(header ETag)"
http GET "/v1/jobs/$one/predictions?format=csv&spreadsheet=yes"
expect 400
delimiter=';' method=POST harmless "/v1/jobs/$one/predict?format=csv&probabilities=true" -H 'Content-Type: text/csv' --data-binary "@$scratch/kinds.csv"
cp "$body" "$scratch/predicted.csv"
http GET "/v1/compare?jobs=$one,$id&format=csv&spreadsheet=1"
expect 200
cp "$body" "$scratch/compared.csv"
formulas , "$body" || fail "the comparison: see above"
http POST /v1/sweeps "${json[@]}" -d "$(jq -c '{job: ., metric: "train.loss", space: {"/data/positive": {values: ["-b", "=HYPERLINK(\"a\")"]}}}' <<<"$spec")"
expect 201
sweep=$(jq -r .id "$body")
http GET "/v1/sweeps/$sweep?wait=60"
http GET "/v1/sweeps/$sweep/trials?format=csv&spreadsheet=1"
expect 200
cp "$body" "$scratch/trials.csv"
formulas , "$body" || fail "the trials: see above"
grep -q "'-b" "$body" || fail "the trials have not what was varied: $(<"$body")"
echo "ok: ?spreadsheet=1 makes predictions, tables, comparisons and trials harmless, and changes nothing else"

# Forecasts: the series, the time, and what is forecast.
awk 'BEGIN {print "at,site,level"
  for (i = 0; i < 120; i++) for (s = 0; s < 2; s++) printf "2024-03-%02d %02d:00,%s,%.3f\n", 1 + i / 24, i % 24, s ? "=up" : "down", 5 * s + sin(i / 4)}' \
  >"$scratch/levels.csv"
http PUT /v1/datasets/levels -T "$scratch/levels.csv"
expect 201
series='{"data": {"dataset": "levels", "target": "level", "time": "at", "window": {"length": 12, "group": "site"}, "test": 0.2},
  "loss": "mse", "epochs": 2, "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
submit "$series"
finish "$id"
rows=(-H 'Content-Type: text/csv' --data-binary "@$scratch/levels.csv")
http POST "/v1/jobs/$id/predict?steps=3" "${rows[@]}"
check "a forecast has times" '.names == [range(3) | "down"] + [range(3) | "=up"] and
  .times == [range(2) | "2024-03-06", "2024-03-06T01:00:00", "2024-03-06T02:00:00"]'
jq -r '"site,at,level_predicted", ([.names, .times] | transpose[] | join(","))' "$body" >"$scratch/wanted"
http POST "/v1/jobs/$id/predict?steps=3" "${rows[@]}" -H 'Accept: text/csv'
cp "$body" "$scratch/forecast.csv"
[[ $(head -n 1 "$body" && tail -n +2 "$body" | cut -d , -f 1,2) == "$(<"$scratch/wanted")" ]] || fail "a forecast in CSV: $(<"$body")"
method=POST harmless "/v1/jobs/$id/predict?steps=3&format=csv" "${rows[@]}"
cp "$body" "$scratch/harmless.csv"
http POST "/v1/jobs/$id/predict?steps=2&format=csv" -H 'Content-Type: text/csv' --data-binary @- < <(cut -d , -f 2,3 "$scratch/levels.csv")
[[ $(cut -d , -f 1,2 "$body" | tr '\n' ' ') == 'site,step down,1 down,2 =up,1 =up,2 ' ]] || fail "without times: $(<"$body")"
echo "ok: a forecast in CSV has the series, the time or the step, and a header"

if [[ -x $ctl ]]; then
  own() { "$ctl" --server "$url" "$@"; }
  own predict "$id" "$scratch/levels.csv" --steps 3 --csv | cmp - "$scratch/forecast.csv" || fail "epochctl prints another forecast"
  own predict "$id" "$scratch/levels.csv" --steps 3 --spreadsheet | cmp - "$scratch/harmless.csv" || fail "epochctl prints formulas"
  own predict "$one" "$scratch/kinds.csv" -o - --probabilities --spreadsheet | cmp - "$scratch/predicted.csv" || fail "epochctl -o writes formulas"
  own compare "$one" "$id" --spreadsheet >"$scratch/printed"
  formulas , "$scratch/printed" || fail "epochctl compare: see above"
  own sweeps show "$sweep" --spreadsheet | cmp - "$scratch/trials.csv" || fail "epochctl sweeps show prints formulas"
  echo "ok: so do epochctl --csv and --spreadsheet"
  [[ $(own predict "$id" "$scratch/levels.csv" --steps 1 | tr -s ' ') == *'step name time '*$'\n'*' 1 down 2024-03-06 '* ]] ||
    fail "the table has no times: $(own predict "$id" "$scratch/levels.csv" --steps 1)"
  # windows by flags, in epochctl and in Python
  own train "$scratch/levels.csv" --target level --time at --window 12 --horizon 2 --group site --set /epochs=1 --name flagged --detach >/dev/null
  http GET /v1/jobs/flagged
  check "epochctl train takes windows" '.spec.data | .window.length == 12 and .window.horizon == 2 and .window.group == "site" and .time == "at"'
  for flag in '--horizon 2' '--group site'; do
    # shellcheck disable=SC2086
    ! own train "$scratch/levels.csv" $flag 2>"$scratch/refused" || fail "it takes $flag without --window"
    grep -q 'requires --window' "$scratch/refused" || fail "$flag: $(<"$scratch/refused")"
  done
fi
PYTHONPATH=$here/../../clients/python python3 - "$url" "$one" "$id" "$sweep" "$scratch" <<'PYTHON'
import sys
import epochd
url, one, forecasts, sweep, scratch = sys.argv[1:]
client = epochd.Client(url)
text = lambda name: open(f"{scratch}/{name}.csv", newline="").read()
assert "'=HYPERLINK" in client.job(one).predictions("csv", spreadsheet=True), "predictions"
assert client.job(forecasts).predict_csv(f"{scratch}/levels.csv", steps=3, format="csv") == text("forecast"), "a forecast"
assert client.job(forecasts).predict_csv(f"{scratch}/levels.csv", steps=3, format="csv", spreadsheet=True) == text("harmless"), "harmless"
window = client.submit(f"{scratch}/levels.csv", target="level", time="at", window=12, horizon=2, group="site", epochs=1).spec["data"]
assert (window["window"]["length"], window["window"]["horizon"], window["window"]["group"], window["time"]) == (12, 2, "site", "at"), window
assert client.get_sweep(sweep).csv(spreadsheet=True) == text("trials"), "trials"
PYTHON
echo "ok: and Python"
daemon_stop
