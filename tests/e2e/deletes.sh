#!/usr/bin/env bash
# Jobs are deleted while others read and delete them (deletes.py).
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/deletes.py" "$url" "$data_dir" || fail "a deletion was seen half done"
