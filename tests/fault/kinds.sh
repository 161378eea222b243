#!/usr/bin/env bash
# Each kind of file of a data folder, deleted, emptied, cut, lengthened and with one wrong bit: epochd --check names all, but
# for a bit of the store that may be of no row, and the end of a log of a job that waits: a kill leaves the same, and what
# it lacks is trained again.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
skip_if_sanitized
daemon_start
{ echo a,b,c; for ((i = 0; i < 60; i++)); do echo "$i,w$((i % 3)),$((2 * i))"; done; } >"$scratch/table.csv"
http PUT /v1/datasets/table -T "$scratch/table.csv"
expect 201
for part in train test; do
  printf '%s\n' 1 2 3 4 5 6 | curl -sSf -T - "$url/v1/datasets/parts/$part/x" >/dev/null
  printf '%s\n' 0 1 0 1 0 1 | curl -sSf -T - "$url/v1/datasets/parts/$part/y" >/dev/null
done
spec='{"data": {"dataset": "table", "target": "c", "test": 0.2, "validation": 0.2}, "loss": "mse", "epochs": 5,
       "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
submit "$(jq -c '.timelapse_every = 5 | .checkpoint = {every_seconds: 0}' <<<"$spec")"
finish "$id"
for format in json npz onnx c; do curl -sSf "$url/v1/jobs/$id/weights?format=$format" -o /dev/null; done
curl -sSf "$url/v1/jobs/$id/weights" | curl -sSf -T - "$url/v1/datasets/start" >/dev/null
http PUT /v1/models/model "${json[@]}" -d "{\"job\": \"$id\"}"
expect 201
sweep_submit "$(jq -c '{job: ., search: "random", max_trials: 3, metric: "validation.loss", space: {"/optimizer/lr": {log_uniform: [0.001, 0.1]}}}' <<<"$spec")"
sweep_finish "$id"
# one that waits, with a checkpoint
submit "$(xor_job "$endless" '{"checkpoint": {"every_seconds": 0}}')"
until_so "the job trains" has_trained
http POST "/v1/jobs/$id/pause"
is_paused() { http GET "/v1/jobs/$id" && [[ $(jq -r .status "$body") == paused ]]; }
until_so "the job is paused" is_paused
daemon_stop
waiting=$id

mv "$data_dir" "$scratch/whole"
# named KIND FILE: --check finds the fault.
damaged=0
declare -A seen=()
named() {
  local status=0
  "$build/bin/epochd" --check --data-dir "$data_dir" >"$scratch/faults" 2>>"$log" || status=$?
  ((status == 1)) || fail "$1 of $2 is not found: $(<"$scratch/faults")"
  damaged=$((damaged + 1))
}
flip() {
  python3 - "$1" <<'PYTHON'
import os, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(os.path.getsize(sys.argv[1]) // 2)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 1]))
PYTHON
}
cd "$scratch/whole" || exit 1
while read -r file; do
  # of further files of a kind: that each is missed
  kind_of=$(sed -E "s#$waiting#WAITING#; s#(job|swp)_[0-9a-z]+#\1#; s#[0-9a-f]{64}#SHA256#; s#-[0-9]+\.#-N.#" <<<"$file")
  kinds="delete empty cut flip grow"
  [[ -z ${seen[$kind_of]:-} ]] || kinds=delete
  seen[$kind_of]=1
  [[ $file != "jobs/$waiting/events.ndjson" ]] || kinds="delete empty flip"
  [[ $file != epochd.sqlite ]] || kinds="delete empty cut grow"
  for kind in $kinds; do
    rm -rf "$data_dir"
    cp -a "$scratch/whole" "$data_dir"
    case $kind in
      delete) rm "$data_dir/$file" ;;
      empty) : >"$data_dir/$file" ;;
      cut) truncate -s $(($(stat -c %s "$file") / 2)) "$data_dir/$file" ;;
      grow) printf x >>"$data_dir/$file" ;;
      flip) flip "$data_dir/$file" ;;
    esac
    named "$kind" "$file"
  done
done < <(find . -type f -printf '%P\n' | grep -v '^lock$\|^ballast$\|^tmp/\|^calibration/\|^epochd.sqlite-' | sort)
((${#seen[@]} >= 26)) || fail "only ${#seen[@]} kinds of file were damaged: ${!seen[*]}"
rm -rf "$data_dir"
cp -a "$scratch/whole" "$data_dir"
for folder in "$data_dir"/jobs/job_*; do : >"$folder/weights.safetensors.tmp"; done # of writers that were killed
"$build/bin/epochd" --check --data-dir "$data_dir" >"$scratch/faults" 2>>"$log" || fail "--check finds $(<"$scratch/faults") in a whole folder"
echo "ok: $damaged damages of ${#seen[@]} kinds of file, each named"

# On a terminal it says how far it is, and in a pipe nothing: on a disk that holds a file up.
export EPOCHD_TEST_CALLS=$scratch/calls EPOCHD_TEST_CALLS_UNDER=$data_dir
disk_is --kind open --part "jobs/$waiting/spec.json" --delay-ms 2500
slow_check() { LD_PRELOAD=$build/tests/fault/libcall_faults.so "$build/bin/epochd" --check --data-dir "$data_dir"; }
slow_check >"$scratch/faults" 2>"$scratch/piped" || fail "--check finds $(<"$scratch/faults")"
[[ ! -s $scratch/piped ]] || fail "--check has printed into a pipe: $(<"$scratch/piped")"
python3 - "$build" "$data_dir" "$scratch/screen" <<'PYTHON' || fail "--check on a terminal ends with $?"
import os, pty, sys
build, data, screen = sys.argv[1:]
os.environ["LD_PRELOAD"] = build + "/tests/fault/libcall_faults.so"
with open(screen, "wb") as file:
    def read(terminal):
        file.write(shown := os.read(terminal, 4096))
        return shown
    status = pty.spawn([build + "/bin/epochd", "--check", "--data-dir", data], read)
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON
grep -q '^checking specs of jobs: [0-9]* done' "$scratch/screen" || fail "a terminal shows $(<"$scratch/screen")"
echo "ok: --check says on a terminal how far it is"
