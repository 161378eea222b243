#!/usr/bin/env bash
# tests/nightly: a campaign has a line, is not run again, and what is not there or finds a fault fails the whole.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
[[ $device == cpu ]] || skip "its jobs are the CPU's"
nightly() { python3 "$here/../nightly" --build "$build" --fuzz-build "$scratch" --logs "$scratch/logs" --scale 0 "$@" >"$scratch/out"; }

nightly --only torture || fail "torture: $(<"$scratch/out")"
grep -q '^torture: 100 random tables done, 0 faults, ' "$scratch/out" || fail "its line is $(<"$scratch/out")"
first=$(<"$scratch/out")
nightly --only torture && [[ $(<"$scratch/out") == "$first" && $(wc -l <"$scratch/logs/torture.jsonl") == 1 ]] || fail "it ran again: $(<"$scratch/out")"
echo "ok: what is done is not done again"
nightly --only torture --seed 2 && fail "another seed goes on in the same folder"
nightly --only torture fuzz && fail "fuzzers that are not built are no fault"
grep -q '^fuzz: 0 executions done, [1-9][0-9]* faults' "$scratch/out" && grep -q '^1 of 2 campaigns without a fault; not fuzz' "$scratch/out" ||
  fail "the lines are $(<"$scratch/out")"
echo "ok: a fault of one fails all"
