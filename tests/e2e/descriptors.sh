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

# With too few of them no worker starts: epochd says so, and accepts nothing.
for files in 28 64 127; do
  (ulimit -n "$files" && timeout "$patience" "$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$scratch/few" 2>"$scratch/few.log") &&
    fail "epochd starts with $files descriptors"
  grep -q "$files file descriptors are allowed, and epochd needs at least 128" "$scratch/few.log" || fail "with $files descriptors: $(tail -1 "$scratch/few.log")"
done
ulimit -n 128
daemon_start
submit "$(xor_job 10)"
finish "$id"
echo "ok: with 128 descriptors it trains, with fewer it does not start"
daemon_stop
