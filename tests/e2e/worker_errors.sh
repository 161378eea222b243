#!/usr/bin/env bash
# What workers write to stderr becomes records of the log, a line each, with the device and the job.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

# A worker that writes before it begins, beside its work, and without an end of line when it is killed.
cat >"$scratch/worker" <<EOF
#!/usr/bin/env bash
echo 'from the "start"' >&2
[[ \$1 == --list ]] || (
  while kill -0 \$\$ 2>/dev/null; do
    if [[ -e $scratch/write ]]; then
      printf 'many %.0s' {1..300}
      printf 'one\377two\n'
      printf 'no end'
      break
    fi
    sleep 0.05
  done >&2
) &
exec "$build/bin/epoch-worker" "\$@"
EOF
chmod +x "$scratch/worker"
daemon_start --worker "$scratch/worker" --devices auto --log-format json
logged() { jq -r .message "$log" | grep -q "$1"; }
until_so "a line from the start of a worker" logged '^worker of device cpu: from the "start"$'
until_so "a line of who lists the devices" logged '^worker: from the "start"$'

submit "$(xor_job "$endless")"
runs() { http GET "/v1/jobs/$id" && jq -e '.status == "running"' "$body" >/dev/null; }
until_so "the job runs" runs
touch "$scratch/write"
until_so "a line of the worker that has the job" logged "^worker of device cpu, job $id: many many"
# shellcheck disable=SC2046
kill -9 $(pgrep -P "$daemon")
until_so "a line that has no end, of a worker that is dead" logged ': no end$'
jq -e -n '[inputs | has("time") and has("level") and has("message")] | all' "$log" >/dev/null ||
  fail "a line of the log is no record"
echo "ok: stderr is in the log"
http POST "/v1/jobs/$id/cancel"
ended "$id"
daemon_stop
