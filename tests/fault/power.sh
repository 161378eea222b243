#!/usr/bin/env bash
# Power failures, EPOCHD_FAULT_ROUNDS of each kind that EPOCHD_FAULT_DISKS names: ext4, xfs and btrfs on a disk that
# drops what was not flushed, and model, the folders that POSIX allows. power/campaign.py says more.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
skip_if_sanitized
for disk in ${EPOCHD_FAULT_DISKS:-model}; do
  python3 "$here/../fault/power/campaign.py" "$build" "$disk" --failures "${EPOCHD_FAULT_ROUNDS:-10}" --disks 10 ||
    { (($? == 77)) && skip "no disk for $disk"; fail "see above"; }
done
