#!/usr/bin/env bash
# /readyz looks at the data folder: one that fails or hangs is not ready, whatever the devices are.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
slow_disk_daemon_start

answers() { http GET /readyz && [[ $code == "$1" ]]; }
until_so "epochd is ready" answers 200
check "and takes uploads" '. == {status: "ready", uploads: true, warning: null}'

disk_fails tmp/ready
until_so "a folder that fails each sync is not ready" answers 503
check "the response says why" '.detail | contains("data folder is not writable")'
disk_goes_on
until_so "it is ready again" answers 200

disk_holds tmp/ready until_so "a folder that hangs is not ready" answers 503
hangs() { answers 503 && jq -e '.detail | contains("has not been writable for")' "$body" >/dev/null; }
until_so "later requests are told at once" hangs
disk_goes_on
http GET /livez
expect 200
until_so "it is ready again" answers 200

begin=$(date +%s%N)
for _ in {1..50}; do http GET /readyz; done
echo "ok: 50 requests in $((($(date +%s%N) - begin) / 1000000)) ms"
daemon_stop

# no room beside the reserve: who predicts stays, who uploads is told
daemon_start --reserve-bytes 1000000000000000
until_so "it is ready without room for new work" answers 200
check "and says what it refuses" '.status == "ready" and .uploads == false and (.warning | contains("stay in reserve"))'
http PUT /v1/datasets/more -d 'a,b'
expect 503
daemon_stop
