#!/usr/bin/env bash
# The reserve holds for all new work: uploads, what they unpack to, copies of files that a path names, exported
# formats, submissions. Jobs that were accepted use it.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

small_disk 64m
mkdir "$scratch/files"
reserve=20000000
daemon_start --reserve-bytes "$reserve" --allow-path "$scratch/files"

free_bytes() { stat -f -c '%a %S' "$data_dir" | awk '{print $1 * $2}'; }
# The least that was free while a request was served, in $least.
least() {
  local sample
  free_bytes >"$scratch/samples"
  while free_bytes; do :; done >>"$scratch/samples" &
  sample=$!
  own+=("$sample")
  "$@"
  kill "$sample"
  wait "$sample" 2>/dev/null || true
  least=$(sort -n "$scratch/samples" | head -n 1)
}
refused() { # WHAT LEAST: the last request was refused, and so many bytes stayed free
  expect 503
  check "$1 is refused at the reserve" '.detail | contains("stay in reserve")'
  # epochd's own files, such as the costs that it measures, may use the reserve meanwhile
  ((least >= $2 - 65536)) || fail "$1: only $least bytes stayed free of $2"
  [[ -z $(ls "$data_dir/tmp") ]] || fail "$1 left files: $(ls "$data_dir/tmp")"
}

python3 -c 'print("0.5,0.25,1\n" * 10000000)' | gzip -1 >"$scratch/bomb.csv.gz"
least http PUT /v1/datasets/bomb -T "$scratch/bomb.csv.gz"
refused "an upload that unpacks to more than the disk has" "$reserve"
head -c 60000000 /dev/zero >"$scratch/large"
least http PUT /v1/datasets/large -T "$scratch/large"
refused "an upload" 30000000
least http PUT /v1/datasets/large -H 'Transfer-Encoding: chunked' -T "$scratch/large"
refused "an upload of unknown size" "$reserve"

truncate -s 20G "$scratch/files/large.csv"
model='{"layers": [{"type": "linear", "out_features": 1}]}'
job=$(jq -nc --arg path "$scratch/files/large.csv" --argjson model "$model" \
  '{data: {path: $path, target: "y"}, model: $model, loss: "mse", epochs: 1}')
least http POST '/v1/jobs?validate=only' "${json[@]}" -d "$job"
refused "a path whose file must be copied" 30000000

submit '{"data": {"generator": "xor"}, "model": {"layers": [{"type": "linear", "out_features": 800},
  {"type": "linear", "out_features": 800}, {"type": "linear", "out_features": 1}]}, "loss": "mse", "epochs": 1}'
wide=$id
finish "$wide"
epochs_lasting 4
submit "$(xor_job "$epochs" "{\"report_every\": $((epochs / 400))}")"
long=$id
head -c $(($(free_bytes) - reserve - 1000000)) /dev/zero >"$data_dir/filler"
for format in npz json onnx; do
  least http GET "/v1/jobs/$wide/weights?format=$format"
  refused "an export as $format" "$reserve"
done
head -c 4000000 /dev/zero >>"$data_dir/filler"
http POST /v1/jobs "${json[@]}" -d "$(xor_job 100)"
least=$reserve
refused "a job" 0
finish "$long"
echo "ok: a job that was accepted ends within the reserve"

rm "$data_dir/filler"
for format in npz json onnx; do
  http GET "/v1/jobs/$wide/weights?format=$format"
  expect 200
done
daemon_stop
