#!/usr/bin/env bash
# The commands of the guide's section on images, run as they stand there.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
guide=$here/../../docs/guide.md
awk '/^## / {inside = $0 == "## Images"} /^```/ {code = inside && $0 == "```sh"; next} code' "$guide" >"$scratch/guide"
commands=$(grep -c curl "$scratch/guide")
((commands >= 7)) || fail "the guide has only $commands calls of curl on images"
daemon_start
python3 "$here/images.py" "$scratch/mnist" 28 300 60
(cd "$scratch" && EPOCHD=$url bash -euxo pipefail guide >out 2>trace) ||
  fail "the guide's commands end with status $?: $(tail -n 3 "$scratch/trace" "$scratch/out")"
cat "$scratch/out"
(($(grep -c '"status":"succeeded"' "$scratch/out") == 5 && $(grep -cx '"succeeded"' "$scratch/out") == 2)) ||
  fail "not every job succeeded"
head -c 8 "$scratch/digits.npz" | grep -q PK || fail "the NPZ file is none"
(($(stat -c %s "$scratch/digits.onnx") > 1000)) || fail "the ONNX file is empty"
