#!/usr/bin/env bash
# Those who mean no good: smuggled requests, other sites' pages, slow senders, paths that climb.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/hostile.py" "$url" "$data_dir" || fail "see above"
daemon_stop
