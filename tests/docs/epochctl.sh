#!/usr/bin/env bash
# Runs the commands of docs/epochctl.md as they stand. epochctl prints the page, so the jobs and files that it
# names are prepared here.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
page=$here/../../docs/epochctl.md
[[ -x $build/bin/epochctl ]] || skip "there is no $build/bin/epochctl"
daemon_start --checkpoint-after 0
export EPOCHD=$url
PATH=$(realpath "$build/bin"):$PATH
work=$scratch/work
mkdir "$work"
cd "$work" || fail "there is no $work"

epochctl example xor >xor.json
cp xor.json job.json
printf 'age,sex\n30,male\n' >new.csv
printf 'area,price\n1,10\n2,20\n3,30\n4,40\n' >houses.csv
awk -v OFS=, 'BEGIN {print "sex,age,survived"; for (i = 0; i < 60; i++) print i % 3 ? "male" : "female", i * 7 % 60, i % 3 ? "no" : "yes"}' >titanic.csv
python3 "$here/images.py" made 28 100 20
mkdir mnist
mv made/*-ubyte.gz mnist
python3 "$here/pictures.py" . 12 30 9
awk -v OFS=, 'BEGIN {print "hour,power"; for (i = 0; i < 400; i++) print i, i % 24}' >power.csv
trained() { # [NAME]: submits the example anew, and waits
  submit "$(jq -c --arg name "${1:-xor}" '. + {name: $name, tags: ["trial"], checkpoint: {every_seconds: 0}, timelapse_every: 500}' xor.json)"
  finish "$id"
}
paused() { [[ $(curl -sSf "$url/v1/jobs/$1" | jq -r .status) == paused ]]; }
both() { trained houses && trained flats; }
both

epochctl data put power power.csv >/dev/null
submit '{"data": {"dataset": "power", "target": "power", "time": "hour", "features": ["power"], "window": {"length": 168}, "test": 0},
  "loss": "mse", "epochs": 2, "batch_size": 32, "optimizer": {"type": "adam"}, "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
finish "$id"

count=0
while IFS= read -r -d $'\036' block; do
  [[ -n ${block//[$'\n ']/} ]] || continue
  if [[ $block == *"pause last"* || $block == *"cancel last"* ]]; then submit "$(xor_job "$endless")"; fi
  if [[ $block == *" resume "* ]]; then until_so "the job is paused" paused "$id"; fi
  bash -euo pipefail -c "$block" </dev/null >printed 2>said ||
    fail "status $? of: $block: $(tail -n 3 printed said)"
  # the jobs that the page compares may be gone by now, and what was cancelled too early has no weights
  if [[ $block == *'rm $('* ]]; then both; fi
  if [[ $block == *" resume "* ]]; then epochctl cancel "$id" >/dev/null && ended "$id"; fi
  if [[ $block == *"cancel last"* ]]; then ended "$id" && trained; fi
  count=$((count + 1))
done < <(awk '/^```/ {code = $0 == "```sh"; if (!code) printf "\036"; next} code' "$page")
((count >= 12)) || fail "the page has only $count blocks"
echo "ok: $count blocks"
daemon_stop
