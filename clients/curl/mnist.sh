#!/usr/bin/env bash
# Handwritten digits: mnist.sh [FOLDER] [EPOCHS] uploads the four files of MNIST as they are published
# (train-images-idx3-ubyte.gz and its like, in FOLDER, mnist unless given), trains a small convolutional
# network, predicts the first test image, and downloads the network as ONNX: mnist.onnx, in this folder;
# mnist.ndjson has the daemon's events. EPOCHS is 2 unless given; 25 read 98 of 100. Needs: curl, jq.
set -euo pipefail
EPOCHD=${EPOCHD:-http://127.0.0.1:8080}
folder=${1:-mnist}
epochs=${2:-2}
[[ -r $folder/train-images-idx3-ubyte.gz ]] || {
  echo "mnist.sh [FOLDER] [EPOCHS]: there is no $folder/train-images-idx3-ubyte.gz" >&2 && exit 1
}

for part in train/x=train-images-idx3 train/y=train-labels-idx1 test/x=t10k-images-idx3 test/y=t10k-labels-idx1; do
  curl -sSf -T "$folder/${part#*=}-ubyte.gz" "$EPOCHD/v1/datasets/mnist/${part%=*}" >/dev/null
done
curl -sSf "$EPOCHD/v1/datasets/mnist" |
  jq -c '.parts | {train: .train.x | {rows, shape}, test: .test.x | {rows, shape}}'

# the pixels stay bytes; they are divided by 255 and normalized where they are used
spec=$(jq -nc --argjson epochs "$epochs" '{
  name: "mnist",
  data: {dataset: "mnist", normalize: {mean: 0.1307, std: 0.3081}},
  model: {layers: [
    {type: "conv2d", out_channels: 10, kernel_size: 5}, {type: "max_pool2d", kernel_size: 2}, {type: "relu"},
    {type: "conv2d", out_channels: 20, kernel_size: 5}, {type: "dropout2d", p: 0.5},
    {type: "max_pool2d", kernel_size: 2}, {type: "relu"}, {type: "flatten"},
    {type: "linear", out_features: 50}, {type: "relu"}, {type: "dropout", p: 0.5},
    {type: "linear", out_features: 10}, {type: "log_softmax"}]},
  loss: "nll", optimizer: {type: "sgd", lr: 0.01, momentum: 0.5},
  epochs: $epochs, batch_size: 200}')
curl -sSfN "$EPOCHD/v1/jobs" -H 'Accept: application/x-ndjson' -H 'Content-Type: application/json' -d "$spec" |
  tee mnist.ndjson | jq -c 'select(.type == "epoch") | {epoch, loss, error}'
end=$(tail -n 1 mnist.ndjson)
jq -c '{status, test: .metrics.test | {accuracy, loss, rows}}' <<<"$end"

# the first test image, its 784 bytes behind the header's 16: ten logarithms of probabilities
first() { od -An -v -tu1 -j"$2" -N"$3" <(gzip -dc "$folder/$1-ubyte.gz"); }
job=$(jq -r .job <<<"$end")
first t10k-images-idx3 16 784 | jq -cs '{x: [.]}' |
  curl -sSf "$EPOCHD/v1/jobs/$job/predict" -H 'Content-Type: application/json' -d @- |
  jq -c --argjson digit "$(first t10k-labels-idx1 8 1)" '{digit: $digit, predicted: (.predictions[0] | index(max))}'
curl -sSf "$EPOCHD/v1/jobs/$job/weights?format=onnx" -o mnist.onnx
echo "its weights are in mnist.onnx"
