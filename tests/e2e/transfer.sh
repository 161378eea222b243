#!/usr/bin/env bash
# First weights from another job: frozen layers keep every bit.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/images.py" "$scratch/images" 12 300 60
upload_images bars "$scratch/images"

# spec CHANGE: the job, changed by a jq filter
spec() {
  jq -nc '{
    data: {dataset: "bars", normalize: {mean: 0.15, std: 0.2}},
    model: {layers: [
      {type: "conv2d", out_channels: 4, kernel_size: 3, padding: 1}, {type: "batch_norm"}, {type: "relu"},
      {type: "max_pool2d", kernel_size: 3},
      {type: "residual", layers: [{type: "conv2d", out_channels: 4, kernel_size: 3, padding: 1}, {type: "tanh"}]},
      {type: "flatten"}, {type: "linear", out_features: 3}]},
    loss: "cross_entropy", optimizer: {type: "sgd", lr: 0.05, momentum: 0.9, weight_decay: 0.01},
    epochs: 4, batch_size: 30}' | jq -c "$1"
}
# weights JOB FILE: its weights, bit by bit, as name, shape and hexadecimal digits
weights() {
  http GET "/v1/jobs/$1/weights"
  expect 200
  python3 - "$body" >"$2" <<'PYTHON'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
length, = struct.unpack("<Q", raw[:8])
header = json.loads(raw[8:8 + length])
header.pop("__metadata__", None)
print(json.dumps({name: {"shape": entry["shape"], "bits": raw[8 + length:][slice(*entry["data_offsets"])].hex()}
                  for name, entry in header.items()}))
PYTHON
}
# compared FILE FILE: {"name": whether the two have the same bits}
compared() { jq -c -s '.[0] as $a | .[1] | with_entries(.value = (.value == $a[.key]))' "$1" "$2" >"$body"; }

submit "$(spec .)"
teacher=$id
finish "$teacher"
weights "$teacher" "$scratch/teacher"
jq -e 'keys == ["0.bias", "0.weight", "1.bias", "1.num_batches_tracked", "1.running_mean", "1.running_var",
                "1.weight", "4.0.bias", "4.0.weight", "6.bias", "6.weight"] or
       keys == ["0.bias", "0.weight", "1.bias", "1.running_mean", "1.running_var",
                "1.weight", "4.0.bias", "4.0.weight", "6.bias", "6.weight"]' "$scratch/teacher" >/dev/null ||
  fail "the tensors are $(jq -c keys "$scratch/teacher")"
echo "ok: the tensors have torch's names"

from_teacher=".model.init = {job: \"$teacher\"} | .seed = 9"
submit "$(spec "$from_teacher | .model.freeze = [0, 1, 4]")"
finish "$id"
pupil=$id
weights "$pupil" "$scratch/pupil"
compared "$scratch/teacher" "$scratch/pupil"
check "frozen layers have the teacher's bits, the last layer moved" '
  .["0.weight"] and .["0.bias"] and .["1.weight"] and .["1.bias"] and .["4.0.weight"] and .["4.0.bias"] and
  (.["6.weight"] | not) and (.["6.bias"] | not) and
  (.["1.running_mean"] | not)' # statistics are no parameters: they go on, as torch's do
submit "$(spec "$from_teacher")"
finish "$id"
weights "$id" "$scratch/free"
compared "$scratch/teacher" "$scratch/free"
check "without freeze every weight moved" '[to_entries[] | select(.key | endswith("weight")) | .value] | any | not'

submit "$(spec "$from_teacher | .model.freeze = [0, 1, 4]")"
finish "$id"
again=$(jq -r .weights.sha256 "$body")
http GET "/v1/jobs/$pupil"
[[ $(jq -r .weights.sha256 "$body") == "$again" ]] || fail "the pupil trained twice has two weights"
echo "ok: the pupil trained twice has the same weights"

# the same start from a file
http GET "/v1/jobs/$teacher/weights"
cp "$body" "$scratch/teacher.safetensors"
http PUT /v1/datasets/teacher -T "$scratch/teacher.safetensors"
expect 201
submit "$(spec '.model.init = {weights: "teacher"} | .seed = 9 | .model.freeze = [0, 1, 4]')"
finish "$id"
weights "$id" "$scratch/uploaded"
compared "$scratch/pupil" "$scratch/uploaded"
check "started from a file it takes the same course" '[.[]] | all'

http POST /v1/jobs "${json[@]}" -d "$(spec '.model.freeze = [7]')"
expect 422
check "a layer that is not there cannot be frozen" '.errors[0].pointer | startswith("/model/freeze")'
