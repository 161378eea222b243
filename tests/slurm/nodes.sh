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
daemon_stop
