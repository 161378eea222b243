#!/usr/bin/env bash
# Hostile clients: smuggled requests, pages of other sites, slow senders, paths that climb.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/hostile.py" "$url" "$data_dir" || fail "see above"
python3 "$here/heads.py" "$url" || fail "a request had no answer"
daemon_stop
