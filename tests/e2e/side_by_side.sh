#!/usr/bin/env bash
# Several jobs on several cores: as many run at once as --cpu-jobs says, in the queue's order; one
# that needs all cores waits for them and runs alone; a worker's death disturbs no other job.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start --cpu-jobs 3
epochs_lasting 2

# long_job [EPOCHS]: the job that ends, unless another number of epochs is given
long_job() { jq -nc --argjson epochs "${1:-$epochs}" '{seed: 5, report_every: ($epochs / 50 | floor)}' | xor_job "${1:-$epochs}" "$(cat)"; }
workers() { pgrep -P "$daemon" -f epoch-worker || true; }

# runs ID…: waits until these jobs run, all at once
runs() { until_so "these jobs run: $*" run_now "$@"; }
run_now() { http GET /v1/devices && jq -e '(.data[0].jobs | sort) == ($ARGS.positional | sort)' "$body" --args "$@" >/dev/null; }
# cancel ID…: and waits for their ends
cancel() {
  local each
  for each in "$@"; do
    http POST "/v1/jobs/$each/cancel"
    ended "$each"
    check "it was cancelled" '.status == "cancelled"'
  done
}

# begin COUNT EPOCHS…: that many long jobs, whose ids go to $ids; the first three run. No worker trains before three have
# a job: on a busy machine the first would have ended.
begin() {
  local i stopped
  stopped=$(workers)
  # shellcheck disable=SC2086
  kill -STOP $stopped
  ids=()
  for ((i = 0; i < $1; i++)); do
    submit "$(long_job "${@:2}")"
    ids+=("$id")
  done
  runs "${ids[@]:0:3}"
  # shellcheck disable=SC2086
  kill -CONT $stopped
}
three_train() {
  local id
  for id in "${ids[@]:0:3}"; do until_so "the job trains" has_trained; done
}

# 1. three of five run; cancelling one lets the next one in, and changes nothing for the others
begin 5 "$endless"
check "the device says how many it takes, and which it has" \
  '.data[0] | .cores == 3 and .state == "busy" and .job == .jobs[0] and (.jobs | length) == 3'
http GET /v1/queue
check "the queue knows who runs and who waits" \
  '.running == 3 and .queued == 2 and [.jobs[3:][].id] == $waiting' --argjson waiting "$(jq -nc '$ARGS.positional' --args "${ids[@]:3}")"
cancel "${ids[1]}"
runs "${ids[0]}" "${ids[2]}" "${ids[3]}"
cancel "${ids[4]}" "${ids[0]}" "${ids[2]}" "${ids[3]}"

# 2. a worker is killed in the middle of its job
begin 4
three_train
victim=$(workers | sed -n 2p)
[[ -n $victim ]] || fail "there is no second worker below epochd"
kill -9 "$victim"
sums=()
again=0
for id in "${ids[@]}"; do
  finish "$id"
  sums+=("$(jq -r .weights.sha256 "$body")")
  (($(jq .attempt "$body") == 1)) || again=$((again + 1))
done
((again == 1)) || fail "$again jobs were started again by the death of one worker"
[[ $(printf '%s\n' "${sums[@]}" | sort -u | wc -l) == 1 ]] || fail "same job, other weights: ${sums[*]}"
echo "ok: a worker was killed, its job alone was started again, all end with the same weights"

# 3. a job that uses all cores: nothing passes it, and it runs alone
wide=$(jq -nc --argjson epochs "$endless" '{data: {generator: "disc", rows: 4000}, epochs: $epochs, batch_size: "full", loss: "mse",
  model: {layers: [{type: "linear", out_features: 64}, {type: "relu"}, {type: "linear", out_features: 1}]},
  optimizer: {type: "sgd", lr: 0.01}, clip: {norm: 1}}')
submit "$(long_job "$endless")"
narrow=$id
runs "$narrow"
submit "$wide"
wide_id=$id
submit "$(xor_job 10)"
last=$id
http GET "/v1/jobs/$last"
check "a small job does not pass a large one" '.status == "queued" and .queue_position == 2'
http GET "/v1/jobs/$wide_id"
check "which waits for the one before it" '.status == "queued"'
cancel "$narrow"
runs "$wide_id"
http GET "/v1/jobs/$last"
check "and runs alone" '.status == "queued"'
has_executor() { http GET "/v1/jobs/$wide_id" && jq -e '.executor != null' "$body" >/dev/null; }
until_so "its worker has begun" has_executor
check "on all cores" '.executor == "cpu/blocked"'
cancel "$wide_id"
finish "$last"

# 4. everything is killed while three run
begin 4
three_train
# shellcheck disable=SC2046
{ kill -9 "$daemon" $(workers); wait "$daemon"; } 2>/dev/null || true
daemon_start --cpu-jobs 3
for id in "${ids[@]}"; do
  finish "$id"
  [[ $(jq -r .weights.sha256 "$body") == "${sums[0]}" ]] || fail "after the restart $id ends with other weights"
done
echo "ok: everything was killed, all four jobs finished, with the same weights"
daemon_stop
