#!/usr/bin/env bash
# Workers that Slurm starts, with commands that only pretend to be Slurm's (tests/slurm/fake): the same
# weights as on this machine, a sweep, cancel, `auto`, and what Slurm refuses.
source "$(dirname "${BASH_SOURCE[0]}")/slurm_daemon.sh"
slurm_start --slurm-look-seconds 2

# the same job here and there
job=$(xor_job 400 '{"seed": 7, "device": "cpu"}')
submit "$job"
finish "$id"
here_values=$(values_of "$id")
here_metrics=$(http GET "/v1/jobs/$id" && jq -c .metrics "$body")
submit "$(jq -c '.device = "slurm:gpu"' <<<"$job")"
finish "$id"
check "the job ran on the partition" '.device == "slurm:gpu" and .attempt == 1'
[[ $(jq -c .metrics "$body") == "$here_metrics" ]] || fail "other metrics than on this machine"
[[ $(values_of "$id") == "$here_values" ]] || fail "other weights than on this machine"
echo "ok: the same weights as on this machine, to the bit"
events_read "$id"
sequence "$body" 1
check "its events are whole" '[.[].type] | .[0:2] == ["queued", "started"] and .[2:-1] == [range(400) | "epoch"] and .[-1] == "end"' -s

# the weights of each moment come over: the same film
films=()
for where in cpu slurm:gpu; do
  submit "$(xor_job 400 "{\"timelapse_every\": 50, \"device\": \"$where\"}")"
  finish "$id"
  http GET "/v1/jobs/$id/plots/timelapse?size=20"
  expect 200
  films+=("$(jq -Sc '.frames' "$body")")
done
jq -e '[.[].epoch] == [range(0; 401; 50)] and ([.[].pixels] | unique | length == 9)' <<<"${films[1]}" >/dev/null || fail "the film is ${films[1]}"
[[ ${films[0]} == "${films[1]}" ]] || fail "another film than on this machine"
echo "ok: the film of a job that trained there"

# data of a file, sent to the node; and folds of it
awk 'BEGIN {print "a,b,y"; for (i = 0; i < 200; i++) print i % 17 "," i % 5 "," i % 3}' >"$scratch/rows.csv"
http PUT /v1/datasets/rows -T "$scratch/rows.csv"
expect 201
job='{"data": {"dataset": "rows", "validation": 0.25, "test": 0.2}, "loss": "mse", "epochs": 20, "batch_size": 20,
      "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]}}'

submit "$(jq -c '.device = "cpu"' <<<"$job")"
finish "$id"
here_values=$(values_of "$id")
submit "$(jq -c '.device = "slurm:gpu"' <<<"$job")"
finish "$id"
[[ $(values_of "$id") == "$here_values" ]] || fail "other weights of a dataset than on this machine"
http GET "/v1/jobs/$id/predictions"
expect 200
content=$(basename "$(echo "$shared"/datasets/*)")
[[ -d $data_dir/datasets/$content ]] || fail "the shared folder has $content, which is no content"
cmp "$shared/datasets/$content/meta.json" "$data_dir/datasets/$content/meta.json" || fail "another dataset is shared"
[[ -z $(find "$shared/datasets" "$shared/programs" -type f -perm /222) ]] || fail "what is shared can be written"
grep -q "$shared/programs/" "$fake_slurm"/*.sh || fail "workers do not run the program of the shared folder"
echo "ok: a dataset is there too, from the shared folder"

# a sweep: each trial as on this machine
sweep='{"search": "random", "max_trials": 20, "space": {"/optimizer/lr": {"log_uniform": [0.001, 1]}},
        "job": {"data": {"generator": "disc", "rows": 200, "validation": 0.25}, "loss": "cross_entropy", "epochs": 10,
                "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"}, {"type": "linear", "out_features": 2}]},
                "batch_size": 50}}'
for where in cpu slurm:gpu; do
  sweep_submit "$(jq -c --arg where "$where" '.job.device = $where' <<<"$sweep")"
  sweep_finish
  http GET "/v1/sweeps/$id/trials?sort=trial&limit=100"
  expect 200
  jq -c '[.data[] | [.trial, .metric, .values]]' "$body" >"$scratch/trials.${where%:*}"
  jq -e '(.data | length) == 20' "$body" >/dev/null || fail "a sweep of 20 trials has $(jq -c '.data | length' "$body")"
done
cmp "$scratch/trials.cpu" "$scratch/trials.slurm" || fail "a sweep's trials differ"
echo "ok: 20 trials as on this machine"

# an idle worker takes the next job
submissions=$(wc -l <"$fake_slurm/sbatch.log")
submit "$(xor_job 10 '{"device": "slurm:gpu"}')"
finish "$id"
[[ $(wc -l <"$fake_slurm/sbatch.log") == "$submissions" ]] || fail "an idle worker was there: $(cat "$fake_slurm/sbatch.log")"
echo "ok: an idle worker takes the next job"
[[ -z $(find "$shared/workers" -type f -perm /077) ]] || fail "others may read a connection file"

# what Slurm shows while epochd runs; a node that drains is left
node_leaves() {
  http GET "/v1/jobs/$id"
  expect 200
  jq -e '.attempt == 2' "$body" >/dev/null
}
idle_nodes() {
  http GET /v1/devices
  expect 200
  jq -e --argjson count "$1" '.data[] | select(.id == "slurm:gpu") | .partition.nodes_unavailable == $count' "$body" >/dev/null
}
moments=200000 # epochs between two moments; there are few enough of these for the time that the job has
submit "$(xor_job $((moments * 239)) "{\"device\": \"slurm:gpu\", \"report_every\": $moments, \"timelapse_every\": $moments}")"
until_so "the job runs" has_trained
node=$(cat "$fake_slurm"/[0-9]*_*[0-9] | jq -r 'select(.state == "RUNNING") | .node' | head -1)
echo "$node" >"$fake_slurm/drain"
until_so "the job goes on elsewhere" node_leaves
idle_nodes 1 || fail "the drained node is not shown: $(jq -c .data "$body")"
http GET "/v1/jobs/$id"
seen=$(jq .progress.epoch "$body")
goes_further() {
  http GET "/v1/jobs/$id"
  # one that has ended there, on a machine that is busy with other things, has trained there too
  jq -e --argjson seen "$seen" '.progress.epoch > $seen or .status == "succeeded"' "$body" >/dev/null
}
until_so "the job trains elsewhere" goes_further
rm "$fake_slurm/drain"
until_so "the node is there again" idle_nodes 0
http POST "/v1/jobs/$id/cancel"
ended "$id"
http GET "/v1/jobs/$id/plots/timelapse?size=2"
expect 200
# the last frame is that of the end
jq -e --argjson every $moments '[.frames[].epoch][:-1] | length > 2 and . == [range(length) | . * $every]' "$body" >/dev/null ||
  fail "moments of two nodes: $(jq -c '[.frames[].epoch]' "$body")"
echo "ok: a worker on a node that drains leaves; the film has no gap"

# `auto` goes where it starts first
busy=()
for _ in 1 2; do
  submit "$(xor_job "$endless" '{"device": "cpu", "report_every": 100000}')"
  busy+=("$id")
done
until_so "this machine is busy" has_trained
submit "$(xor_job 400 '{"device": "auto"}')"
finish "$id"
check "a job goes to Slurm, which does not let it wait" '.device == "slurm:gpu" or .device == "slurm:cpu"'
for id in "${busy[@]}"; do
  http POST "/v1/jobs/$id/cancel"
  ended "$id"
done
submit "$(xor_job 400 '{"device": "auto"}')"
finish "$id"
check "a job stays here, where nothing waits" '.device == "cpu"'

# Slurm refuses
echo "Batch job submission failed: Invalid account" >"$fake_slurm/refuse"
submit "$(xor_job 10 '{"device": "slurm:cpu"}')"
until_so "the log has Slurm's words" grep -q "Invalid account" "$log"
rm "$fake_slurm/refuse"
finish "$id"
echo "ok: a submission that Slurm refused is made again"
daemon_stop
