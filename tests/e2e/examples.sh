#!/usr/bin/env bash
# The examples of clients/curl, run as they stand.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/images.py" "$scratch/mnist" 28 400 80 # what mnist.sh asks for, only smaller
count=0
for example in "$here"/../../clients/curl/*.sh; do
  echo "== $(basename "$example")"
  (cd "$scratch" && EPOCHD=$url bash "$example") || fail "$(basename "$example") ended with status $?"
  count=$((count + 1))
done
((count >= 4)) || fail "there are only $count examples"
daemon_stop
