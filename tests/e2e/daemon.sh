# daemon.sh: starts an epochd for a test and sends it requests. Every script here sources it.
#
#   EPOCHD_BUILD        the build folder whose programs are tested (build/release)
#   EPOCHD_TEST_DATA    the folder that holds iron/linear.json and the others; may be unset
#   EPOCHD_TEST_DEVICE  the device that jobs ask for (cpu)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${EPOCHD_BUILD:-$here/../../build/release}
device=${EPOCHD_TEST_DEVICE:-cpu}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/epochd-test.XXXXXX")
data_dir=$scratch/data # the daemon's data folder
log=$scratch/epochd.log
daemon=                # its process, once daemon_start has run
url=                   # where it listens
declare -a own=()      # processes that this test started besides
costs=$build/tests-costs # what work costs on this CPU: measured by one test, which spares others two seconds of a processor
[[ -z ${EPOCHD_SANITIZE:-} ]] || costs= # a sanitizer looks at each measurement

# A busy machine takes minutes for what an idle one does in milliseconds. So nothing is timed, unless the
# time is the subject of the test.
patience=240     # seconds for whatever should happen; also in tests/wait.h
endless=900000000 # epochs of a job that will be cancelled: it must not end before

ndjson=(-H 'Accept: application/x-ndjson')
json=(-H 'Content-Type: application/json')

# At the end a daemon that still runs must end cleanly, and no sanitizer may have found anything.
leave() {
  local status=${1:-$?} process
  trap - EXIT
  if ((status == 0)) && [[ -n $daemon ]]; then terminated || status=1; fi
  ((status != 0)) || costs_keep
  if grep -s -a -A 30 'ERROR: [A-Za-z]*Sanitizer\|WARNING: ThreadSanitizer\|runtime error:' "$scratch"/*.log; then
    echo "FAILED: a sanitizer found something"
    status=1
  fi
  for process in ${own[@]+"${own[@]}"} $daemon; do
    kill -9 "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if ((status != 0 && status != 77)) && [[ -s $log ]]; then
    echo "the end of the daemon's log:"
    tail -n 20 "$log" | cut -c 1-400
  fi
  rm -rf "$scratch"
  exit "$status"
}
trap leave EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

# For a test that takes minutes under a sanitizer, where shorter tests run the same code.
skip_if_sanitized() { [[ -z ${EPOCHD_SANITIZE:-} ]] || skip "too long under a sanitizer"; }

# until_so WHAT COMMAND…: waits until the command succeeds.
until_so() {
  local what=$1 until=$((SECONDS + patience))
  shift
  until "$@"; do
    ((SECONDS < until)) || fail "not in $patience s: $what"
    sleep 0.05
  done
}

# need_data FILE: prints the path of one of the seeds' files, or skips the test.
need_data() {
  [[ -n ${EPOCHD_TEST_DATA:-} ]] || skip "EPOCHD_TEST_DATA is not set"
  [[ -r $EPOCHD_TEST_DATA/$1 ]] || skip "there is no $EPOCHD_TEST_DATA/$1"
  file=$EPOCHD_TEST_DATA/$1
}

# small_disk SIZE: the data folder is a disk of its own, of that size; or skips the test.
small_disk() {
  mkdir -p "$data_dir"
  mount -t tmpfs -o "size=$1" tmpfs "$data_dir" 2>/dev/null || skip "a tmpfs cannot be mounted here"
  trap 'status=$?; umount -l "$data_dir"; leave "$status"' EXIT
}

costs_take() {
  [[ -n $costs && -s $costs/cpu.json && ! -e $data_dir/calibration ]] || return 0
  mkdir -m 0700 "$data_dir/calibration" # as epochd makes it
  cp "$costs/cpu.json" "$data_dir/calibration/"
}

costs_keep() { # tests may run side by side
  [[ -n $costs && -s $data_dir/calibration/cpu.json ]] || return 0
  ! cmp -s "$data_dir/calibration/cpu.json" "$costs/cpu.json" || return 0
  mkdir -p "$costs"
  cp "$data_dir/calibration/cpu.json" "$costs/cpu.json.$$"
  mv "$costs/cpu.json.$$" "$costs/cpu.json"
}

# daemon_start FLAGS…: starts epochd on a free port and waits until it answers.
daemon_start() {
  [[ -x $build/bin/epochd ]] || fail "there is no $build/bin/epochd"
  mkdir -p "$data_dir"
  costs_take
  [[ ! -s $log ]] || cat "$log" >>"$scratch/earlier.log"
  : >"$log"
  "$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" --devices "$device" "$@" 2>>"$log" &
  daemon=$!
  until_so "epochd says where it listens" listens
  curl -sSf --max-time "$patience" "$url/livez" >/dev/null || fail "epochd does not answer /livez"
}

# slow_disk_daemon_start FLAGS…: the same, on a disk that fails or waits as it is told (call_faults.c). Not under a
# sanitizer, which would have to be preloaded first.
slow_disk_daemon_start() {
  skip_if_sanitized
  export EPOCHD_TEST_CALLS=$scratch/calls EPOCHD_TEST_CALLS_UNDER=$data_dir
  [[ -e $EPOCHD_TEST_CALLS ]] || disk_goes_on
  export LD_PRELOAD=$build/tests/fault/libcall_faults.so
  daemon_start "$@"
  unset LD_PRELOAD
}

# disk_holds PART [COMMAND…]: from now on the disk takes no file whose path has PART in it, until disk_goes_on. Runs the
# command, and returns once a file waits.
disk_holds() {
  disk_is --kind fsync --part "$1" --delay-ms $((10000 * patience))
  [[ $# == 1 ]] || "${@:2}"
  until_so "$1 waits for the disk" disk_is --fired
}
# disk_fails PART: the same with a disk that fails with EIO.
disk_fails() { disk_is --kind fsync --part "$1" --number 5; }
disk_is() { python3 "$here/../fault/faulty.py" "$EPOCHD_TEST_CALLS" "$@"; }
disk_goes_on() { disk_is; }

listens() {
  kill -0 "$daemon" 2>/dev/null || fail "epochd ended while it started"
  url=$(grep -om1 'listening on https\?://[^" ]*' "$log" | cut -d ' ' -f 3) && [[ -n $url ]]
}

# Sends SIGTERM; false unless epochd then ends with status 0.
terminated() {
  local status=0 until=$((SECONDS + patience))
  kill "$daemon" 2>/dev/null || true
  while kill -0 "$daemon" 2>/dev/null; do
    if ((SECONDS > until)); then
      echo "FAILED: epochd still runs $patience s after SIGTERM"
      return 1
    fi
    sleep 0.02
  done
  wait "$daemon" 2>/dev/null || status=$?
  daemon=
  ((status == 0)) || echo "FAILED: epochd ended with status $status after SIGTERM"
  return "$status"
}

daemon_stop() { terminated || exit 1; }

# http METHOD PATH CURL-OPTIONS…: the body goes to $body (a file), the headers to $headers, the
# status code to $code.
body=$scratch/body
headers=$scratch/headers
code=
http() {
  local method=$1 path=$2
  shift 2
  local request=(-X "$method")
  [[ $method == HEAD ]] && request=(--head)
  code=$(curl -sS --max-time "$patience" "${request[@]}" -D "$headers" -o "$body" -w '%{http_code}' "$url$path" "$@") ||
    fail "$method $path: curl failed with status $?"
  ! grep -qaF -e "$data_dir/" -e "$scratch/disk/" "$body" ||
    fail "$method $path: the answer has a path of the data folder: $(grep -aF -e "$data_dir/" -e "$scratch/disk/" "$body" | head -c 600)"
}

# expect CODE: the last answer's status.
expect() {
  [[ $code == "$1" ]] || fail "expected $1, was answered $code: $(head -c 600 "$body" 2>/dev/null)"
}

# header NAME: that header of the last answer.
header() { tr -d '\r' <"$headers" | awk -v name="${1,,}:" 'tolower($1) == name {sub(/^[^ ]* /, ""); print; exit}'; }

# upload_images NAME FOLDER: the dataset NAME of the four IDX files in FOLDER, part by part.
upload_images() {
  local part
  for part in train/x:train-images-idx3 train/y:train-labels-idx1 test/x:t10k-images-idx3 test/y:t10k-labels-idx1; do
    http PUT "/v1/datasets/$1/${part%:*}" -T "$2/${part#*:}-ubyte.gz"
    [[ $code == 20[01] ]] || expect 201
  done
}

# submit JOB: queues the job, on the device under test; its id goes to $id.
id=
submit() {
  local job
  job=$(jq -c --arg device "$device" '{device: $device} + .' <<<"$1") || fail "no JSON: $1"
  http POST /v1/jobs "${json[@]}" -d "$job"
  expect 201
  id=$(jq -r .id "$body")
}

# finish ID [SECONDS]: waits until the job has ended; $body is the job then, and it must have succeeded.
finish() {
  ended "$@"
  [[ $(jq -r .status "$body") == succeeded ]] || fail "the job did not succeed: $(jq -c '{status, error}' "$body")"
}

ended() {
  local until=$((SECONDS + ${2:-$patience}))
  while ((SECONDS <= until)); do
    http GET "/v1/jobs/$1?wait=5"
    expect 200
    case $(jq -r .status "$body") in succeeded | failed | cancelled) return ;; esac
  done
  fail "the job has not ended in ${2:-$patience} s: $(jq -c '{status, progress, device}' "$body")"
}

# events_read ID: the events of a job or a sweep that has ended go to $body, to its end: they are followed, as the state
# is shown a moment before the end is logged.
events_read() {
  local kind=jobs
  [[ $1 != swp_* ]] || kind=sweeps
  http GET "/v1/$kind/$1/events"
  expect 200
}

# values_of ID: a job's weights, without what says where they were trained.
values_of() {
  http GET "/v1/jobs/$1/weights"
  expect 200
  python3 "$here/weights_values.py" "$body"
}

# Whether the job $id runs and has trained an epoch.
has_trained() {
  http GET "/v1/jobs/$id"
  expect 200
  [[ $(jq -r '.status + (.progress.epoch > 0 | tostring)' "$body") == runningtrue ]]
}

# sweep_submit REQUEST: its id goes to $id.
sweep_submit() {
  http POST /v1/sweeps "${json[@]}" -d "$1"
  expect 201
  id=$(jq -r .id "$body")
}

# sweep_is STATE: whether the sweep $id is so.
sweep_is() {
  http GET "/v1/sweeps/$id?wait=1"
  expect 200
  local status
  status=$(jq -r .status "$body")
  [[ $status != failed || $1 == failed ]] || fail "the sweep failed: $(jq -c .error "$body")"
  [[ $status == "$1" ]]
}

sweep_finish() { until_so "the sweep succeeds" sweep_is succeeded; }

# check WHAT FILTER ARGUMENTS…: the jq filter must hold of $body.
check() {
  local what=$1 filter=$2
  shift 2
  jq -e "$@" "$filter" "$body" >/dev/null || fail "$what: not so ($filter) in $(head -c 1500 "$body")"
  echo "ok: $what"
}

# sequence FILE FIRST: the events in FILE are numbered from FIRST without a gap and without a double.
sequence() {
  jq -s -e --argjson first "$2" '[.[].seq] == [range($first; $first + length)]' "$1" >/dev/null ||
    fail "events of $1 are not numbered $2, $(($2 + 1)), …: $(jq -c .seq "$1" | paste -sd' ' | head -c 400)"
}

# xor_job EPOCHS EXTRA: the JSON of an XOR job; EXTRA is an object that is laid over it.
xor_job() {
  jq -nc --argjson epochs "$1" --argjson extra "${2:-{\}}" '{
    data: {generator: "xor"},
    model: {layers: [{type: "linear", out_features: 4}, {type: "tanh"}, {type: "linear", out_features: 1}]},
    loss: "bce_with_logits", optimizer: {type: "sgd", lr: 0.5, momentum: 0.9}, epochs: $epochs} + $extra'
}

# The seconds that the workers have had of a processor.
worker_seconds() {
  # shellcheck disable=SC2046
  awk -v hertz="$(getconf CLK_TCK)" '{sub(/^.*\) /, ""); ticks += $12 + $13} END {print ticks / hertz}' \
    $(pgrep -P "$daemon" | sed 's|.*|/proc/&/stat|')
}

# epochs_lasting SECONDS: how many epochs of XOR take so long here, or longer on a machine that is busy; in $epochs.
# Measured on a job of about half a second, because the first milliseconds say little, and in processor time,
# because the machine's load may change.
epochs=20000
epochs_lasting() {
  local before
  submit "$(xor_job 20000 '{"report_every": 20000}')"
  finish "$id"
  epochs=$(jq '0.5e6 / .timing.epoch_microseconds | floor' "$body")
  before=$(worker_seconds)
  submit "$(xor_job "$epochs" "{\"report_every\": $epochs}")"
  finish "$id"
  epochs=$(jq --argjson seconds "$1" --argjson had "$(worker_seconds)" --argjson before "$before" \
    --argjson epochs "$epochs" --argjson most "$endless" \
    '[.timing.epoch_microseconds * 1e-6, if .device == "cpu" then ($had - $before) / $epochs else infinite end] |
     min as $each | [$seconds / $each | floor, $most] | min' "$body")
}
