#!/usr/bin/env bash
# run.sh TEST [ARGUMENT]: TEST.mjs in Chromium, against a daemon of its own. Screenshots go to
# BUILD/screenshots/TEST.
# Skipped where there is no browser, no node, or no dashboard.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
test=$1
skip_if_sanitized
tests=$here/../browser
for candidate in "${EPOCHD_CHROMIUM:-}" chromium chromium-browser google-chrome; do
  EPOCHD_CHROMIUM=$(command -v "$candidate" 2>/dev/null) && [[ -n $EPOCHD_CHROMIUM ]] && break
done
[[ -n $EPOCHD_CHROMIUM ]] || skip "there is no Chromium (docker/install browser)"
export EPOCHD_CHROMIUM
command -v npm >/dev/null || skip "there is no npm"
command -v node >/dev/null || skip "there is no node"

# playwright-core and axe-core, as the lock file says, once a build folder; tests may run side by side.
modules=$build/tests-browser
mkdir -p "$modules"
exec 9>"$modules/.lock"
flock 9
if ! cmp -s "$tests/package-lock.json" "$modules/installed.json"; then
  cp "$tests/"{package.json,package-lock.json} "$modules"
  if ! (cd "$modules" && npm ci --ignore-scripts --no-audit --no-fund) >"$scratch/npm" 2>&1; then
    tail -n 3 "$scratch/npm"
    skip "playwright-core could not be installed"
  fi
  cp "$tests/package-lock.json" "$modules/installed.json"
fi
cp "$tests/"*.mjs "$modules"
flock -u 9
exec 9>&-

flags=()
if [[ $test == token ]]; then
  export EPOCHD_TEST_TOKEN=correct-horse-battery-staple
  printf '%s\n' "$EPOCHD_TEST_TOKEN" >"$scratch/token"
  chmod 600 "$scratch/token"
  flags=(--token-file "$scratch/token")
fi
daemon_start --cpu-jobs 1 --checkpoint-after 0 ${flags[@]+"${flags[@]}"} # the queue is looked at, too
[[ $(curl -sSf "$url/" -H 'Accept: text/html') == */assets/main.js* ]] || skip "this build has no dashboard"
(cd "$modules" && HOME=$scratch node "$test.mjs" "$url" "$build/screenshots/$test" "${@:2}")
