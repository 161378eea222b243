# handover.sh: an epochd that is away for longer than its workers wait; sourced behind a daemon.sh with slurm_start.
#
#   epochd_away FLAGS…  ends the daemon with SIGKILL while the job or the sweep $id trains, and starts it with these flags
#                       once what it had was left in the shared folder
#   handed_over         the job $id, which has ended, went on from there

# Of whole lines: a kill may have cut the last one.
logged() {
  local events=$data_dir/jobs/$id/events.ndjson
  head -n "$(wc -l <"$events")" "$events" | jq -s '[.[] | select(.type == "epoch") | .epoch] | max // 0'
}
left() { find "$shared/handovers" -mindepth 2 "$@" 2>/dev/null; }
is_left() { left -path "*$id-1/handover.bin" | grep -q .; }

epochd_away() {
  local kind
  kill -9 "$daemon"
  wait "$daemon" 2>/dev/null || true
  until_so "the relay gives up, and leaves its job" is_left
  before=$(logged)
  kind=checkpoint-
  [[ $id != swp_* ]] || kind=trials.bin
  [[ -z $(left -perm /077) && $(stat -c %a "$shared/handovers/$id-1") == 700 ]] || fail "others may read what is left"
  [[ -n $(left -name "$kind*") ]] || fail "no $kind is left: $(left)"
  slurm_start "$@"
}

handed_over() {
  local went_on
  http GET "/v1/jobs/$id/events?follow=0"
  went_on=$(jq -s '[.[] | select(.type == "restarted") | .epoch] | .[0]' "$body")
  ((went_on > before)) || fail "the job went on from epoch $went_on: epochd had $before, and no checkpoint"
  [[ -z $(left) ]] || fail "what was taken up is still there: $(left)"
  [[ ! -e $data_dir/jobs/$id/handover.bin ]] || fail "the reports of the first attempt are still there"
  echo "ok: it went on from epoch $went_on; epochd had heard of $before"
}
