#!/usr/bin/env bash
# clients/python/epochd against a daemon: with NumPy, without it, through a proxy that cuts, and on a terminal.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
(umask 077 && printf 'a-token-of-this-test\n' >"$scratch/tokens")
daemon_start --checkpoint-after 0 --token-file "$scratch/tokens"

export EPOCHD=$url EPOCHD_TOKEN=a-token-of-this-test EPOCHD_TEST_DEVICE=$device
export PYTHONPATH=$here/../../clients/python PYTHONDONTWRITEBYTECODE=1
client() { "$1" -W error "$here/python_client.py" "$2" "$scratch"; }

client python3 lists || fail "the client fails without NumPy"
numpy=
for python in python3 /usr/bin/python3; do # the first python3 is not always the one that apt's NumPy belongs to
  if "$python" -c 'import numpy' 2>/dev/null; then numpy=$python && break; fi
done
if [[ -n $numpy ]]; then
  client "$numpy" numpy || fail "the client fails with NumPy"
else
  echo "no NumPy here: only lists were tested"
fi
client python3 checkpoints || fail "checkpoints, pause and resume fail"
client python3 cut || fail "the client does not survive a connection that is cut"
client python3 progress || fail "progress is not drawn"
client python3 notebook || fail "a notebook is not served"
daemon_stop
