# browser.sh: a browser and the modules that drive it. After daemon.sh. Leaves Chromium in $EPOCHD_CHROMIUM, and the
# scripts of this folder beside their modules in $modules. Skips where there is no browser or no node.
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
for script in "$tests/"*.mjs; do # another test may be reading: each is there whole, or not at all
  cmp -s "$script" "$modules/${script##*/}" && continue
  cp "$script" "$modules/.new.mjs"
  mv "$modules/.new.mjs" "$modules/${script##*/}"
done
flock -u 9
exec 9>&-
