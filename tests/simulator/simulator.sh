#!/usr/bin/env bash
# simulator.sh run|replay|plants SIMULATE [FAULT…]: the simulator of the daemon's core.
#
#   run     some seeds: no invariant is violated; tests/nightly tries others
#   replay  a seed run twice does the same, call by call
#   plants  each planted fault is found
set -euo pipefail
kind=$1 simulate=$2
shift 2
fail() {
  echo "simulator.sh: $*" >&2
  exit 1
}

case $kind in
  run)
    for seed in 1 2 3 20261129; do
      "$simulate" --seed "$seed" --events "${EPOCHD_SIMULATED_EVENTS:-50000}" || fail "seed $seed"
    done
    ;;
  replay)
    for seed in 4 5; do
      first=$("$simulate" --seed "$seed" --events 20000)
      second=$("$simulate" --seed "$seed" --events 20000)
      [[ -n $first && $first == "$second" ]] || fail "seed $seed: \"$first\", and then \"$second\""
    done
    [[ $("$simulate" --seed 4 --events 2000) != "$("$simulate" --seed 5 --events 2000)" ]] || fail "two seeds are the same"
    ;;
  plants)
    for fault; do
      found=
      for seed in 1 2 3 4 5 6 7 8; do
        status=0
        found=$("$simulate" --seed "$seed" --events 100000 --plant "$fault") || status=$?
        ((status == 0)) || break
      done
      [[ $status != 0 && $found == *VIOLATION* ]] || fail "the fault $fault is not found: $found"
      echo "$fault, seed $seed: ${found##*VIOLATION: }"
    done
    ;;
  *) fail "run, replay or plants" ;;
esac
