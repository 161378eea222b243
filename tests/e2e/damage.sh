#!/usr/bin/env bash
# One bit of each result and of each part of a dataset changes on the disk: what is damaged is never
# served, trained on or published, the response says what can be done, and that helps.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
mkdir "$scratch/disk"
ln -s "$scratch/disk" "$data_dir" # no message has either name
daemon_start

# flip FILE [OFFSET]: changes the lowest bit of one byte; twice, and the file is as it was.
flip() {
  python3 - "$1" "${2:--1}" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    at = int(sys.argv[2])
    file.seek(at, 0 if at >= 0 else 2)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 1]))
PYTHON
}
damaged() {
  expect 500
  check "$1 is refused" '.type == "urn:epochd:problem:damaged" and (.detail | contains($name) and contains("again"))' \
    --arg name "$2"
}

{ echo a,b; for ((i = 0; i < 40; i++)); do echo "$i,$((2 * i + 1))"; done; } >"$scratch/line.csv"
http PUT /v1/datasets/line -T "$scratch/line.csv"
expect 201
line='{"data": {"dataset": "line", "target": "b", "test": 0.25, "standardize": ["x", "y"]}, "loss": "mse",
  "model": {"layers": [{"type": "linear", "out_features": 1}]}, "epochs": 20, "seed": 3}'
submit "$line"
job=$id
finish "$job"
folder=$data_dir/jobs/$job
http GET "/v1/jobs/$job/weights"
expect 200
cp "$body" "$scratch/weights"
for format in json npz onnx; do
  http GET "/v1/jobs/$job/weights?format=$format"
  expect 200
  cp "$body" "$scratch/weights.$format"
  (cd "$folder" && sha256sum --check --quiet "weights.$format.sha256") || fail "weights.$format is not as its hash says"
done

flip "$folder/weights.safetensors"
http GET "/v1/jobs/$job/weights"
damaged "a download" weights.safetensors
http GET "/v1/jobs/$job/weights" -H 'Range: bytes=0-7'
damaged "a part of it, which has no wrong bit," weights.safetensors
http POST "/v1/jobs/$job/predict" "${json[@]}" -d '{"x": [[1]]}'
damaged "a prediction" weights.safetensors
http PUT /v1/models/line "${json[@]}" -d "{\"job\": \"$job\"}"
damaged "a publication" weights.safetensors
submit "$(jq -c --arg job "$job" '.model.init = {job: $job}' <<<"$line")"
ended "$id"
check "a job that starts from them fails with the name of the file" \
  '.status == "failed" and (.error.message | contains($job + "/weights.safetensors") and contains("damaged"))' --arg job "$job"
rm "$folder/weights.json"
http GET "/v1/jobs/$job/weights?format=json"
damaged "another format of them" weights.safetensors
submit "$line"
finish "$id"
http GET "/v1/jobs/$id/weights"
cmp "$body" "$scratch/weights" || fail "the spec again computes other bytes"
echo "ok: the same spec again computes the same bytes"
flip "$folder/weights.safetensors"
http GET "/v1/jobs/$job/weights"
expect 200
cmp "$body" "$scratch/weights" || fail "the weights are others"

# What cannot even be parsed is no fault of the client's either.
plots=$(curl -sSf "$url/v1/jobs/$job/plots" | jq -r '.data[:3][].name')
for kind in cut empty missing header; do
  cp "$folder/weights.safetensors" "$scratch/whole"
  case $kind in
    cut) truncate -s 100 "$folder/weights.safetensors" ;;
    empty) truncate -s 0 "$folder/weights.safetensors" ;;
    missing) rm "$folder/weights.safetensors" ;;
    header) printf '\377\377\377\377\377\377\377\177' | dd of="$folder/weights.safetensors" conv=notrunc status=none ;;
  esac
  for path in weights weights?format=c $(printf 'plots/%s?format=svg ' $plots); do
    http GET "/v1/jobs/$job/$path"
    damaged "$kind: $path" weights.safetensors
  done
  http POST "/v1/jobs/$job/predict" "${json[@]}" -d '{"x": [[1]]}'
  damaged "$kind: a prediction" weights.safetensors
  http POST "/v1/jobs/$job/predict" -H 'Content-Type: text/csv' -d $'a\n1\n'
  damaged "$kind: a prediction by names" weights.safetensors
  http PUT /v1/models/line "${json[@]}" -d "{\"job\": \"$job\"}"
  damaged "$kind: a publication" weights.safetensors
  http POST /v1/jobs "${json[@]}" -d "$(jq -c --arg job "$job" '.model.init = {job: $job}' <<<"$line")"
  damaged "$kind: first weights" weights.safetensors
  cp "$scratch/whole" "$folder/weights.safetensors"
done

for format in json npz onnx; do
  flip "$folder/weights.$format" 100 2>/dev/null || [[ $format == json ]]
  http GET "/v1/jobs/$job/weights?format=$format"
  expect 200
  cmp "$body" "$scratch/weights.$format" || fail "weights.$format is served with a wrong bit"
  flip "$folder/weights.$format.sha256" 3
  http GET "/v1/jobs/$job/weights?format=$format"
  expect 200
  cmp "$body" "$scratch/weights.$format" || fail "weights.$format is served with a wrong bit"
done
echo "ok: a format that is damaged is made again from the weights"

for format in json csv; do
  http GET "/v1/jobs/$job/predictions?format=$format"
  expect 200
  [[ $(header ETag) == "\"$(sha256sum <"$body" | cut -d ' ' -f 1)\"" ]] || fail "the ETag is not the hash of predictions.$format"
  flip "$folder/predictions.$format" 30
  http GET "/v1/jobs/$job/predictions?format=$format"
  damaged "predictions as $format" "predictions.$format"
done

# The head of uploaded weights, which is read before the job is accepted.
http PUT /v1/datasets/start -T "$scratch/weights"
expect 201
start=$(jq -c '.model.init = {weights: "start"}' <<<"$line")
submit "$start"
finish "$id"
flip "$data_dir/datasets/$(sha256sum <"$scratch/weights" | cut -d ' ' -f 1)/weights.safetensors" 12
http POST /v1/jobs "${json[@]}" -d "$start"
damaged "a job that starts from uploaded weights" weights.safetensors
http PUT /v1/datasets/start -T "$scratch/weights"
submit "$start"
finish "$id"

# A byte of the training data, and one of its description.
sha256=$(sha256sum <"$scratch/line.csv" | cut -d ' ' -f 1)
for name in train.table.npy meta.json; do
  flip "$data_dir/datasets/$sha256/$name" 150
  daemon_stop
  daemon_start
  http POST /v1/jobs "${json[@]}" -d "$line"
  if [[ $code == 201 ]]; then
    ended "$(jq -r .id "$body")"
    check "$name: a job fails, with the name" '.status == "failed" and (.error.message | contains($name) and contains("upload"))' --arg name "$name"
  else
    damaged "$name: a job" "$name"
  fi
  http PUT /v1/datasets/line -T "$scratch/line.csv"
  [[ $code == 20[01] ]] || expect 200
  submit "$line"
  finish "$id"
  http GET "/v1/jobs/$id/weights"
  cmp "$body" "$scratch/weights" || fail "the data is other data"
  echo "ok: the same upload mends $name"
done
daemon_stop
