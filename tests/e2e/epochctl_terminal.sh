#!/usr/bin/env bash
# epochctl on a terminal: the progress line that redraws in place, its end, Ctrl-C, narrow terminals.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
ctl=$build/bin/epochctl
[[ -x $ctl ]] || skip "epochctl was not built"
command -v tmux >/dev/null || skip "there is no tmux"
export LC_ALL=C.UTF-8
unset EPOCHD EPOCHD_TOKEN NO_COLOR COLUMNS TMUX
daemon_start
"$ctl" example xor >"$scratch/xor.json"
sessions=0

# terminal COLUMNS COMMAND…: types the command into a fresh terminal of so many columns.
pane() { tmux -S "$scratch/tmux$sessions" -f /dev/null "$@"; }
terminal() {
  local columns=$1
  shift
  pane kill-server 2>/dev/null || true
  sessions=$((sessions + 1))
  pane new-session -d -s t -x "$columns" -y 40 "env PS1='$ ' EPOCHD_SERVER=$url $no_colour bash --norc --noprofile"
  screen '^\$'
  pane send-keys -t t "$*; echo status \$?" Enter
}
no_colour=
# screen PATTERN: waits until a line of the screen is so.
screen() { until_so "\"$1\" is on the screen" shows "$1"; }
shows() { pane capture-pane -p -t t >"$scratch/screen" && grep -qE -- "$1" "$scratch/screen"; }
trap 'pane kill-server 2>/dev/null || true; leave' EXIT

# a job of some seconds: the line moves, and stays one line
epochs_lasting 4
terminal 100 "$ctl run $scratch/xor.json --name moving --set /epochs=$epochs"
screen '^moving ━+─+ +[0-9]+ %  epoch [0-9,]+/[0-9,]+  loss [0-9.e-]+  .*left'
before=$(grep -oE 'epoch [0-9,]+' "$scratch/screen")
grep -E '^moving' "$scratch/screen"
screen '^\$' # the prompt's line is still there
moved() { shows '^moving' && [[ $(grep -oE 'epoch [0-9,]+' "$scratch/screen") != "$before" ]]; }
until_so "the line moves" moved
(($(grep -c '^moving' "$scratch/screen") == 1)) || fail "the line is not drawn over itself: $(grep -v '^$' "$scratch/screen")"
screen '^status 0'
grep -q '^moving ' "$scratch/screen" && fail "the progress line is left behind"
grep -qE '^succeeded  job_[0-9a-z]{26}  moving' "$scratch/screen" || fail "no summary: $(grep -v '^$' "$scratch/screen")"
grep -qE '^  test +loss .* accuracy 1 ' "$scratch/screen" || fail "no metrics in the summary"
grep -v '^$' "$scratch/screen"
pane capture-pane -p -e -t t | grep -q $'\x1b\[32msucceeded' || fail "a success is not green"
echo "ok: one line that redraws in place, and a summary"

# narrow: still one line
terminal 44 "$ctl run $scratch/xor.json --name narrow --set /epochs=$epochs"
screen '^narrow ━*─+ +[0-9]+ %'
grep -E '^narrow' "$scratch/screen"
(($(grep -cE 'narrow|left|loss' "$scratch/screen") <= 2)) || fail "the line wraps: $(grep -v '^$' "$scratch/screen")"
screen '^status 0'
echo "ok: a narrow terminal"

# a sweep: the best trial so far stands in the line
"$ctl" example disc >"$scratch/disc.json"
terminal 120 "$ctl sweep $scratch/disc.json --set /optimizer/lr=log:1e-4..1e-1 --metric train.loss --trials 1000000 --name space"
screen '^space ━*─+ .* [0-9,]+/1,000,000 trainings  best [0-9.e-]+  lr [0-9.e-]+ .*left'
grep -E '^space' "$scratch/screen"
(($(grep -c '^space' "$scratch/screen") == 1)) || fail "the line is not drawn over itself: $(grep -v '^$' "$scratch/screen")"
pane send-keys -t t C-c
screen '^status 130'
grep -qE 'epochctl cancel swp_[0-9a-z]+' "$scratch/screen" || fail "Ctrl-C does not say how to stop the sweep"
"$ctl" --server "$url" cancel "$("$ctl" --server "$url" sweeps ls -q)" >/dev/null
echo "ok: a sweep and its best trial"

# Ctrl-C
terminal 100 "$ctl run $scratch/xor.json --name endless --set /epochs=$endless"
screen '^endless ━*─+ '
pane send-keys -t t C-c
screen '^status 130'
grep -qE 'epochctl: stopped watching; job_[0-9a-z]+ continues' "$scratch/screen" || fail "Ctrl-C says nothing"
id=$("$ctl" --server "$url" ls -q --limit 1)
[[ $("$ctl" --server "$url" show "$id" --json | jq -r .status) == running ]] || fail "Ctrl-C stopped the job"
grep -qF "epochctl cancel $id" "$scratch/screen" || fail "Ctrl-C does not say how to stop the job"
echo "ok: Ctrl-C leaves, and says how to stop"

# a job that ends badly, without colours
no_colour=NO_COLOR=1
terminal 100 "$ctl watch last"
screen '^endless '
"$ctl" --server "$url" cancel last >/dev/null
screen '^status 1$'
pane capture-pane -p -e -t t | grep -q $'\x1b\[33mcancelled' && fail "a colour in spite of NO_COLOR"
terminal 60 "$ctl ls"
screen '^status 0'
[[ $(sed -n '/^job  /,/^status/p' "$scratch/screen" | grep -cv '^job\|^status') == 0 ]] ||
  fail "a table is wider than the terminal: $(grep -v '^$' "$scratch/screen")"
grep -E '^job' "$scratch/screen"
echo "ok: NO_COLOR, and tables that fit"
daemon_stop
