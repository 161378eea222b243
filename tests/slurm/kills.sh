#!/usr/bin/env bash
# kill -9 of a worker, a relay, the gateway, epochd, a slurmd, slurmctld, EPOCHD_FAULT_ROUNDS times, at moments of chance,
# while jobs train on a Slurm that runs.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized
timeout 3000 python3 "$here/../slurm/kills.py" "$build" "$cluster" "$slurm" --rounds "${EPOCHD_FAULT_ROUNDS:-5}" ||
  fail "see above"
