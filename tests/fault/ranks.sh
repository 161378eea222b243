#!/usr/bin/env bash
# kill -9 of a rank, of their worker, of the daemon, or of both, EPOCHD_FAULT_ROUNDS times, while jobs train on several
# ranks: each goes on from its last checkpoint, and ends with the bits of one that nothing disturbed. Then the same on four
# GPUs, each of which is the CPU once more (second_device.c).
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
[[ $device == cpu ]] || skip "its ranks are the CPU's"
python3 "$here/../fault/ranks.py" "$build" --rounds "${EPOCHD_FAULT_ROUNDS:-4}" || fail "see above"
python3 "$here/../fault/ranks.py" "$build" --rounds "${EPOCHD_FAULT_ROUNDS:-3}" --gpus 4 \
  --plugin "$build/tests/e2e/libsecond_device.so" || fail "see above"
