#!/usr/bin/env bash
# Workers that Kubernetes starts: the same weights as on this machine, why a Pod waits, cancel, and what is left
# afterwards. With a kubectl that only pretends (tests/kubernetes/kubectl), or with `kubernetes.sh api` the
# installed one, and an API that only pretends (tests/kubernetes/api).
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

cluster=$scratch/cluster
export KUBECONFIG=$cluster/config
template=$scratch/template.json

# What runs as a Job of the pretended cluster is ended with the test.
kubernetes_leave() {
  local status=$? process
  for process in $(cat "$cluster"/Job.* 2>/dev/null | grep -o '"process": [0-9]*' | grep -o '[0-9]*$'); do
    kill -9 -- "-$process" 2>/dev/null || true
  done
  leave "$status"
}
trap kubernetes_leave EXIT

none_left() { [[ -z $(find "$cluster" -name "$1.*" ! -name '*.log' ! -name '*.files') ]]; }
none_wait() { [[ -z $(find "$cluster" -maxdepth 1 -type f -name 'Job.*' ! -name '*.log' ! -name '*.new' -exec grep -L '"process"' {} +) ]]; }
some_wait() { ! none_wait; }
some_left() { ! none_left "$1"; }
waits_for() { http GET "/v1/jobs/$id" && jq -e --arg words "$1" '.queue_reason // "" | contains($words)' "$body" >/dev/null; }

mkdir -p "$cluster" "$scratch/bin"
: >"$cluster/kubectl.log"
if [[ ${1:-} == api ]]; then
  command -v kubectl >/dev/null || skip "there is no kubectl"
  "$here/../kubernetes/api" "$cluster/port" &
  own+=($!)
  until_so "the API listens" test -s "$cluster/port"
  export HOME=$scratch # of its cache
  kubectl config set-cluster test --server "http://127.0.0.1:$(cat "$cluster/port")" >/dev/null
  kubectl config set-context test --cluster test >/dev/null
  kubectl config use-context test >/dev/null
else
  ln -sf "$here/../kubernetes/kubectl" "$scratch/bin/kubectl"
fi
jq -n --arg worker "$build/bin/epoch-worker" '{apiVersion: "batch/v1", kind: "Job", metadata: {labels: {"kueue.x-k8s.io/queue-name": "gpus"}},
  spec: {template: {spec: {serviceAccountName: "trainer", containers: [{name: "worker", image: "epochd:cuda",
    command: [$worker], resources: {limits: {"nvidia.com/gpu": 1}}}]}}}}' >"$template"

# what it needs is looked at before it starts
refused_start() {
  local words=$1
  shift
  if PATH="$scratch/bin:$PATH" timeout "$patience" "$build/bin/epochd" --data-dir "$scratch/none" --listen 127.0.0.1:0 \
    --slurm-listen 127.0.0.1:0 "$@" >"$scratch/refused" 2>&1; then fail "epochd starts with $*"; fi
  grep -q -- "$words" "$scratch/refused" || fail "not \"$words\": $(cat "$scratch/refused")"
}
refused_start 'needs --kubernetes-template' --devices cpu,kubernetes:research
refused_start 'does not exist' --devices cpu,kubernetes:research --kubernetes-template "$scratch/absent"
refused_start 'may not create jobs' --devices cpu,kubernetes:closed --kubernetes-template "$template"
echo '{"kind": "Pod"}' >"$scratch/pod.json"
refused_start 'its kind is' --devices cpu,kubernetes:research --kubernetes-template "$scratch/pod.json"
echo "ok: a template, a right and a namespace that are none are named at the start"

root_before=$(echo /*)
device="$device,kubernetes:research" PATH="$scratch/bin:$PATH" daemon_start --kubernetes-template "$template" \
  --slurm-listen 127.0.0.1:0 --slurm-idle-seconds 1

# the same job here and there
job=$(xor_job 400 '{"seed": 7, "device": "cpu"}')
submit "$job"
finish "$id"
here_values=$(values_of "$id")
job=$(jq -c '.device = "kubernetes:research"' <<<"$job")
http POST "/v1/jobs?validate=only" "${json[@]}" -d "$job"
expect 200
check "?validate=only has what its worker asks for" \
  '.slurm == null and .kubernetes.namespace == "research" and .kubernetes.memory_bytes > 1000000000 and .kubernetes.cores >= 1'
submit "$job"
until_so "there is a Job" some_left Job
made=$(find "$cluster" -name 'Job.epochd-worker-*' ! -name '*.log' ! -name '*.files' ! -name '*.new' | head -1)
jq -e '.metadata.labels["kueue.x-k8s.io/queue-name"] == "gpus" and .metadata.namespace == "research" and .spec.backoffLimit == 0 and
  (.spec.template.spec | .serviceAccountName == "trainer" and .restartPolicy == "Never" and .automountServiceAccountToken == false and
   (.containers[0].resources | .limits["nvidia.com/gpu"] == 1 and (.requests.memory | endswith("Mi")) and .requests.cpu >= 1))' \
  "$made" >/dev/null || fail "another Job: $(cat "$made")"
finish "$id"
check "the job ran in the namespace" '.device == "kubernetes:research" and .attempt == 1'
[[ $(values_of "$id") == "$here_values" ]] || fail "other weights than on this machine"
echo "ok: the same weights as on this machine, to the bit"

# the secret is in the Secret alone, which goes with the worker
secret=$(grep -rhom1 'EPOCHD_SECRET=[0-9a-f]*' "$cluster"/Job.*.files | head -1 | cut -d= -f2)
[[ -n $secret ]] || fail "there is no secret"
if grep -q "$secret" "$cluster/kubectl.log" "$log" "$cluster"/Job.*.log "$made"; then fail "a secret lies outside of the Secret"; fi
until_so "the idle worker's Secret goes" none_left Secret
echo "ok: a worker's secret is in its Secret alone, and goes"

# Pods wait; a cancelled job's worker is deleted
echo "0/3 nodes are available: 3 Insufficient nvidia.com/gpu." >"$cluster/hold"
submit "$job"
until_so "the job says why it waits" waits_for "Unschedulable: 0/3 nodes are available"
until_so "its Job waits" some_wait
http POST "/v1/jobs/$id/cancel"
until_so "the waiting Job is deleted" none_wait
until_so "its Secret goes too" none_left Secret
rm "$cluster/hold"
echo "ok: a cancelled job's worker is deleted with its Secret"

# Kubernetes refuses
echo '(Forbidden): error when creating "STDIN": exceeded quota: gpus' >"$cluster/refuse"
submit "$job"
until_so "the job has kubectl's words" waits_for "exceeded quota"
rm "$cluster/refuse"
finish "$id"
echo "ok: a Job that is refused is created again"
daemon_stop
[[ $(echo /*) == "$root_before" ]] || fail "without a shared folder, something was made in /: $(echo /*)"
