#!/usr/bin/env bash
# Mixed load on one daemon: a sample of EPOCHD_FAULT_SECONDS of what "soak BUILD" does for an hour.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
[[ $device == cpu ]] || skip "its jobs are the CPU's"
EPOCHD_FAULT_SECONDS=${EPOCHD_FAULT_SECONDS:-8} python3 "$here/../fault/soak" "$build" || fail "see above"
