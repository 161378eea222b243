#!/usr/bin/env bash
# Exported ONNX files, run by onnxruntime, give the predictions of POST /predict, on rows in units of the data.
# Debian's python3-onnx checks them besides, where it is installed.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
command -v node >/dev/null || skip "there is no node"
command -v npm >/dev/null || skip "there is no npm"

# onnxruntime-web, as the lock file says, once a build folder.
runtime=$build/tests-onnx
mkdir -p "$runtime"
cp "$here/../onnx/"{compare.mjs,predict.mjs,columns.mjs,package.json} "$runtime"
if ! cmp -s "$here/../onnx/package-lock.json" "$runtime/package-lock.json" || [[ ! -d $runtime/node_modules ]]; then
  cp "$here/../onnx/package-lock.json" "$runtime/package-lock.json"
  if ! (cd "$runtime" && npm ci --omit=optional --ignore-scripts --no-audit --no-fund) >"$scratch/npm" 2>&1; then
    rm -f "$runtime/package-lock.json"
    tail -n 3 "$scratch/npm"
    skip "onnxruntime-web could not be installed"
  fi
fi

checker=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import onnx' 2>/dev/null; then
    checker=$candidate
    break
  fi
done
daemon_start

# case_begin NAME KIND MORE: a folder for what is compared at the end, $case; MORE is JSON (tests/onnx/compare.mjs).
cases=0
case_next() {
  cases=$((cases + 1))
  case=$scratch/cases/$(printf '%03d' "$cases")
}
case_begin() {
  case_next
  mkdir -p "$case"
  jq -nc --arg name "$1" --arg kind "$2" --argjson more "$3" '{name: $name, kind: $kind} + $more' >"$case/case"
  cp "$scratch/rows" "$case/rows"
  http GET "/v1/jobs/$id/weights?format=onnx"
  expect 200
  cp "$body" "$case/model.onnx"
}

# wrong_case FILTER WHAT: the last case with other predictions, which must go noticed.
wrong_case() {
  local right=$case
  case_next
  cp -r "$right" "$case"
  jq -c --arg wrong "$2" '.wrong = $wrong' "$right/case" >"$case/case"
  jq -c "$1" "$right/predicted" >"$case/predicted"
  ! cmp -s "$right/predicted" "$case/predicted" || fail "$2: nothing is other"
  case=$right
}

# compared NAME SHAPE: the finished job $id, whose rows have that shape, asked about $scratch/rows.
compared() {
  case_begin "$1" predict "{\"shape\": \"$2\"}"
  http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"x\": $(<"$scratch/rows")}"
  expect 200
  jq -c .predictions "$body" >"$case/predicted"
  http GET "/v1/jobs/$id/weights?format=json"
  expect 200
  cp "$body" "$case/weights"
}

# random COUNT FEATURES LEAST MOST: rows of whole multiples of 1 / 64, exact in float32, as JSON.
random() {
  python3 - "$@" <<'PYTHON'
import json, random, sys
count, features, least, most = map(int, sys.argv[1:])
random.seed(count * features)
print(json.dumps([[random.randint(least * 64, most * 64) / 64 for _ in range(features)] for _ in range(count)]))
PYTHON
}

# trained NAME ROWS SHAPE JOB: a job on inline data, x: $scratch/rows.
trained() {
  local shape=$2 job=$3
  jq -c --slurpfile x "$scratch/rows" '.data.inline.x = $x[0]' <<<"$job" >"$scratch/job"
  submit "$(<"$scratch/job")"
  finish "$id"
  compared "$1" "$shape"
}

random 60 5 -50 300 >"$scratch/rows"
trained "an MLP, x and y standardized" 5 '{"data": {"inline": {"y": '"$(jq -c 'map([.[0] * 3 + 4000, .[1] - .[2]])' "$scratch/rows")"'},
  "standardize": ["x", "y"]}, "loss": "mse", "epochs": 30, "batch_size": 16, "optimizer": {"type": "adam", "lr": 0.01},
  "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "gelu"}, {"type": "linear", "out_features": 16},
    {"type": "silu"}, {"type": "layer_norm"}, {"type": "linear", "out_features": 8}, {"type": "softplus", "beta": 3, "threshold": 1},
    {"type": "linear", "out_features": 8}, {"type": "mish"}, {"type": "linear", "out_features": 8}, {"type": "hardswish"}, {"type": "selu"},
    {"type": "linear", "out_features": 8}, {"type": "hardsigmoid"}, {"type": "linear", "out_features": 8}, {"type": "softsign"},
    {"type": "residual", "layers": [{"type": "linear", "out_features": 8}, {"type": "elu", "alpha": 0.7}]},
    {"type": "linear", "out_features": 6, "bias": false}, {"type": "sin"}, {"type": "dropout", "p": 0.2},
    {"type": "linear", "out_features": 2}]}}'

trained "a batch-norm net" 5 '{"data": {"inline": {"y": '"$(jq -c 'map(if .[0] + .[3] > 200 then 1 else 0 end)' "$scratch/rows")"'},
  "standardize": ["x"]}, "loss": "cross_entropy", "epochs": 20, "batch_size": 20, "optimizer": {"lr": 0.05},
  "model": {"layers": [{"type": "linear", "out_features": 12, "bias": false}, {"type": "batch_norm"}, {"type": "tanh"},
    {"type": "linear", "out_features": 9}, {"type": "batch_norm", "affine": false}, {"type": "leaky_relu", "negative_slope": 0.2},
    {"type": "linear", "out_features": 2}]}}'

trained "a series through causal convolutions, with two ways past them" 5 '{"data": {"inline": {"y": '"$(jq -c 'map(.[0] - .[1] * .[4])' "$scratch/rows")"'},
  "standardize": ["x", "y"]}, "loss": "mse", "epochs": 10, "batch_size": 20, "optimizer": {"type": "adam", "lr": 0.01},
  "model": {"layers": [{"type": "linear", "out_features": 12}, {"type": "reshape", "shape": [2, 6], "name": "s"},
    {"type": "conv1d", "out_channels": 4, "kernel_size": 3, "causal": true}, {"type": "tanh", "name": "a"},
    {"type": "conv1d", "out_channels": 4, "kernel_size": 2, "dilation": 2, "groups": 2, "causal": true}, {"type": "batch_norm"},
    {"type": "add", "input": ["a", "5"]}, {"type": "concat", "input": ["6", "s"]}, {"type": "permute", "dims": [2, 1]},
    {"type": "conv1d", "out_channels": 3, "kernel_size": 3, "padding": 1, "stride": 2, "bias": false}, {"type": "flatten"},
    {"type": "linear", "out_features": 1}]}}'

trained "a GRU on a GRU, of normalized channels and of windows" 5 '{"data": {"inline": {"y": '"$(jq -c 'map(.[0] - .[1] * .[4])' "$scratch/rows")"'},
  "standardize": ["x", "y"]}, "loss": "mse", "epochs": 10, "batch_size": 20, "optimizer": {"type": "adam", "lr": 0.01},
  "model": {"layers": [{"type": "linear", "out_features": 24}, {"type": "reshape", "shape": [4, 6]}, {"type": "instance_norm", "affine": true},
    {"type": "gru", "hidden_size": 5, "name": "g"}, {"type": "gru", "hidden_size": 5, "bias": false}, {"type": "add", "input": ["g", "4"]},
    {"type": "reshape", "shape": [2, 3, 5]}, {"type": "unfold", "kernel_size": [2, 3], "padding": [1, 0], "stride": [1, 2]},
    {"type": "instance_norm"}, {"type": "flatten"}, {"type": "linear", "out_features": 1}]}}'

random 40 120 0 2 >"$scratch/rows"
classes=$(jq -c '[range(length) | . % 3]' "$scratch/rows")
trained "a CNN, normalized, cropped to the middle" 1,12,10 '{"data": {"inline": {"y": '"$classes"'}, "shape": [1, 12, 10],
  "normalize": {"mean": 0.9, "std": 0.4}, "augment": {"shift": 1, "crop": [10, 9]}},
  "loss": "nll", "epochs": 6, "batch_size": 10, "optimizer": {"lr": 0.02, "momentum": 0.5},
  "model": {"layers": [{"type": "conv2d", "out_channels": 6, "kernel_size": 3, "padding": [1, 2], "dilation": [1, 2]},
    {"type": "max_pool2d", "kernel_size": 2}, {"type": "relu"},
    {"type": "conv2d", "out_channels": 8, "kernel_size": [3, 2], "stride": [1, 2], "groups": 2, "padding": 1}, {"type": "dropout2d"},
    {"type": "avg_pool2d", "kernel_size": 2, "stride": 1, "padding": 1}, {"type": "sigmoid"}, {"type": "flatten"}, {"type": "dropout"},
    {"type": "linear", "out_features": 3}, {"type": "log_softmax"}]}}'

trained "pictures beside columns, and a U of two sizes" 120 '{"data": {"inline": {"y": '"$classes"'}},
  "loss": "cross_entropy", "epochs": 4, "batch_size": 10, "optimizer": {"lr": 0.02},
  "model": {"layers": [{"type": "slice", "length": 100}, {"type": "reshape", "shape": [1, 10, 10]},
    {"type": "conv2d", "out_channels": 3, "kernel_size": 3, "padding": 1}, {"type": "relu", "name": "wide"},
    {"type": "permute", "dims": [1, 3, 2]}, {"type": "conv2d", "out_channels": 3, "kernel_size": 3, "padding": 1, "name": "deep"},
    {"type": "mul", "input": ["wide", "deep"]}, {"type": "concat", "input": ["6", "wide"], "name": "u"},
    {"type": "adaptive_avg_pool2d", "output_size": [3, 2]}, {"type": "flatten", "name": "picture"},
    {"type": "slice", "input": "x", "start": 100}, {"type": "linear", "out_features": 8}, {"type": "silu", "name": "columns_"},
    {"type": "concat", "input": ["picture", "columns_"]}, {"type": "linear", "out_features": 3}]}}'

trained "a residual CNN with norms and uneven windows" 2,6,10 '{"data": {"inline": {"y": '"$classes"'}, "shape": [2, 6, 10],
  "normalize": {"mean": [1, 0.5], "std": [0.5, 0.25]}},
  "loss": "cross_entropy", "epochs": 4, "batch_size": 10, "optimizer": {"lr": 0.02},
  "model": {"layers": [{"type": "residual", "layers": [{"type": "conv2d", "out_channels": 2, "kernel_size": 3, "padding": 1, "bias": false},
      {"type": "batch_norm"}, {"type": "residual", "layers": [{"type": "layer_norm"}]}, {"type": "relu"}]},
    {"type": "adaptive_avg_pool2d", "output_size": [4, 3]}, {"type": "layer_norm", "affine": false},
    {"type": "conv2d", "out_channels": 4, "kernel_size": 1}, {"type": "adaptive_avg_pool2d", "output_size": 1}, {"type": "flatten"},
    {"type": "linear", "out_features": 3}, {"type": "softmax"}]}}'

jq -c '[range(30) | . as $r | [range(4) | (. * 5 + $r * 3) % 7]]' <<<null >"$scratch/rows"
trained "an embedding" 4 '{"data": {"inline": {"y": '"$(jq -c 'map(add)' "$scratch/rows")"'}, "standardize": ["y"]}, "loss": "mae",
  "epochs": 5, "model": {"layers": [{"type": "embedding", "num_embeddings": 7, "embedding_dim": 3}, {"type": "relu"},
    {"type": "linear", "out_features": 1}]}}'

# Images kept as bytes: an archive of NPY files, as Keras has them.
python3 - "$scratch/images.npz" >"$scratch/rows" <<'PYTHON'
import json, random, struct, sys, zipfile
random.seed(7)
def npy(shape, kind, raw):
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + raw
images = [[random.randrange(256) for _ in range(64)] for _ in range(50)]
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    archive.writestr("x_train.npy", npy((50, 8, 8), "|u1", bytes(sum(images, []))))
    archive.writestr("y_train.npy", npy((50,), "|u1", bytes(i % 3 for i in range(50))))
print(json.dumps(images[:20]))
PYTHON
http PUT /v1/datasets/images -T "$scratch/images.npz"
expect 201
submit '{"data": {"dataset": "images", "normalize": {"mean": 0.13, "std": 0.31}}, "loss": "cross_entropy", "epochs": 5, "batch_size": 10,
  "model": {"layers": [{"type": "conv2d", "out_channels": 4, "kernel_size": 3}, {"type": "batch_norm"}, {"type": "relu"},
    {"type": "max_pool2d", "kernel_size": 2}, {"type": "flatten"}, {"type": "linear", "out_features": 3}]}}'
finish "$id"
compared "a batch-norm CNN on images of bytes" 1,8,8

# The comparison can fail.
wrong_case 'map(map(. + 0.00001))' "predictions that are off by 0.00001"

# Tables as people have them: words, dates, gaps. Raw cells go in, names of classes and probabilities come out.
python3 - >"$scratch/people.csv" <<'PYTHON'
import random
random.seed(19)
print("class,y,town hall,stars,grade,fare,weight,born,seen,clock,member,kind,price")
for i in range(300):
    gap = lambda text: "" if random.random() < 0.1 else str(text)
    town = random.choice(["Oslo", "Århus", "New York", "Oslo", "rare " + str(i % 40)])
    fare, stars, born = random.randrange(1000) / 8, random.randrange(1, 6), random.randrange(1890, 2024)
    score = fare / 25 + stars - (3 if town == "Oslo" else 0) + (born - 1950) / 40
    print(",".join([gap(random.choice(["First", "Second", "Third"])), gap(random.randrange(-500, 500) / 4), gap(town), gap(stars),
                    gap(random.choice(["low", "middle", "high"])), gap(fare), gap(random.randrange(1, 10**6) / 16),
                    gap(f"{born}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"),
                    gap(f"2023-0{random.randrange(1, 7)}-17T{random.randrange(24):02}:{random.randrange(60):02}:07"),
                    gap(f"{random.randrange(24):02}:{random.randrange(60):02}:00"), gap(random.choice(["true", "false"])),
                    "cat" if score < 3 else "dog" if score < 6 else "émeu", str(1000 + 37 * score)]))
PYTHON
http PUT /v1/datasets/people -T "$scratch/people.csv"
expect 201
http GET /v1/datasets/people
cp "$body" "$scratch/dataset"
check "types of the columns" '[.columns[].type] == ["category", "number", "category", "number", "category", "number", "number", "date", "date",
  "date", "category", "category", "number"]'
python3 - >"$scratch/rows" <<'PYTHON'
import itertools, json, random
random.seed(20)
values = {"class": ["First", "Third", "Fourth", None], "y": [-31.25, 0, 77, None], "town hall": ["Oslo", "Århus", "New York", "rare 3", "x", None],
          "stars": [1, 3, 5, 9, None], "grade": ["low", "middle", "high", "highest", None], "fare": [0, 12.5, 900, None],
          "weight": [-2.5, 0, 4096, 62000.125, None], "clock": ["00:00:00", "12:34:56", "23:59:59", None], "member": ["true", "false", None],
          "seen": ["2023-01-17T00:00:00", "2023-06-17T23:59:59", "1931-05-03T04:05:06", None],
          "born": ["0001-01-01", "1582-10-15", "1899-12-31", "1900-02-28", "1900-03-01", "1969-12-31", "1970-01-01", "2000-02-29", "2000-12-31",
                   "2023-02-28", "2024-02-29", "2100-02-28", "9999-12-31", None]}
print(json.dumps([{name: random.choice(values[name]) if name != "born" else born for name in values}
                  for born in values["born"] for _ in range(12)]))
PYTHON

# raw NAME SPEC: a job on the people, asked by the names of its columns, as a graph and over HTTP.
raw() {
  submit "$2"
  finish "$id"
  case_begin "$1" columns '{}'
  http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"rows\": $(<"$scratch/rows")}"
  expect 200
  cp "$body" "$case/predicted"
  cp "$scratch/dataset" "$case/dataset"
}
network='"epochs": 20, "batch_size": 32, "optimizer": {"type": "adam", "lr": 0.01}, "model": {"layers": [{"type": "linear", "out_features": 12},
  {"type": "tanh"}, {"type": "linear", "out_features": OUTPUTS}]}}'
raw "words, dates and gaps to one of three" '{"data": {"dataset": "people", "target": "kind", "exclude": ["price"]}, "loss": "cross_entropy",
  '"${network/OUTPUTS/3}"
raw "every encoding" '{"data": {"dataset": "people", "target": "kind", "exclude": ["price"], "columns": {"class": {"missing": "most_frequent"},
  "stars": {"type": "category"}, "grade": {"encode": "ordinal"}, "fare": {"scale": "minmax", "missing": "mean", "indicator": false},
  "weight": {"scale": "log1p", "missing": {"value": -3}}, "y": {"scale": "none", "missing": "zero"}, "town hall": {"min_count": 20, "indicator": true},
  "born": {"indicator": true}, "clock": {"type": "ignore"}, "member": {"encode": "ordinal", "scale": "none"}}},
  "loss": "nll", "epochs": 20, "batch_size": 32, "model": {"layers": [{"type": "linear", "out_features": 3}, {"type": "log_softmax"}]}}'
raw "words and numbers that are embedded or hashed" '{"data": {"dataset": "people", "target": "kind", "exclude": ["price"],
  "columns": {"town hall": {"min_count": 2}, "class": {"encode": "embedding", "indicator": false}, "grade": {"encode": "hash", "buckets": 5},
  "member": {"encode": "embedding", "missing": "most_frequent"}, "stars": {"type": "category", "encode": "embedding", "min_count": 55}}},
  "loss": "cross_entropy", '"${network/OUTPUTS/3}"
raw "columns by name into branches, some embedded" '{"data": {"dataset": "people", "target": "kind", "exclude": ["price"],
  "columns": {"town hall": {"min_count": 2}, "class": {"encode": "embedding", "indicator": false}}}, "loss": "cross_entropy", "epochs": 20,
  "batch_size": 32, "optimizer": {"type": "adam", "lr": 0.01}, "model": {"layers": [
    {"type": "slice", "columns": ["town*", "fare", "class", "stars"]}, {"type": "linear", "out_features": 8}, {"type": "tanh", "name": "words"},
    {"type": "slice", "input": "x", "columns": ["y", "weight", "born", "grade", "member"]}, {"type": "linear", "out_features": 8},
    {"type": "silu", "name": "numbers"}, {"type": "mul", "input": ["words", "numbers"]}, {"type": "concat", "input": ["6", "words", "numbers"]},
    {"type": "linear", "out_features": 3}]}}'
http GET "/v1/jobs/$id"
check "the places of the columns are filled in" '.spec.model.layers[0].places | length > 1'
raw "columns that are all embedded" '{"data": {"dataset": "people", "target": "kind", "features": ["town hall", "grade"],
  "columns": {"grade": {"encode": "embedding"}}}, "loss": "cross_entropy", '"${network/OUTPUTS/3}"
raw "numbers that are hashed" '{"data": {"dataset": "people", "target": "kind", "features": ["stars", "fare"],
  "columns": {"stars": {"type": "category", "encode": "hash", "indicator": true}}}, "loss": "cross_entropy", '"${network/OUTPUTS/3}"
raw "numbers that are ordinals" '{"data": {"dataset": "people", "target": "kind", "features": ["stars", "grade"],
  "columns": {"stars": {"type": "category", "encode": "ordinal", "min_count": 55}}}, "loss": "cross_entropy", '"${network/OUTPUTS/3}"
raw "a yes or no" '{"data": {"dataset": "people", "target": "member", "exclude": ["price", "kind"]}, "loss": "bce_with_logits",
  '"${network/OUTPUTS/1}"
for change in '.probabilities[0][1] += 0.0001' '.classes[0] = "maybe"' '.predictions[1][0] += 0.001'; do
  wrong_case "$change" "$change"
done
raw "values in units of the target" '{"data": {"dataset": "people", "target": "price", "exclude": ["kind"], "standardize": ["y"]}, "loss": "mse",
  '"${network/OUTPUTS/1}"

(cd "$runtime" && node compare.mjs "$scratch/cases") || fail "see above"
if [[ -z $checker ]]; then
  echo "python3-onnx is not installed: its checker did not look at the files"
  exit
fi
"$checker" - "$scratch"/cases/* <<'PYTHON' || fail "the checker refuses a file"
import json
import sys
import onnx
for case in sys.argv[1:]:
    model = onnx.load(f"{case}/model.onnx")
    onnx.checker.check_model(model, full_check=True)
    if json.load(open(f"{case}/case"))["kind"] == "predict":
        assert model.ir_version == 8 and [o.version for o in model.opset_import] == [17], model.opset_import
        assert model.producer_name == "epochd" and model.producer_version
PYTHON
