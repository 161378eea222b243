#!/usr/bin/env bash
# Weights in every format, and first weights from a job and from an upload.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start

# A Python that has NumPy, if there is one.
python=python3
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then
    python=$candidate
    break
  fi
done

layers='[{"type": "conv2d", "out_channels": 3, "kernel_size": [3, 2]}, {"type": "batch_norm"}, {"type": "relu"},
         {"type": "flatten"}, {"type": "linear", "out_features": 2, "bias": false}]'
# image_job EXTRA: 30 images of 2 x 5 x 4, two classes; EXTRA is laid over the job.
image_job() {
  jq -nc --argjson layers "$layers" --argjson extra "$1" '{
    data: {inline: {x: [range(30) | . as $r | [range(40) | (. * 7 + $r * 13) % 11 / 11]], y: [range(30) | . % 2]},
           shape: [2, 5, 4], test: 0.2},
    model: {layers: $layers}, loss: "cross_entropy", epochs: 3, batch_size: 8} * $extra'
}

submit "$(image_job '{}')"
finish "$id"
first=$id
for format in safetensors json npz onnx c; do
  http GET "/v1/jobs/$first/weights?format=$format"
  expect 200
  cp "$body" "$scratch/first.$format"
  etag=$(header ETag)
  http GET "/v1/jobs/$first/weights?format=$format" -H "If-None-Match: $etag"
  expect 304
  http GET "/v1/jobs/$first/weights?format=$format" -H 'Range: bytes=5-20' -H "If-Range: $etag"
  expect 206
  cmp <(tail -c +6 "$scratch/first.$format" | head -c 16) "$body" || fail "a range of $format is another part"
  http GET "/v1/jobs/$first/weights?format=$format"
  cmp "$scratch/first.$format" "$body" || fail "$format is not the same again"
  echo "ok: $format, $(stat -c %s "$scratch/first.$format") bytes"
done
(($(for format in safetensors json npz onnx c; do
  http GET "/v1/jobs/$first/weights?format=$format"
  header ETag
done | sort -u | wc -l) == 5)) || fail "two formats have one ETag"
"$python" "$here/exports.py" "$scratch/first.safetensors" "$scratch/first.npz" "$scratch/first.json" ||
  fail "the formats differ"
http GET "/v1/jobs/$first/weights?format=pickle"
expect 400
check "the formats are named" '.detail | test("safetensors.*onnx")'

# From a job: with a learning rate of next to nothing, the weights stay what they were.
still='{"optimizer": {"type": "sgd", "lr": 1e-30}, "epochs": 1}'
from_job=$(image_job "$(jq -nc --argjson still "$still" --arg job "$first" '$still * {model: {init: {job: $job}}}')")
submit "$from_job"
second=$id
finish "$second"
sha256=$(sha256sum <"$scratch/first.safetensors" | cut -d ' ' -f 1)
check "the job says which weights these were" '[.spec | .. | strings] | index($sha) != null' --arg sha "$sha256"
# same FILE: its parameters are those of the first job, running statistics apart.
same() {
  jq -e --slurpfile first "$scratch/first.json" '
    [.tensors | to_entries[] | select(.key | test("running") | not)] ==
    [$first[0].tensors | to_entries[] | select(.key | test("running") | not)]' "$1" >/dev/null
}
http GET "/v1/jobs/$second/weights?format=json"
same "$body" || fail "the weights are not those of the job that was named"
submit "$(image_job "$still")"
finish "$id"
http GET "/v1/jobs/$id/weights?format=json"
! same "$body" || fail "a job that names no weights has them too"
echo "ok: first weights from a job"

# From an upload.
http PUT /v1/datasets/pretrained -T "$scratch/first.safetensors"
expect 201
submit "$(image_job "$(jq -nc --argjson still "$still" '$still * {model: {init: {weights: "pretrained"}}}')")"
finish "$id"
http GET "/v1/jobs/$id/weights?format=json"
same "$body" || fail "the weights are not those that were uploaded"
echo "ok: first weights from an upload"

# Faults are reported at submission, with their pointers.
refused() { # WHAT INIT LAYERS POINTER PATTERN
  http POST /v1/jobs "${json[@]}" -d "$(image_job "$(jq -nc --argjson init "$2" '{model: {init: $init}}')" |
    jq -c --argjson layers "$3" '.model.layers = $layers')"
  expect 422
  check "$1" '.errors | any(.pointer == $pointer and (.detail | test($pattern)))' --arg pointer "$4" --arg pattern "$5"
}
by_job=$(jq -nc --arg job "$first" '{job: $job}')
refused "another shape is named" "$by_job" "$(jq -c '.[0].out_channels = 4' <<<"$layers")" /model/init/job \
  '"0.weight" has shape \[3, 2, 3, 2\], the model.s is \[4, 2, 3, 2\]'
refused "a tensor that is not there" "$by_job" "$(jq -c '.[4].bias = true' <<<"$layers")" /model/init/job 'no tensor "4.bias"'
refused "no such job" '{"job": "job_01k00000000000000000000000"}' "$layers" /model/init/job 'not found'
refused "no such upload" '{"weights": "nothing"}' "$layers" /model/init/weights 'dataset "nothing" not found'
printf 'a,b\n1,2\n3,4\n' >"$scratch/table.csv"
http PUT /v1/datasets/table -T "$scratch/table.csv"
refused "data is no weights" '{"weights": "table"}' "$layers" /model/init/weights 'not weights'

# The source stays while a job needs it.
submit "$(image_job "$(jq -nc --arg job "$first" --argjson epochs "$endless" \
  '{model: {init: {job: $job}}, epochs: $epochs, report_every: $epochs}')")"
http DELETE "/v1/jobs/$first"
expect 409
check "a job that is needed stays" '.detail | test("starts from the weights")'
live=$id
daemon_stop
daemon_start
http DELETE "/v1/jobs/$first"
expect 409
echo "ok: after a restart too"
http POST "/v1/jobs/$live/cancel"
ended "$live"
http DELETE "/v1/jobs/$first"
expect 204
http GET "/v1/jobs/$first/weights?format=onnx"
expect 404
