#!/usr/bin/env bash
# Exports that wait for the disk hold up no upload, and at SIGTERM running jobs end with a checkpoint while HTTP still waits.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
slow_disk_daemon_start
submit "$(xor_job 10)"
finish "$id"
done_job=$id

exports_ask() {
  for _ in 1 2 3 4; do
    curl -sS --max-time "$patience" "$url/v1/jobs/$done_job/weights?format=json" >/dev/null 2>&1 &
    own+=($!)
  done
}
disk_holds weights.json exports_ask
printf 'a,b\n1,2\n2,3\n3,4\n' >"$scratch/line.csv"
http PUT /v1/datasets/line -T "$scratch/line.csv"
expect 201
http GET "/v1/jobs/$done_job/plots"
expect 200
echo "ok: an upload and a plot beside exports that wait for the disk"

submit "$(xor_job "$endless" '{"checkpoint": {"every_seconds": 3600}}')"
until_so "the job trains" has_trained "$id"
kill -TERM "$daemon"
workers_gone() { ! pgrep -P "$daemon" -f epoch-worker >/dev/null; }
until_so "the workers have ended" workers_gone
kill -0 "$daemon" || fail "epochd did not wait for the exports: the test shows nothing"
disk_goes_on
wait "$daemon" || fail "epochd ended with $?"
daemon=
echo "ok: jobs were paused while HTTP ended"
