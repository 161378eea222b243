#!/usr/bin/env bash
# A job's plots: their numbers beside the textbook's, or scikit-learn's where it is installed; pictures; refusals.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start --checkpoint-after 0
# scikit-learn of Debian is for the system's own interpreter
python=python3
/usr/bin/python3 -c "import sklearn" 2>/dev/null && python=/usr/bin/python3
"$python" "$here/plots.py" "$url" || fail "a plot is not what it should be"
