#!/usr/bin/env bash
# The examples of clients/curl, run as they stand: on the seeds' files where these are there, and on small
# ones of the same kind.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
examples=$here/../../clients/curl
daemon_start --checkpoint-after 0
python3 "$here/images.py" "$scratch/mnist" 28 400 80
python3 - "$scratch" <<'PYTHON'
import random, sys
draw = random.Random(5)
with open(sys.argv[1] + "/cars.csv", "w") as cars, open(sys.argv[1] + "/sold.csv", "w") as sold:
    cars.write("weight,power,consumption\n")
    sold.write("weight;power;sold\n")
    for _ in range(200):
        weight, power = draw.uniform(900, 1800), draw.uniform(50, 200)
        cars.write(f"{weight:.0f},{power:.0f},{0.004 * weight + 0.015 * power + draw.gauss(0, 0.1):.2f}\n")
        sold.write(f"{weight:.0f};{power:.0f};{int(power / weight + draw.gauss(0, 0.01) > 0.1)}\n")
PYTHON

ran=()
# example NAME FILTER ARGUMENTS…: runs it, and the jq filter must hold of the JSON lines that it prints.
example() {
  local name=$1 filter=$2
  shift 2
  echo "== $name $*"
  (cd "$scratch" && EPOCHD=$url bash "$examples/$name" "$@") >"$scratch/printed" ||
    fail "$name ended with status $?: $(<"$scratch/printed")"
  cat "$scratch/printed"
  { grep -x '[[{].*\|[0-9]*' "$scratch/printed" || true; } | jq -s -e "$filter" >/dev/null || fail "$name: not so: $filter"
  ran+=("$name")
}
# seed FILE: the path of one of the seeds' files; false if it is not there.
seed() {
  file=${EPOCHD_TEST_DATA:-}/$1
  [[ -r $file ]] || { echo "== left out: there is no $1 below EPOCHD_TEST_DATA" && false; }
}

example xor.sh '.[-1].type == "end" and .[-1].metrics.test.accuracy == 1'
example linear.sh '.[0].test.r2 > 0.97 and .[2].test.r2 > 0.97 and .[2].status == "succeeded"' cars.csv
example logistic.sh '.[0].status == "succeeded" and .[0].test.accuracy > 0.8 and (.[1:] | flatten | add) == 40' sold.csv
example disc.sh '(.[:-2] | length) >= 5 and .[-2].test.accuracy > 0.75 and .[-1] == [1, 0]'
example disc.sh '.[-2].parameters == 2982 and .[-2].status == "succeeded"' 6
example mnist.sh '.[-2].status == "succeeded" and .[-2].test.rows == 80 and (.[-1] | .digit >= 0 and .digit <= 9 and .predicted >= 0 and .predicted <= 9)'
example watch.sh '. == []' # it checks its events itself, and prints a table
example pause.sh '.[0].step > .[0].epoch and .[1][0][0] > 0 and .[1][1][0] < 0 and ([.[2:][] | [.type, .epoch]] == [["paused", .[0].epoch], ["resumed", .[0].epoch]])'
example sweep.sh '.[0].metric <= .[1].metric and .[1].metric <= .[2].metric and .[3].status == "succeeded" and .[3].r2 > 0.9' cars.csv
example cancel.sh '.[-1].status == "cancelled"'
if seed iron/linear.json; then
  example linear.sh '(.[0].test.mse - 59.678 | fabs) < 0.01 and (.[2].test.mse | . > 44 and . < 54)' "$file"
fi
if seed iron/logistic.json; then
  example logistic.sh '.[0].test | .accuracy > 0.929 and .roc_auc > 0.87' "$file"
fi

# a missing file is reported, and nothing is sent
for name in linear.sh logistic.sh mnist.sh sweep.sh; do
  if EPOCHD=http://127.0.0.1:9 bash "$examples/$name" "$scratch/none" 2>"$scratch/said"; then fail "$name takes a file that is none"; fi
  grep -q "there is no .*none" "$scratch/said" || fail "$name does not say what is missing: $(<"$scratch/said")"
done
for script in "$examples"/*.sh; do
  [[ " ${ran[*]} " == *" $(basename "$script") "* ]] || fail "$(basename "$script") was not run"
done
daemon_stop
