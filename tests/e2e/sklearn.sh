#!/usr/bin/env bash
# The estimators of clients/python/epochd as scikit-learn's own checks see them, and in its pipelines and searches.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
sklearn=
for python in python3 /usr/bin/python3; do # the first python3 is not always the one that apt's packages belong to
  if "$python" -c 'import sklearn' 2>/dev/null; then sklearn=$python && break; fi
done
[[ -n $sklearn ]] || skip "there is no python3-sklearn"
daemon_start
EPOCHD=$url PYTHONPATH=$here/../../clients/python PYTHONDONTWRITEBYTECODE=1 "$sklearn" "$here/sklearn_checks.py" ||
  fail "the estimators are not scikit-learn's"
daemon_stop
