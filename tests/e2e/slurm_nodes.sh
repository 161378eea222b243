#!/usr/bin/env bash
# One network over two nodes, with commands that only pretend to be Slurm's: the bits of the same ranks in one process,
# a rank that is killed, what is shown, what is refused, and nothing left behind.
source "$(dirname "${BASH_SOURCE[0]}")/slurm_daemon.sh"
slurm_start --checkpoint-after 0

job='{"data": {"generator": "disc", "rows": 203}, "loss": "cross_entropy", "epochs": 2500, "report_every": 50, "checkpoint": {"every_seconds": 0.2}, "batch_size": 50, "seed": 5,
      "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"}, {"type": "linear", "out_features": 2}]},
      "optimizer": {"type": "adam", "lr": 0.01}, "parallel": {"data": 2, "model": 2}}'
submit "$(jq -c '.device = "cpu"' <<<"$job")"
finish "$id"
check "here it is one machine" '[.ranks[].node] == [0, 0, 0, 0]'
metrics=$(jq -c .metrics "$body")
weights=$(values_of "$id")
job=$(jq -c '.device = "slurm:cpu" | .slurm = {nodes: 2}' <<<"$job")
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$job"
expect 200
check "two nodes are asked for, and two cores on each" '.slurm.nodes == 2 and .slurm.cores == 2'
submit "$job"
has_checkpoint() { http GET "/v1/jobs/$id/checkpoints" && jq -e '.data | length > 0' "$body" >/dev/null; }
# Processes of this test's further node: nobody else has this shared folder.
nodes_of() { pgrep -f -- "--join $shared/workers/" | while read -r relay; do pgrep -P "$relay" -f -- --serve-node || true; done; }
has_node() { node=$(nodes_of) && [[ -n $node ]]; }
until_so "the further node is there" has_node
kill -STOP "$node"
# it trains a moment at a time, since its end must not come before the kill
goes_on() { kill -CONT "$node" && sleep 0.05 && kill -STOP "$node" && has_checkpoint; }
until_so "it has a checkpoint" goes_on
kill -9 "$node"
finish "$id"
check "it went on from its checkpoint" '.attempt == 2 and [.ranks[].node] == [0, 0, 1, 1]'
[[ $(jq -c .metrics "$body") == "$metrics" ]] || fail "other metrics than the same ranks in one process"
[[ $(values_of "$id") == "$weights" ]] || fail "other weights than the same ranks in one process"
grep -q 'node n[12] of the training is lost' "$log" || fail "the log does not say which node was lost"
EPOCHD=$url "$build/bin/epochctl" show "$id" >"$scratch/shown"
grep -qE '^ *3 +1 +1 +1 ' "$scratch/shown" || fail "no node of rank 3: $(cat "$scratch/shown")"
grep -q -- '--nodes=2 --ntasks=2 --ntasks-per-node=1' "$fake_slurm/sbatch.log" || fail "sbatch: $(cat "$fake_slurm/sbatch.log")"

refused() { # JQ POINTER WORDS
  http POST '/v1/jobs?validate=only' "${json[@]}" -d "$(jq -c "$1" <<<"$job")"
  expect 422
  check "refused: $1" '.errors[0] | .pointer == $at and (.detail | contains($words))' --arg at "$2" --arg words "$3"
}
refused '.slurm.nodes = 3' /slurm/nodes '3 nodes are more than partition "cpu" allows: 2'
refused 'del(.parallel)' /slurm/nodes '2 nodes for 1 rank'
refused '.slurm.gres = "gpu:0"' /slurm/nodes 'train on CPUs'
refused '.slurm.nodes = 65' /slurm/nodes '64'
refused '.device = "cpu"' /slurm 'remove it'
daemon_stop
none_left() { [[ -z $(nodes_of) ]]; }
until_so "no process of a node is left" none_left
none_left() { ! ls "$shared"/workers/*.nodes 2>/dev/null; }
until_so "no secret of nodes is left in the shared folder" none_left
