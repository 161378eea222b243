#!/usr/bin/env bash
# A data set that is larger than the device may hold trains all the same, to the same bits.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
python3 "$here/images.py" "$scratch/images" 16 1200 100
bytes=$((1200 * 16 * 16)) # of the training rows, a byte a pixel
spec=$(jq -nc '{
  data: {dataset: "bars", normalize: {mean: 0.15, std: 0.2}, augment: {shift: 1}},
  model: {layers: [{type: "conv2d", out_channels: 6, kernel_size: 5}, {type: "relu"}, {type: "max_pool2d", kernel_size: 3},
                   {type: "dropout2d", p: 0.2}, {type: "flatten"}, {type: "linear", out_features: 3}]},
  loss: "cross_entropy", optimizer: {type: "sgd", lr: 0.05, momentum: 0.9}, epochs: 5, batch_size: 64}')

# hash_with FLAGS…: the SHA-256 of the weights that a daemon with these flags trains, in $sha
hash_with() {
  data_dir=$scratch/data-$# # a folder of its own: nothing is remembered
  daemon_start "$@"
  upload_images bars "$scratch/images"
  submit "$spec"
  finish "$id"
  check "with ${*:-no flag}: accuracy $(jq .metrics.test.accuracy "$body") on $(jq -r .executor "$body")" \
    '.metrics.test.accuracy >= 0.9'
  sha=$(jq -r .weights.sha256 "$body")
  daemon_stop
}
hash_with
resident=$sha
hash_with --data-bytes-max $((bytes / 2))
[[ $sha == "$resident" ]] || fail "streamed, the data give other weights: $sha, resident $resident"
echo "ok: half of the data's size on the device gives the same weights"
