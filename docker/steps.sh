# steps.sh: how the set-up scripts say what they are doing. Sourced, never run.
#
# LOG, set before the first step, names the file that takes what the commands say.

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[[ -t 1 ]] || say() { printf '\n%s\n' "$*"; }

# Ends the script with a reason.
fail() {
  printf '\n%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# step WHAT COMMAND…: runs the command quietly; when it fails, shows the end of what it said.
step() {
  local what=$1 started=$SECONDS status=0
  shift
  printf '  %-42s' "$what"
  printf '\n== %s\n' "$*" >>"$LOG"
  "$@" >>"$LOG" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    printf 'failed\n\nThe end of %s:\n' "$LOG"
    tail -n 30 "$LOG" | sed 's/^/  | /'
    fail "this did not work: $what (exit status $status)"
  fi
  printf 'done, %d s\n' $((SECONDS - started))
}
