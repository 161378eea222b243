#!/usr/bin/env bash
# One network over the two nodes of a Slurm that runs: the losses and the weights of the same ranks in one process, to
# the bit; a rank, and a node, that is killed; nothing left behind.
#
#   EPOCHD_SLURM_ALL  unless empty, a slurmd is killed too, whose node Slurm gives up only seconds later
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
slurm_start --checkpoint-after 0 --slurm-idle-seconds 600

# Rows that no number of ranks divides; batch_norm's running numbers; dropout; a norm of the gradients over all stages.
spec='{"data": {"generator": "disc", "rows": 403, "validation": 0.2}, "loss": "cross_entropy", "epochs": 12, "batch_size": 50,
       "seed": 5, "optimizer": {"type": "adam", "lr": 0.01}, "clip": {"norm": 1},
       "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "batch_norm"}, {"type": "tanh"},
         {"type": "linear", "out_features": 16}, {"type": "relu"}, {"type": "dropout", "p": 0.1}, {"type": "linear", "out_features": 2}]}}'
epochs_of() { # JOB: what its epochs had, without times
  http GET "/v1/jobs/$1/events?follow=0"
  jq -s -c '[.[] | select(.type == "epoch") | del(.id?, .time?, .seq?, .at?, .seconds?, .rate?) | {epoch, loss: .loss, validation: .validation_loss?, metrics: .metrics?}]' "$body"
}
# same PARALLEL NODES: which node each rank was on.
same() {
  local job weights losses
  job=$(jq -c ".parallel = $1" <<<"$spec")
  submit "$(jq -c '.device = "cpu"' <<<"$job")"
  finish "$id"
  check "here it is one machine" 'all(.ranks[]; .node == 0)'
  weights=$(values_of "$id")
  losses=$(epochs_of "$id")
  submit "$(jq -c '.device = "slurm:cpu" | .slurm = {nodes: 2}' <<<"$job")"
  finish "$id"
  check "$1 over two nodes" '.device == "slurm:cpu" and .executor == "cpu/ranks" and ([.ranks[].node] | tostring) == $nodes and
    all(.ranks[]; .bytes > 0 and .compute_microseconds > 0)' --arg nodes "$2"
  [[ $(values_of "$id") == "$weights" ]] || fail "$1: other weights than the same ranks in one process"
  [[ $(epochs_of "$id") == "$losses" ]] || fail "$1: other losses than the same ranks in one process"
  echo "ok: $1 over two nodes: the bits of one process"
}
same '{data: 2}' '[0,1]'
same '{model: 2}' '[0,1]'
same '{data: 2, model: 2}' '[0,0,1,1]'

# What dies with a node: the job goes on from its checkpoint, on new processes, to the same weights.
long=$(jq -c '.parallel = {data: 2} | .epochs = 15000 | .report_every = 100 | .checkpoint = {every_seconds: 0.2} | .data.rows = 203' <<<"$spec")
submit "$(jq -c '.device = "cpu"' <<<"$long")"
reference=$id
finish "$reference"
undisturbed=$(values_of "$reference")
# process_of WORD: the process of this test's further node that has the word in its command line.
process_of() {
  local process
  for process in $(pgrep -f -- "^[^ ]*(epoch-worker|/exe) .*$1"); do
    tr '\0' '\n' 2>/dev/null <"/proc/$process/environ" | grep -qx "SLURM_CONF=$SLURM_CONF" && echo "$process"
  done
  true
}
begun() {
  submit "$(jq -c '.device = "slurm:cpu" | .slurm = {nodes: 2}' <<<"$long")"
  goes_on 1
}
# goes_on ATTEMPT: it trains, and has a checkpoint that is newer than the last one that was seen.
newest=0
goes_on() {
  attempt=$1
  until_so "attempt $1 has a checkpoint" has_checkpoint
  newest=$(jq '[.data[].step] | max' "$body")
}
has_checkpoint() {
  http GET "/v1/jobs/$id"
  [[ $(jq -r '"\(.status) \(.attempt)"' "$body") == "running $attempt" ]] || return 1
  http GET "/v1/jobs/$id/checkpoints" && jq -e --argjson newest "$newest" 'any(.data[]; .step > $newest)' "$body" >/dev/null
}
as_undisturbed() { # WHAT
  finish "$id"
  [[ $(values_of "$id") == "$undisturbed" ]] || fail "$1: other weights"
  http GET "/v1/jobs/$id"
  jq -e --argjson attempt $((attempt + 1)) '.attempt == $attempt and [.ranks[].node] == [0, 1]' "$body" >/dev/null || fail "$1: $(jq -c '[.attempt, .ranks]' "$body")"
  echo "ok: $1: the weights of an undisturbed one"
}
begun
kill -9 "$(process_of --serve-node)"
goes_on 2
grep -q 'node n2 of the training is lost' "$log" || fail "the log does not say which node was lost"
kill -9 "$(process_of "--join")"
as_undisturbed "the process of a rank is killed, then the relay of its node"
if [[ -n ${EPOCHD_SLURM_ALL:-} ]]; then
  newest=0
  begun
  kill -9 "$(cat "$slurm/n2.pid")"
  kill -9 "$(process_of --serve-node)"
  gave_up() { [[ $(sinfo -h -N -n n2 -p cpu -o %t) == down* ]]; }
  until_so "Slurm gives the node up" gave_up
  "$cluster" daemon "$slurm" n2
  as_undisturbed "a slurmd is killed with its rank"
fi
daemon_stop
none_left() { [[ -z $(process_of --) ]]; }
until_so "no process is left" none_left
! ls "$shared"/workers/*.nodes 2>/dev/null || fail "a secret of nodes is left in the shared folder"
echo "ok: nothing is left behind"
