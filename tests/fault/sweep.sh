#!/usr/bin/env bash
# Each call of a job's life fails in turn: a sample of them. Arguments are those of sweep.py.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
skip_if_sanitized # by LD_PRELOAD
EPOCHD_BUILD=$build python3 "$(dirname "${BASH_SOURCE[0]}")/sweep.py" --seed "$(date -u +%Y%m%d)" "$@" || fail "see above"
