#!/usr/bin/env bash
# The disk is full when a training ends: it waits with its weights and says so, a cancel ends the wait, and with room
# again the job succeeds, with the weights of one that nothing stopped.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

small_disk 16m
daemon_start --reserve-bytes 1000000 --cpu-jobs 1
# The weights are larger than a block, which a full disk may have left.
job=$(jq -nc '{data: {generator: "xor"}, epochs: 30000, report_every: 30000, loss: "bce_with_logits", model: {layers: [
  {type: "linear", out_features: 256}, {type: "tanh"}, {type: "linear", out_features: 64}, {type: "tanh"},
  {type: "linear", out_features: 1}]}}')
submit "$job"
finish "$id"
sha256=$(jq -r .weights.sha256 "$body")

waits() { http GET "/v1/jobs/$1" && jq -e '.status == "running"' "$body" >/dev/null && grep -q "job $1: the results cannot be written" "$log"; }
begun() { http GET "/v1/jobs/$1" && [[ $(jq -r .status "$body") != queued ]]; }
fill() { until_so "the job begins" begun "$1" && { cat /dev/zero >"$data_dir/filler" 2>/dev/null || true; }; }

submit "$job"
waiting=$id
fill "$waiting"
until_so "the job waits with its results" waits "$waiting"
rm "$data_dir/filler"
finish "$waiting"
check "it ends with the same weights, in one attempt" '.weights.sha256 == $sha256 and .attempt == 1' --arg sha256 "$sha256"
http GET "/v1/jobs/$waiting/weights"
expect 200
[[ $(sha256sum <"$body" | cut -d ' ' -f 1) == "$sha256" ]] || fail "other weights are served"
events_read "$waiting"
sequence "$body" 1
check "it has one end" -s '[.[] | select(.type == "end").status] == ["succeeded"]'

submit "$job"
cancelled=$id
fill "$cancelled"
until_so "the job waits with its results" waits "$cancelled"
http POST "/v1/jobs/$cancelled/cancel"
[[ $code == 20[02] || $code == 503 ]] || fail "a cancel on a full disk is answered $code"
rm "$data_dir/filler"
http POST "/v1/jobs/$cancelled/cancel"
ended "$cancelled"
check "it is cancelled" '.status == "cancelled"'
daemon_stop
