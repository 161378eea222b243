#!/usr/bin/env bash
# run.sh TEST [ARGUMENT]: TEST.mjs in Chromium, against a daemon of its own. Screenshots go to
# BUILD/screenshots/TEST.
# Skipped where there is no browser, no node, or no dashboard.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
test=$1
skip_if_sanitized
source "$here/../browser/browser.sh"

flags=()
if [[ $test == token ]]; then
  export EPOCHD_TEST_TOKEN=correct-horse-battery-staple
  printf '%s\n' "$EPOCHD_TEST_TOKEN" >"$scratch/token"
  chmod 600 "$scratch/token"
  flags=(--token-file "$scratch/token")
fi
[[ $test != prefix ]] || flags=(--base-path /tools/epochd)
if [[ $test == data ]]; then
  (umask 077 && echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$scratch/secret")
  flags=(--webhook-secret-file "$scratch/secret")
  export EPOCHD_TEST_PICTURES=$scratch/kinds
  python3 "$here/picture_kinds.py" "$EPOCHD_TEST_PICTURES"
fi
if [[ $test == study && $device == cpu ]]; then
  device=cpu,cuda:0 # the CPU once more: what is compared needs a second device
  flags=(--plugin "$build/tests/e2e/libsecond_device.so")
fi
daemon_start --cpu-jobs 1 --checkpoint-after 0 ${flags[@]+"${flags[@]}"} # the queue is looked at, too
[[ $(curl -sSf "$url/" -H 'Accept: text/html') == *assets/main.js* ]] || skip "this build has no dashboard"
(cd "$modules" && HOME=$scratch node "$test.mjs" "$url" "$build/screenshots/$test" "${@:2}")
