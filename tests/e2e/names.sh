#!/usr/bin/env bash
# Columns by name and by index: a JSON number is an index, a string is a name, and a name that exists is no glob.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
ctl=$build/bin/epochctl
spec='{"data": {"dataset": "digits"}, "loss": "mse", "epochs": 1, "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
# trained FEATURES FILTER: trains with so many features.
trained() {
  submit "$(jq -c "$2" <<<"$spec")"
  finish "$id"
  check "$2: features" ".model.parameters == $1 + 1"
}
# refused PATTERN FILTER…: a job that is refused at /data/target.
refused() {
  local pattern=$1
  shift
  http POST /v1/jobs "${json[@]}" -d "$(jq -c "$@" <<<"$spec")"
  expect 422
  check "refused: $*" '.errors[0].pointer == "/data/target" and (.errors[0].detail | test($pattern))' --arg pattern "$pattern"
}
# asks ROW: the row has all features.
asks() {
  http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"rows\": [$1]}"
  expect 200
}

# columns whose names are the indices of others
awk -v OFS=, 'BEGIN {print "2,1,0,y"; for (i = 0; i < 40; i++) print i, 100 + i % 7, 1000 + i * i % 11, 10000 + i % 5}' >"$scratch/digits.csv"
http PUT '/v1/datasets/digits?header=true' -T "$scratch/digits.csv"
expect 201
trained 3 '.data.target = 0'
check "a number is an index" '.spec.data.target == 0'
asks '{"1": 1, "0": 2, "y": 3}'
trained 3 '.data.target = "0"'
check "a string is a name" '.spec.data.target == "0"'
asks '{"2": 0, "1": 1, "y": 3}'
trained 3 '.data.target = -1'
check "a negative one counts from the end" '.spec.data.target == -1'
asks '{"2": 0, "1": 1, "0": 2}'
refused 'no column named \"3\": .* give the number 3' '.data.target = "3"'
refused 'no column named \"-1\"' '.data.target = "-1"'
refused 'no column 4' '.data.target = 4'
http POST /v1/sweeps "${json[@]}" -d "$(jq -c '{job: (.data.target = "3"), space: {"/optimizer/lr": {values: [0.1, 0.2]}}, metric: "train.loss"}' <<<"$spec")"
expect 422
check "of a sweep too" '.errors[0].pointer == "/job/data/target"'
http POST /v1/sweeps "${json[@]}" -d "$(jq -c '{job: (.data.target = 3), space: {"/optimizer/lr": {values: [0.1, 0.2]}}, metric: "train.loss"}' <<<"$spec")"
expect 201
check "and its index stays one" '.spec.job.data.target == 3'
EPOCHD_SERVER=$url "$ctl" train "$scratch/digits.csv" --header true --target 1 --dataset named --detach >/dev/null || fail "epochctl train --target 1"
http GET '/v1/jobs?limit=1'
check "epochctl's --target is a name" '.data[0].spec.data.target == "1"'
EPOCHD_SERVER=$url "$ctl" train "$scratch/digits.csv" --header true --set /data/target=1 --dataset named --detach >/dev/null ||
  fail "epochctl train --set /data/target=1"
http GET '/v1/jobs?limit=1'
check "and --set takes an index" '.data[0].spec.data.target == 1'

# a table without names: a column is called by its index
tail -n +2 "$scratch/digits.csv" >"$scratch/plain.csv"
http PUT '/v1/datasets/digits?header=false' -T "$scratch/plain.csv"
trained 3 '.data.target = "3"'
with_name=$(jq .metrics.train.loss "$body")
trained 3 '.data.target = 3'
[[ $(jq .metrics.train.loss "$body") == "$with_name" ]] || fail "\"3\" and 3 are two columns of a table without names"
trained 2 '.data.target = "3" | .data.exclude = ["0"]'
asks '{"1": 1, "2": 2}'
refused 'no column 4' '.data.target = 4'

# names with a * or ?
printf '%s\n' 'open?,opens,openX,*,close' >"$scratch/globs.csv"
awk 'BEGIN {for (i = 0; i < 40; i++) print i "," i % 7 "," i * i % 11 "," i % 3 "," i % 5}' >>"$scratch/globs.csv"
http PUT '/v1/datasets/digits?header=true' -T "$scratch/globs.csv"
trained 3 '.data += {target: "close", exclude: ["open?"]}'
asks '{"opens": 1, "openX": 2, "*": 3}'
trained 3 '.data += {target: "close", exclude: ["*"]}'
asks '{"open?": 0, "opens": 1, "openX": 2}'
trained 1 '.data += {target: "close", features: ["open?"]}'
asks '{"open?": 0}'
trained 1 '.data += {target: "close", exclude: ["open*"]}'
asks '{"*": 0}'
trained 3 '.data += {target: "close", columns: {"open?": {type: "ignore"}}}'
asks '{"opens": 1, "openX": 2, "*": 3}'
trained 4 '.data += {target: "open?"}'
asks '{"opens": 1, "openX": 2, "*": 3, "close": 4}'
