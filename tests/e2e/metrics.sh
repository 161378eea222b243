#!/usr/bin/env bash
# /metrics: the format and Prometheus's conventions, values that change as they should, rules and a
# dashboard whose metrics exist, and the commands of docs/monitoring.md.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
docs=$here/../../docs
monitoring=$docs/prometheus
daemon_start --cpu-jobs 1 # the queue is what is looked at

scrape() {
  http GET /metrics
  expect 200
  cp "$body" "$scratch/metrics"
  python3 "$here/metrics.py" check "$scratch/metrics" >"$scratch/checked" || fail "the metrics are refused"
}

# metric SAMPLE: its value at the last scrape, 0 when it is not there.
metric() { python3 "$here/metrics.py" value "$scratch/metrics" "$1" || fail "there is no $1"; }

# reaches SAMPLE VALUE: it is that at a new scrape.
reaches() { scrape && [[ $(metric "$1") == "$2" ]]; }

# grew SAMPLE FROM BY: it is BY more than FROM.
grew() {
  local now
  now=$(metric "$1")
  [[ $(jq -n "$now - $2 == $3") == true ]] || fail "$1 went from $2 to $now, not by $3"
}

# holds SAMPLE CONDITION: the jq condition is true of its value.
holds() { [[ $(jq -n "$(metric "$1") | $2") == true ]] || fail "$1 is $(metric "$1"): not $2"; }

ready() { http GET /readyz && [[ $code == 200 ]]; } # before, the device has no memory yet
until_so "the device is ready" ready
scrape
[[ $(header Content-Type) == "text/plain; version=0.0.4; charset=utf-8" ]] || fail "it came as $(header Content-Type)"
version=$("$build/bin/epochd" --version | cut -d ' ' -f 2)
holds "epochd_build_info{version=\"$version\"}" '. == 1'
holds process_start_time_seconds "(. - $(date +%s)) | fabs < 60"
holds process_resident_memory_bytes '. > 1e6 and . < 4e9'
holds process_max_fds '. >= 64'
holds process_open_fds '. > 5 and . < 1000'
holds epochd_data_folder_free_bytes '. > 0'
holds epochd_data_folder_reserve_bytes '. == 67108864'
holds "epochd_device_info{device=\"$device\"}" '. == 0' # it has more labels than that
holds "epochd_device_memory_bytes{device=\"$device\"}" '. > 1e6'
for sample in epochd_jobs_submitted_total epochd_epochs_trained_total 'epochd_jobs_finished_total{outcome="failed"}'; do
  holds "$sample" '. == 0'
done

# a job that succeeds
lines=$(metric epochd_event_lines_total)
submit "$(xor_job 2000 '{"report_every": 100}')"
finish "$id"
train=$(jq .timing.train_seconds "$body")
events_read "$id"
written=$(grep -c . "$body")
until_so "the end is counted" reaches 'epochd_jobs_finished_total{outcome="succeeded"}' 1 # a moment after it is shown
grew epochd_event_lines_total "$lines" "$written"
holds epochd_jobs_submitted_total '. == 1'
holds 'epochd_jobs{state="succeeded"}' '. == 1'
holds epochd_epochs_trained_total '. == 2000'
holds epochd_samples_trained_total '. == 8000'
holds epochd_job_queue_seconds_count '. == 1'
holds epochd_job_train_seconds_count '. == 1'
holds epochd_job_train_seconds_sum "(. - $train) | fabs < 2e-6"
holds "epochd_device_busy_seconds_total{device=\"$device\"}" ". >= $train * 0.5 and . < $patience"
holds 'epochd_http_requests_total{route="/v1/jobs",method="POST",code="2xx"}' '. == 1'
holds 'epochd_http_requests_total{route="/v1/jobs/{id}/events",method="GET",code="2xx"}' '. == 1'
echo "ok: a job moves what it should"

# one that fails, one that is refused, one that is cancelled
http POST /v1/jobs "${json[@]}" -d "$(xor_job 50 "{\"device\": \"$device\", \"loss\": \"mse\", \"optimizer\": {\"type\": \"sgd\", \"lr\": 1e30}}")"
expect 201
failed=$(jq -r .id "$body")
ended "$failed"
http POST /v1/jobs "${json[@]}" -d '{}'
expect 422
submit "$(xor_job "$endless")"
running=$id
until_so "one job runs" reaches 'epochd_jobs{state="running"}' 1
holds "epochd_device_state{device=\"$device\",state=\"busy\"}" '. == 1'
holds "epochd_device_state{device=\"$device\",state=\"idle\"}" '. == 0'
busy=$(metric "epochd_device_busy_seconds_total{device=\"$device\"}")
curl -sN --max-time "$patience" "$url/v1/jobs/$running/events" -o "$scratch/watched" &
own+=($!)
until_so "there is one watcher" reaches epochd_watchers 1
holds "epochd_device_busy_seconds_total{device=\"$device\"}" ". > $busy"
http POST "/v1/jobs/$running/cancel"
ended "$running"
wait "${own[0]}" || fail "the watcher's stream did not end"
until_so "the cancelled one is counted" reaches 'epochd_jobs_finished_total{outcome="cancelled"}' 1
until_so "the watcher has gone" reaches epochd_watchers 0 # once its connection is done, which it does not wait for
holds 'epochd_jobs_finished_total{outcome="failed"}' '. == 1'
holds 'epochd_http_requests_total{route="/v1/jobs",method="POST",code="4xx"}' '. == 1'
holds epochd_jobs_submitted_total '. == 3'
echo "ok: failures, cancels, watchers and busy devices are counted"

# paths that are not there, jobs that are not, uploads, a worker's death
missing=$(metric 'epochd_http_requests_total{route="none",method="any",code="4xx"}')
http GET /nowhere
http GET "/v1/jobs/$running-not"
seq 1 2000 | awk 'BEGIN {print "a,b"} {print $1 "," 2 * $1}' >"$scratch/rows.csv"
http PUT /v1/datasets/rows -T "$scratch/rows.csv"
expect 201
kill -9 "$(pgrep -P "$daemon")"
until_so "one worker was started again" reaches "epochd_worker_restarts_total{device=\"$device\"}" 1
grew 'epochd_http_requests_total{route="none",method="any",code="4xx"}' "$missing" 1
holds 'epochd_http_requests_total{route="/v1/jobs/{id}",method="GET",code="4xx"}' '. == 1'
holds epochd_upload_bytes_total ". == $(stat -c %s "$scratch/rows.csv")"
holds epochd_datasets '. == 1'
grep -q 'route="/v1/datasets/{id}"' "$scratch/metrics" || fail "an upload has no route"
if grep -E "job_[0-9a-z]{26}|rows\"" "$scratch/metrics"; then fail "a name of somebody's is a label"; fi
echo "ok: 404, uploads and a worker's death are counted"
cat "$scratch/checked"
python3 "$here/metrics.py" canary "$scratch/metrics" || fail "the parser takes what is wrong"

# rules and dashboard
python3 "$here/metrics.py" names "$scratch/metrics" "$monitoring/epochd.rules.yaml" "$monitoring/epochd.rules.test.yaml" \
  "$monitoring/grafana.json" || fail "they name a metric that is not there"
sed 's/epochd_watchers/epochd_onlookers/' "$monitoring/grafana.json" >"$scratch/other.json"
if python3 "$here/metrics.py" names "$scratch/metrics" "$scratch/other.json" >/dev/null 2>&1; then
  fail "a dashboard of other metrics was taken"
fi
while read -r name; do
  grep -q "\`$name\`" "$docs/monitoring.md" || fail "docs/monitoring.md does not know $name"
done < <(sed -n 's/^# TYPE \(epochd_[^ ]*\) .*/\1/p' "$scratch/metrics")

# the commands of the docs, in order; promtool's where there is one
awk '/^```/ {code = $0 == "```sh"; next} code' "$docs/monitoring.md" >"$scratch/commands"
if ! command -v promtool >/dev/null; then
  echo "without promtool: its commands are left out, the parser of this test stands alone"
  sed -i '/^promtool/d' "$scratch/commands"
else
  promtool check metrics <"$scratch/metrics" >"$scratch/promtool" 2>&1 || fail "promtool: $(cat "$scratch/promtool")"
  [[ ! -s $scratch/promtool ]] || fail "promtool warns: $(cat "$scratch/promtool")"
  promtool check config --syntax-only "$monitoring/prometheus.yaml" || fail "promtool refuses prometheus.yaml"
  echo "ok: promtool takes /metrics and the configuration"
fi
mkdir "$scratch/reader"
ln -s "$(cd "$docs" && pwd)" "$scratch/reader/docs"
(cd "$scratch/reader" && EPOCHD=$url bash -euo pipefail ../commands) || fail "a command of docs/monitoring.md fails"
python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$scratch/reader/curve.svg"
python3 "$here/tfevents.py" "$scratch"/reader/runs/xor/events.out.tfevents.* >/dev/null || fail "no event file was fetched"
daemon_stop

# with a token, /metrics needs it
echo "correct-horse-battery-staple-0123456789" >"$scratch/token"
chmod 600 "$scratch/token"
daemon_start --cpu-jobs 1 --token-file "$scratch/token"
http GET /metrics
expect 401
http GET /metrics -H "Authorization: Bearer $(cat "$scratch/token")"
expect 200
python3 "$here/metrics.py" check "$body"
