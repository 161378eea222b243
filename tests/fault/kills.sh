#!/usr/bin/env bash
# kill -9 of the daemon, of its workers, or of both, EPOCHD_FAULT_ROUNDS times, at moments of chance, while clients
# submit, watch, cancel, pause, delete and upload: nothing that they were answered is lost, no event is doubled, and
# every job ends with the weights of one that nothing disturbed.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
[[ $device == cpu ]] || skip "its jobs are the CPU's"
python3 "$here/../fault/kills.py" "$build" --rounds "${EPOCHD_FAULT_ROUNDS:-9}" || fail "see above"
