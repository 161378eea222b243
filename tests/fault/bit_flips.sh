#!/usr/bin/env bash
# One bit of one file of a data folder changes while the daemon is stopped: it is noticed or harmless, whichever
# bit it is. bit_flips.py has the flips, which depend on the seed alone, and prints a table.
# EPOCHD_FAULT_FLIPS: how many; EPOCHD_FAULT_SEED: which; EPOCHD_FAULT_FILE: of one kind of file, as in the table.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
skip_if_sanitized

# A folder with all kinds of files: jobs that ended, one that was not begun, data of one upload and of
# parts, weights as an upload, a published model, formats of weights.
daemon_start
{ echo a,b; for ((i = 0; i < 60; i++)); do echo "$i,$((3 * i % 17))"; done; } >"$scratch/table.csv"
http PUT /v1/datasets/table -T "$scratch/table.csv"
expect 201
python3 - "$scratch" <<'PYTHON'
import struct, sys
def npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head = head.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values))
npy(sys.argv[1] + "/x", (20, 3), [i / 7 for i in range(60)])
npy(sys.argv[1] + "/y", (20, 1), [i / 3 for i in range(20)])
PYTHON
for part in x y; do
  http PUT "/v1/datasets/parts/train/$part" -T "$scratch/$part"
  expect 20"$([[ $part == x ]] && echo 1 || echo 0)"
done
regression='{"model": {"layers": [{"type": "linear", "out_features": 3}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]},
  "loss": "mse", "epochs": 30, "seed": 5}'
submit "$(jq -c '. + {data: {dataset: "table", target: "b", test: 0.25, standardize: ["x", "y"]}}' <<<"$regression")"
finish "$id"
first=$id
for format in json npz onnx; do
  http GET "/v1/jobs/$first/weights?format=$format"
  expect 200
done
http GET "/v1/jobs/$first/weights"
http PUT /v1/datasets/start -T "$body"
expect 201
http PUT /v1/models/model "${json[@]}" -d "{\"job\": \"$first\"}"
expect 201
submit "$(jq -c '. + {data: {dataset: "parts"}}' <<<"$regression")"
finish "$id"
submit "$(jq -c --arg job "$first" '. + {data: {dataset: "table", target: "b"}} | .model.init = {weights: "start"}' <<<"$regression")"
finish "$id"
submit "$(xor_job 200)"
finish "$id"
calibrated() { compgen -G "$data_dir/calibration/*" >/dev/null; }
until_so "the CPU is calibrated" calibrated
daemon_stop

python3 "$(dirname "${BASH_SOURCE[0]}")/bit_flips.py" "$build/bin/epochd" "$data_dir" "$scratch" --flips "${EPOCHD_FAULT_FLIPS:-40}" \
  --seed "${EPOCHD_FAULT_SEED:-1}" ${EPOCHD_FAULT_FILE:+--only "$EPOCHD_FAULT_FILE"} || fail "a flipped bit was neither noticed nor harmless"
