#!/usr/bin/env bash
# Partitions of a Slurm as devices: what epochd refuses to start with, what it shows of them, and which jobs
# they take.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

# refused WORDS FLAGS…: epochd ends at once, with status 2 and these words.
refused() {
  local words=$1 said status=0
  shift
  said=$(timeout 60 env PATH="${path_of_daemon:-$PATH}" "$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" --log-format text \
    "$@" 2>&1) || status=$?
  ((status == 2)) || fail "ended with $status: $said"
  grep -qF -- "$words" <<<"$said" || fail "not \"$words\": $said"
}
workers=(--shared-dir "$shared" --slurm-listen 127.0.0.1:0)
refused 'needs --shared-dir DIR and --slurm-listen' --devices cpu,slurm:gpu
refused "require a device slurm:PARTITION in --devices" "${workers[@]}" --devices cpu
refused 'unknown Slurm partition "nowhere": the partitions are cpu, gpu, urgent' --devices cpu,slurm:nowhere "${workers[@]}"
refused 'cannot be written' --devices cpu,slurm:gpu --shared-dir "$scratch/absent" --slurm-listen 127.0.0.1:0
path_of_daemon=$scratch refused 'sbatch not found on the PATH' --devices cpu,slurm:gpu "${workers[@]}"

device=cpu,slurm:gpu,slurm:cpu
daemon_start "${workers[@]}" --slurm-account lab
http GET /v1/devices
expect 200
jq -e '.data | map(.id) == ["cpu", "slurm:gpu", "slurm:cpu"]' "$body" >/dev/null || fail "devices: $(cat "$body")"
jq -e '.data[0].partition == null and (.data[1].partition |
  .up and .nodes == 1 and .gpus == 2 and .gpus_idle == 2 and .max_minutes == 5 and .node_memory_bytes == 4000 * 1048576)' \
  "$body" >/dev/null || fail "a partition: $(cat "$body")"

validate() { http POST '/v1/jobs?validate=only' "${json[@]}" -d "$(xor_job 10 "$1")"; }

validate '{"device": "slurm:gpu"}'
expect 200
jq -e '.slurm | .partition == "gpu" and .gpus == 1 and .cores == 1 and .account == "lab" and .minutes == 5 and
  .memory_bytes > 1073741824 and .qos == null' "$body" >/dev/null || fail "a request: $(cat "$body")"
validate '{"device": "slurm:cpu", "slurm": {"time": "0:07:00", "qos": "long", "constraint": "avx512"}}'
expect 200
jq -e '.slurm | .partition == "cpu" and .gpus == 0 and .minutes == 7 and .qos == "long" and .constraint == "avx512"' \
  "$body" >/dev/null || fail "a request: $(cat "$body")"
validate '{"device": "cpu"}'
expect 200
jq -e '.slurm == null' "$body" >/dev/null || fail "a request for no partition: $(cat "$body")"

# invalid POINTER WORDS: the last answer refuses that field.
invalid() {
  expect 422
  jq -e --arg pointer "$1" --arg words "$2" '.errors[0] | .pointer == $pointer and (.detail | contains($words))' \
    "$body" >/dev/null || fail "not \"$2\" at $1: $(cat "$body")"
}
validate '{"device": "slurm:urgent"}' # Slurm has it, epochd was not given it
invalid /device 'slurm:gpu'
validate '{"device": "slurm:gpu", "slurm": {"time": "6"}}'
invalid /slurm/time 'partition "gpu" allows: 0:05:00'
validate '{"device": "slurm:gpu", "slurm": {"gres": "gpu:3"}}'
invalid /slurm/gres 'has at most 2'
validate '{"device": "slurm:cpu", "slurm": {"gres": "gpu:fake:2"}}'
expect 200
validate '{"device": "slurm:gpu", "slurm": {"time": "soon"}}'
invalid /slurm/time 'a Slurm time'
validate '{"device": "slurm:gpu", "slurm": {"account": "a b"}}'
invalid /slurm/account 'a Slurm name'
validate '{"device": "cpu", "slurm": {"qos": "long"}}'
invalid /slurm 'remove it'
http POST '/v1/jobs?validate=only' "${json[@]}" -d "$(jq -nc '{device: "slurm:cpu", epochs: 1, loss: "mse",
  data: {generator: "xor"}, model: {layers: [{type: "linear", out_features: 30000},
  {type: "linear", out_features: 30000}, {type: "linear", out_features: 1}]}}')"
invalid /model 'allows 4000 MiB per node'

http GET /metrics
expect 200
for sample in 'epochd_slurm_nodes{device="slurm:cpu",state="all"} 2' 'epochd_slurm_nodes{device="slurm:gpu",state="idle"} 1' \
  'epochd_slurm_nodes{device="slurm:gpu",state="unavailable"} 0' 'epochd_slurm_gpus{device="slurm:gpu",state="idle"} 2'; do
  grep -qxF "$sample" "$body" || fail "no $sample: $(grep slurm "$body")"
done
if [[ -x $build/bin/epochctl ]]; then
  EPOCHD=$url "$build/bin/epochctl" devices >"$scratch/devices"
  grep -q 'slurm:gpu .*1 node, 1 idle; 2 of 2 GPUs idle; at most 5 min' "$scratch/devices" || fail "$(cat "$scratch/devices")"
fi

# Slurm's reason stands in the job while its worker waits, and the worker asks for what the job needs.
waits() { http GET "/v1/jobs/$id" && jq -e '.queue_position == 1 and (.queue_reason // "" | test("Resources|Priority"))' "$body" >/dev/null; }
job_of_slurm() { scontrol --oneliner show job 2>/dev/null | grep -q 'JobName=epoch'; }
blocker=$(sbatch --parsable --partition gpu --gpus 2 --output /dev/null --wrap 'sleep 1000')
gpus_taken() { [[ $(squeue -h -j "$blocker" -o %T) == RUNNING ]]; }
until_so "the GPUs are taken" gpus_taken
submit "$(xor_job 10 '{"device": "slurm:gpu", "slurm": {"time": "0:04:00"}}')"
until_so "the job has Slurm's reason" waits
until_so "Slurm has a worker" job_of_slurm
worker=$(scontrol --oneliner show job | grep 'JobName=epoch' | head -n 1)
for words in TimeLimit=00:04:00 Account=lab Partition=gpu gres:gpu:1; do
  [[ $worker == *"$words"* ]] || fail "no $words: $worker"
done
[[ $worker =~ MinMemoryNode=10[0-9][0-9]M ]] || fail "its memory: $worker"
http POST "/v1/jobs/$id/cancel"
expect 200
scancel "$blocker"
echo "partitions are devices"
