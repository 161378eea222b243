#!/usr/bin/env bash
# tests/bench/gpus on four devices that are the CPU once more (second_device.c): the losses of two and four replicas, the
# same ranks on fewer devices to the bit, and one sweep on one, two and four, whose leaderboards are the same to the bit.
# Its times say nothing.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
skip_if_sanitized
[[ $device == cpu ]] || skip "its devices are the CPU, four times"
export EPOCHD_BENCH_PREFIX=$build
plugin=$build/tests/e2e/libsecond_device.so
for PYTHON in python3 /usr/bin/python3; do
  "$PYTHON" -c 'import numpy' 2>/dev/null && break
done
"$PYTHON" -c 'import numpy' 2>/dev/null || skip "there is no NumPy"
export PYTHON

"$here/../bench/gpus" --smoke --count 5 --plugin "$plugin" --json "$scratch/none.json" >"$body" 2>&1 && fail "five were found"
grep -q 'finds 4 GPUs, and 5 are needed' "$body" || fail "too few GPUs are not said: $(<"$body")"
"$here/../bench/gpus" --smoke --count 4 --plugin "$plugin" --rounds 1 --part data --part sweep --json "$scratch/gpus.json" ||
  fail "see above"
jq -e '.rows.sweep.nets | length == 3 and all(.[]; [.rows[].workers] == [1, 2, 4]) and any(.[].rows[]; .helped > 0)' \
  "$scratch/gpus.json" >/dev/null || fail "not every sweep was shared: $(jq -c .rows.sweep.nets "$scratch/gpus.json")"
jq -e '.rows.data.losses | length == 4 and all(.same_bits and .apart < 1e-3 and .canary > 1e-3)' "$scratch/gpus.json" >/dev/null ||
  fail "losses: $(jq -c .rows.data.losses "$scratch/gpus.json")"
