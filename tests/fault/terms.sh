#!/usr/bin/env bash
# SIGTERM, EPOCHD_FAULT_ROUNDS times, to daemons with random mixes of work: each running job has a checkpoint, goes on
# from there after a restart, and ends as one that nothing disturbed.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
[[ $device == cpu ]] || skip "its jobs are the CPU's"
python3 "$here/../fault/terms.py" "$build" --count "${EPOCHD_FAULT_ROUNDS:-3}" || fail "see above"
