#!/usr/bin/env bash
# Arrays as data: parts uploaded one by one, NPZ, safetensors, files below an allowed folder. The same
# images must train to the same weights, however they came.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
arrays=$scratch/arrays
allowed=$scratch/allowed
mkdir "$arrays" "$allowed"
python3 "$here/arrays.py" "$arrays"
daemon_start --allow-path "$allowed"

# put FILE NAME [CODE]: uploads one of the files.
put() {
  http PUT "/v1/datasets/$2" -T "$arrays/$1"
  expect "${3:-201}"
}
# refused FILE NAME PATTERN: an upload that must be refused, with the reason.
refused() {
  http PUT "/v1/datasets/$2" -T "$arrays/$1"
  [[ $code == 422 || $code == 413 ]] || fail "$1 as $2 was answered $code: $(<"$body")"
  grep -q "$3" "$body" || fail "$1: the answer does not say \"$3\": $(<"$body")"
  echo "ok: $1: $(jq -r .detail "$body")"
}
spec='{"data": {"dataset": "idx", "normalize": {"mean": 0.4, "std": 0.3}}, "loss": "cross_entropy", "epochs": 30, "batch_size": 50,
       "model": {"layers": [{"type": "flatten"}, {"type": "linear", "out_features": 4}]}, "optimizer": {"lr": 0.1}}'
# trained DATA…: trains on that data (jq's arguments for .data) and prints the hash of the weights.
trained() {
  submit "$(jq -c "$@" <<<"$spec")"
  finish "$id"
  jq -r '.weights.sha256' "$body"
}
# weights ID: the tensors alone; the file also names its data.
tensors() {
  curl -sSf "$url/v1/jobs/$1/weights?format=json" | jq -cS .tensors
}

put train-images-idx3-ubyte.gz idx/train/x
check "one part" '.format == "parts" and .rows == 400 and .parts.train.x.shape == [6, 6] and
  .parts.train.x.dtype == "u1" and (.parts.train.x.sha256 | length) == 64 and .parts.train.y == null'
first=$(jq -r .sha256 "$body")
http POST /v1/jobs "${json[@]}" -d "$spec"
expect 422
check "a part is missing" '.errors[0].pointer == "/data/dataset" and (.detail | test("train/y"))'
put y_short.npy idx/train/y 200
http POST /v1/jobs "${json[@]}" -d "$spec"
expect 422
check "rows that differ" '.errors[0].detail | test("400 rows, train/y has 399")'
put train-labels-idx1-ubyte idx/train/y 200
put t10k-images-idx3-ubyte idx/test/x 200
put t10k-labels-idx1-ubyte.gz idx/test/y 200
check "all parts" '.sha256 != "'"$first"'" and .parts.train.y.shape == [] and .parts.test.x.rows == 100 and .bytes > 0'
whole=$(jq -r .sha256 "$body")
put train-images-idx3-ubyte.gz idx/train/x 200
check "the same part again is the same content" ".sha256 == \"$whole\""
contents=$(find "$data_dir/datasets" -mindepth 1 -maxdepth 1 | wc -l)
[[ $contents == 1 ]] || fail "$contents contents are kept, 1 is named"
http POST "/v1/jobs?validate=only" "${json[@]}" -d "$spec"
expect 200

trained . >/dev/null
check "images are learned" '.metrics.test.rows == 100 and .metrics.test.accuracy == 1 and .metrics.train.rows == 400'
right=$(tensors "$id")
http POST "/v1/jobs/$id/predict" "${json[@]}" -d "$(jq -nc '{x: [[range(36) | if . % 6 >= 3 and . < 18 then 220 else 30 end]]}')"
expect 200
check "raw bytes are predicted from" '.predictions[0] | to_entries | max_by(.value).key == 1'
# same WHAT JQ…: other data must give the same weights.
same() {
  local what=$1
  shift
  trained "$@" >/dev/null
  [[ $(tensors "$id") == "$right" ]] || fail "$what: other weights than the same images as IDX gave"
  echo "ok: $what"
}
for name in keras.npz stored.npz data.safetensors; do
  put "$name" "${name%.*}"
  check "$name" '.parts.train.x.shape == [6, 6] and .parts.test.y.rows == 100 and (.format | test("npz|safetensors"))'
  same "$name trains alike" ".data.dataset = \"${name%.*}\""
done
put y_one_hot.npy keras/train/y 200
put y_test_one_hot.npy keras/test/y 200
check "one-hot" '.parts.train.y.one_hot and .parts.train.y.shape == [4]'
same "one-hot targets are classes" '.data.dataset = "keras"'
put y.csv stored/train/y 200
same "classes as CSV" '.data.dataset = "stored"'
put x_float.npy floats/train/x
put y.npy floats/train/y 200
submit "$(jq -c '.data.dataset = "floats" | .data.test = 0.25 | .data.validation = 0.1' <<<"$spec")"
finish "$id"
check "floats, split" '.metrics.test.accuracy == 1 and .metrics.validation.rows == 40 and .metrics.train.rows == 260'
submit "$(jq -c '.data = {dataset: "idx", validation: 0.1, scale: 0.004, shape: [1, 4, 9]}' <<<"$spec")"
finish "$id"
check "bytes, split and scaled" '.metrics.test.accuracy == 1 and .metrics.validation.rows == 40'
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.shape = [1, 5, 7]' <<<"$spec")"
expect 422
check "another shape" '.errors[0].pointer == "/data/shape"'

put weights.safetensors start
check "weights" '.role == "weights" and .format == "safetensors" and .tensors == 2 and .parts == {}'
cmp "$arrays/weights.safetensors" "$data_dir/datasets/$(jq -r .sha256 "$body")/weights.safetensors"
http POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.dataset = "start"' <<<"$spec")"
expect 422
http PUT /v1/datasets/start/train/x -T "$arrays/x_float.npy"
expect 409

refused unknown.npz wrong 'unknown array \\"more'
refused lone.npz wrong 'y of the train set is missing'
refused less.npz wrong 'damaged\|larger than declared'
refused more.npz wrong 'damaged\|smaller than declared'
refused bomb.npz wrong 'unpacks to more than 1000 times'
refused half.safetensors wrong 'has the unsupported type \\"F16\\"'
refused train-images-idx3-ubyte wrong 'upload x and y as the parts'
refused x_cut.npy wrong/train/x 'the file has 14399'
refused keras.npz wrong/train/x 'a part must be one array'
http GET /v1/datasets/wrong
expect 404

# Files below an allowed folder: mapped, or read when they cannot be.
mkdir "$allowed/raw" "$allowed/packed"
cp "$arrays"/t*-idx?-ubyte "$allowed/raw"
cp "$arrays"/t*-idx?-ubyte.gz "$allowed/packed"
cp "$arrays/keras.npz" "$allowed"
contents() { find "$data_dir/datasets" -mindepth 1 -maxdepth 1 | wc -l; }
before=$(contents)
same "a folder of IDX files" ".data |= (del(.dataset) | .path = \"$allowed/raw\")"
[[ $(contents) == "$before" ]] || fail "mapped files left a content behind"
same "a folder of gz files" '.data |= (del(.dataset) | .path = "packed")'
same "an NPZ file" ".data |= (del(.dataset) | .path = \"$allowed/keras.npz\")"
collected() { [[ $(contents) == "$before" ]]; }
until_so "what paths were read into goes when no job needs it" collected
# path_refused PATH: the response tells nothing of files outside.
path_refused() {
  http POST /v1/jobs "${json[@]}" -d "$(jq -c --arg path "$1" '.data |= (del(.dataset) | .path = $path)' <<<"$spec")"
  expect 422
  check "not $1" '.errors[0].pointer == "/data/path"'
}
ln -s "$arrays/keras.npz" "$allowed/link.npz"
ln -s "$arrays" "$allowed/out"
mkfifo "$allowed/pipe"
path_refused "$arrays/keras.npz"
path_refused "$allowed/../arrays/keras.npz"
path_refused "$allowed/link.npz"
path_refused "$allowed/out/keras.npz"
path_refused "$allowed/pipe"
path_refused "$allowed/none.npz"
path_refused "/etc/passwd"
path_refused "$allowed"
# escaped FILTER: the job, each "path" in it written as "p\u0061th".
escaped() { jq -c "$1" <<<"$spec" | sed 's/"path"/"p\\u0061th"/g'; }
http POST /v1/jobs "${json[@]}" -d "$(escaped '.data |= (del(.dataset) | .path = "/etc/passwd")')"
expect 422
check "an escaped key is held to the same folders" '.errors[0].pointer == "/data/path"'
for target in /v1/jobs "/v1/jobs?validate=only"; do
  http POST "$target" "${json[@]}" -d "$(escaped '.data |= (del(.dataset) | .path = "packed")' | sed 's/"p/"path": "packed", &/')"
  expect 400
  check "a key that stands twice is refused, however it is written" '.detail | test("duplicate")'
done
submit "$(escaped '.data |= (del(.dataset) | .path = "packed")')"
finish "$id"
check "an escaped key names the same files" '.spec.data.path == "packed" and .metrics.test.accuracy == 1'
http POST "/v1/sweeps?validate=only" "${json[@]}" -d "{\"job\": $(escaped '.data |= (del(.dataset) | .path = "packed")'),
  \"space\": {\"/optimizer/lr\": {\"values\": [0.1, 0.2]}}, \"metric\": \"test.loss\", \"allow_test_metric\": true}"
expect 200
daemon_stop
daemon_start
path_refused "$allowed/raw"
