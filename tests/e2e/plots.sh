#!/usr/bin/env bash
# A job's plots: their numbers beside the textbook's, or scikit-learn's where it is installed; pictures; refusals.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start --checkpoint-after 0
python3 "$here/plots.py" "$url" || fail "a plot is not what it should be"
