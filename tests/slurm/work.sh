#!/usr/bin/env bash
# Work on a Slurm that runs, of two nodes: each kind gives what this machine's CPU gives, to the bit.
#
#   EPOCHD_SLURM_ALL  unless empty, a sweep of 200 trials rather than 30, more of MNIST, and a time limit
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
source "$here/../slurm/handover.sh"
all=${EPOCHD_SLURM_ALL:-}
trials=${all:+200}
rows=${all:+6000}
slurm_start --checkpoint-after 0 --slurm-idle-seconds 600

timeless='.executor, .metrics | del(.parts?.each[]?.train_seconds)' # a fold's duration differs
# same WHAT JOB DEVICE: the job trains on that partition as here; $id is the one of the partition.
same() {
  local what=$1 job=$2 where=$3 weights metrics
  submit "$(jq -c '.device = "cpu"' <<<"$job")"
  finish "$id"
  metrics=$(jq -c "$timeless" "$body")
  weights=$(values_of "$id")
  submit "$(jq -c --arg where "$where" '.device = $where' <<<"$job")"
  finish "$id"
  jq -e --arg where "$where" '.device == $where' "$body" >/dev/null || fail "$what ran on $(jq -c .device "$body")"
  [[ $(jq -c "$timeless" "$body") == "$metrics" ]] || fail "$what: other metrics than here: $(jq -c .metrics "$body") $metrics"
  [[ $(values_of "$id") == "$weights" ]] || fail "$what: other weights than here"
  http GET "/v1/jobs/$id"
  echo "ok: $what"
}

same "XOR" "$(xor_job 400 '{"seed": 7}')" slurm:cpu
events_read "$id"
sequence "$body" 1
check "its events are whole" '[.[] | select(.type != "checkpoint") | .type] |
  .[0:2] == ["queued", "started"] and .[2:-1] == [range(400) | "epoch"] and .[-1] == "end"' -s

# Five folds, and a training on all rows.
awk 'BEGIN {print "a,b,kind"; for (i = 0; i < 300; i++) print i % 17 ",0." i * 7 % 10 "," i % 3}' >"$scratch/kinds.csv"
http PUT /v1/datasets/kinds -T "$scratch/kinds.csv"
expect 201
same "5 folds" '{"data": {"dataset": "kinds"}, "folds": 5, "stratify": true, "loss": "cross_entropy", "epochs": 20, "batch_size": 20,
  "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"}, {"type": "linear", "out_features": 3}]}}' slurm:cpu
check "each fold" '.metrics.parts.each | length == 5 and all(.[]; .outcome == "ok")'

# The notebook's network on the first rows of MNIST.
if [[ -r ${EPOCHD_TEST_DATA:-}/mnist/train-images-idx3-ubyte.gz ]]; then
  mkdir "$scratch/mnist"
  python3 - "$EPOCHD_TEST_DATA/mnist" "$scratch/mnist" "${rows:-600}" <<'PYTHON'
import gzip, struct, sys
for name, row in (("images-idx3", 784), ("labels-idx1", 1)):
    for part, count in (("train", int(sys.argv[3])), ("t10k", int(sys.argv[3]) // 6)):
        file = f"/{part}-{name}-ubyte.gz"
        data = gzip.open(sys.argv[1] + file).read()
        head = 16 if row > 1 else 8
        with gzip.open(sys.argv[2] + file, "wb") as out:
            out.write(data[:4] + struct.pack(">I", count) + data[8:head + count * row])
PYTHON
  upload_images mnist "$scratch/mnist"
  same "MNIST's CNN" '{"data": {"dataset": "mnist", "normalize": {"mean": 0.1307, "std": 0.3081}},
    "model": {"layers": [
      {"type": "conv2d", "out_channels": 10, "kernel_size": 5}, {"type": "max_pool2d", "kernel_size": 2}, {"type": "relu"},
      {"type": "conv2d", "out_channels": 20, "kernel_size": 5}, {"type": "dropout2d", "p": 0.5},
      {"type": "max_pool2d", "kernel_size": 2}, {"type": "relu"}, {"type": "flatten"},
      {"type": "linear", "out_features": 50}, {"type": "relu"}, {"type": "dropout", "p": 0.5},
      {"type": "linear", "out_features": 10}, {"type": "log_softmax"}]},
    "loss": "nll", "optimizer": {"type": "sgd", "lr": 0.01, "momentum": 0.5}, "epochs": 2, "batch_size": 50, "seed": 3}' slurm:gpu
else
  echo "not done: MNIST's CNN, as EPOCHD_TEST_DATA has no mnist"
fi

sweep='{"search": "random", "space": {"/optimizer/lr": {"log_uniform": [0.001, 1]}},
        "job": {"data": {"generator": "disc", "rows": 200, "validation": 0.25}, "loss": "cross_entropy", "epochs": 10,
                "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"}, {"type": "linear", "out_features": 2}]},
                "batch_size": 50}}'
for where in cpu slurm:cpu; do
  sweep_submit "$(jq -c --arg where "$where" --argjson trials "${trials:-30}" \
    '.job.device = $where | .max_trials = $trials' <<<"$sweep")"
  sweep_finish
  best=$(jq -r .best.trial "$body")
  http GET "/v1/sweeps/$id/trials?sort=trial&limit=1000"
  expect 200
  jq -e --argjson trials "${trials:-30}" '.data | length == $trials' "$body" >/dev/null || fail "trials: $(jq '.data | length' "$body")"
  jq -c '[.data[] | [.trial, .metric, .values]]' "$body" >"$scratch/trials.${where%:*}"
  http POST "/v1/sweeps/$id/trials/$best/promote"
  expect 201
  id=$(jq -r .id "$body")
  finish "$id"
  values_of "$id" >>"$scratch/trials.${where%:*}"
done
cmp "$scratch/trials.cpu" "$scratch/trials.slurm" || fail "the sweep's trials differ"
echo "ok: a sweep of ${trials:-30} trials, and the weights of the best"

# What Slurm interrupts goes on from its checkpoint, elsewhere or later.
long_job() { # SECONDS EXTRA
  epochs_lasting "$1"
  epochs=$((epochs / 100 * 100))
  jq -c --argjson extra "$2" '. + $extra' <<<"$(xor_job "$epochs" "{\"report_every\": $((epochs / 100))}")"
}
both_begun() { # JOB: it trains here too, as $reference, and has begun on the partition
  submit "$(jq -c '.device = "cpu" | del(.slurm)' <<<"$1")"
  reference=$id
  submit "$1"
  until_so "the job runs" has_trained
}
as_undisturbed() { # WHAT
  finish "$id"
  finish "$reference"
  [[ $(values_of "$reference") == "$(values_of "$id")" ]] || fail "$1: other weights"
  http GET "/v1/jobs/$id/events?follow=0"
  sequence "$body" 1
  jq -s -e '[.[] | select(.type == "epoch") | .epoch] | . == unique and length == 101' "$body" >/dev/null ||
    fail "$1: the epochs are $(jq -s -c '[.[] | select(.type == "epoch") | .epoch]' "$body")"
  jq -s -e '[.[] | select(.type == "end")] | length == 1' "$body" >/dev/null || fail "$1: not one end"
  http GET "/v1/jobs/$id"
  jq -e '.attempt > 1' "$body" >/dev/null || fail "$1: it was not interrupted"
  echo "ok: $1, at attempt $(jq .attempt "$body")"
}

# A job of the other partition that needs all of both nodes: Slurm takes epochd's workers away, and requeues them.
both_begun "$(long_job 2 '{"device": "slurm:cpu"}')"
urgent=$(sbatch --parsable --partition urgent --nodes 2 --exclusive --time 1 --output /dev/null --wrap "sleep 2")
has_nodes() { [[ $(squeue --noheader --jobs "$urgent" --states all --format %T) != PENDING ]]; }
until_so "the urgent job has the nodes" has_nodes
as_undisturbed "preempted by requeue"
check "it went on from where it was" '.attempt == 2'
! grep -q "was killed by signal" "$log" || fail "its worker was killed, and did not leave"

# A cancelled job's worker ends with the job, where it does not listen: scancel. One that waits is taken from the queue.
submit "$(xor_job "$endless" '{"device": "slurm:cpu", "report_every": 100000}')"
until_so "the job runs" has_trained
http POST "/v1/jobs/$id/cancel"
ended "$id"
check "a job is cancelled on its node" '.status == "cancelled"'
blocker=$(sbatch --parsable --partition urgent --nodes 2 --exclusive --time 5 --output /dev/null --wrap "sleep 1000")
none_run() { [[ -z $(slurm_jobs RUNNING,COMPLETING) ]]; }
until_so "no worker runs" none_run
submit "$(xor_job "$endless" '{"device": "slurm:cpu", "report_every": 100000}')"
waits() { [[ -n $(slurm_jobs PENDING) ]]; }
until_so "its worker waits" waits
http POST "/v1/jobs/$id/cancel"
ended "$id"
none_waits() { [[ -z $(slurm_jobs PENDING) ]]; }
until_so "scancel takes the worker out of Slurm's queue" none_waits
scancel "$blocker"
echo "ok: the worker of a cancelled job is out of Slurm's queue"

if [[ -n $all ]]; then
  # Slurm warns a minute before the end of an allocation, and looks each half minute: of one minute, half at most is left.
  both_begun "$(long_job 35 '{"device": "slurm:cpu", "slurm": {"time": "1:00"}}')"
  as_undisturbed "the time limit"
fi
daemon_stop

# epochd is away for longer than its workers wait.
flags=(--checkpoint-after 0 --slurm-reconnect-seconds 1)
slurm_start "${flags[@]}"
both_begun "$(long_job 3 '{"device": "slurm:cpu", "checkpoint": {"every_seconds": 600}}')"
epochd_away "${flags[@]}"
as_undisturbed "epochd away for longer than its workers wait"
handed_over

# Searches that go by results, on one worker and on several.
for search in '{"search": "asha", "asha": {"min_epochs": 2}, "max_trials": 60}' '{"search": "tpe", "max_trials": 30}'; do
  for where in '{"device": "cpu"}' '{"device": "slurm:cpu", "workers": 1}' '{"device": "slurm:cpu", "workers": 2}'; do
    sweep_submit "$(jq -c --argjson search "$search" --argjson where "$where" \
      '. + $search | .job.device = $where.device | .workers = $where.workers | if .workers then . else del(.workers) end' <<<"$sweep")"
    sweep_finish
    http GET "/v1/sweeps/$id/trials?sort=trial&limit=1000"
    jq -c '[.data[] | [.trial, .metric, .values, .epochs]]' "$body" >"$scratch/found"
    [[ $where == *slurm* ]] || cp "$scratch/found" "$scratch/expected"
    cmp "$scratch/found" "$scratch/expected" || fail "$search with $where: other trials than here"
    echo "ok: the trials of $search with $where"
  done
done
daemon_stop
