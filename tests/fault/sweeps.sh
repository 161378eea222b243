#!/usr/bin/env bash
# kill -9 of the daemon, of its worker, or of both, EPOCHD_FAULT_ROUNDS times, while a sweep runs: each trial is in the
# log and on the leaderboard once, and the leaderboard is that of a sweep which nothing disturbed.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
[[ $device == cpu ]] || skip "its sweeps are the CPU's"
python3 "$here/../fault/sweeps.py" "$build" --rounds "${EPOCHD_FAULT_ROUNDS:-6}" || fail "see above"
