#!/usr/bin/env bash
# Watchers of different jobs take a file descriptor each, and one for the log of the job: there are as many as leave
# room for requests, for submissions and for probes.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized
if ((EUID == 0)) || (($(ulimit -Hn) >= 2100)); then ulimit -n 2100; else skip "fewer than 2,100 descriptors"; fi
daemon_start --cpu-jobs 1
(ulimit -Sn "$(ulimit -Hn)" && python3 "$here/descriptors.py" "$url") || fail "see above"
! grep -q 'Too many open files' "$log" || fail "descriptors ran out"
daemon_stop
