#!/usr/bin/env bash
# Who sent what, and who changed what: request ids, the access log, the audit log and its check.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
tokens=$scratch/tokens
access=$scratch/access.ndjson
audit=$data_dir/audit.ndjson
ann=$("$build/bin/epochctl" token add ann --owner ann --file "$tokens")
as() { # TOKEN METHOD PATH CURL-OPTIONS…
  local token=$1
  shift
  http "$@" -H "Authorization: Bearer $token"
}
daemon_start --token-file "$tokens" --access-log "$access" --log-level debug

# request ids
as "$ann" GET /v1/jobs -H 'X-Request-Id: my-id.1_2'
[[ $(header X-Request-Id) == my-id.1_2 ]] || fail "the request's id came back as $(header X-Request-Id)"
http GET /v1/jobs -H 'X-Request-Id: bad id'
expect 401
made=$(header X-Request-Id)
[[ $made =~ ^[0-9a-f]{16}-[0-9a-f]+$ ]] || fail "no id was made: $made"
http GET /livez
[[ $(header X-Request-Id) && $(header X-Request-Id) != "$made" ]] || fail "two requests have the same id"
echo "ok: each response has the request's id"

# the access log
has_line() { jq -es "any(.[]; $1)" "$access" >/dev/null; }
until_so "the access log has the request" has_line \
  '.request == "my-id.1_2" and .method == "GET" and .path == "/v1/jobs" and .status == 200 and .owner == "ann" and .token == "ann" and .address == "127.0.0.1" and .milliseconds >= 0'
until_so "and the one that was refused" has_line ".request == \"$made\" and .status == 401 and .token == \"\""
until_so "--log-level debug logs the request" grep -q 'GET /v1/jobs 200, .* ann from 127.0.0.1 (my-id.1_2)' "$log"
! grep -q "$ann" "$access" "$log" || fail "a log has the token"
mv "$access" "$access.1"
kill -HUP "$daemon"
until_so "the log says so" grep -q 'SIGHUP: 1 tokens' "$log"
as "$ann" GET /v1/devices
until_so "SIGHUP opens the file anew" has_line '.path == "/v1/devices"'
echo "ok: --access-log and --log-level debug have each request"

# the audit log: what was changed, and nothing else
as "$ann" POST /v1/jobs "${json[@]}" -H 'X-Request-Id: submit-1' -d "$(xor_job "$endless")"
expect 201
job=$(jq -r .id "$body")
as "$ann" POST '/v1/jobs?validate=only' "${json[@]}" -d "$(xor_job 10)"
expect 200
as "$ann" POST /v1/jobs "${json[@]}" -d '{}'
expect 422
as "$ann" POST "/v1/jobs/$job/cancel"
expect 200
until_so "the job has ended" eval 'as "$ann" GET "/v1/jobs/$job" && [[ $(jq -r .status "$body") == cancelled ]]'
as "$ann" DELETE "/v1/jobs/$job"
expect 204
[[ $(jq -rs 'map("\(.seq) \(.owner) \(.method) \(.path) \(.status)") | join(",")' "$audit") == \
  "1 ann POST /v1/jobs 201,2 ann POST /v1/jobs/$job/cancel 200,3 ann DELETE /v1/jobs/$job 204" ]] || fail "$(<"$audit")"
[[ $(jq -rs '.[0] | "\(.location) \(.request)"' "$audit") == "/v1/jobs/$job submit-1" ]] || fail "$(head -n 1 "$audit")"
[[ $(jq -rs '.[2].previous' "$audit") == "$(sed -n 2p "$audit" | tr -d '\n' | sha256sum | cut -d ' ' -f 1)" ]] ||
  fail "a line does not have the hash of the one before"
"$build/bin/epochd" --backup "$scratch/backups" --data-dir "$data_dir" >"$scratch/made" || fail "no backup"
made=$(cut -d : -f 1-3 <"$scratch/made")
cmp "$audit" "$made/audit.ndjson" || fail "the backup has another audit log"
(cd "$made" && sha256sum --quiet -c SHA256SUMS && grep -q ' audit.ndjson$' SHA256SUMS) || fail "the backup is not as its SHA256SUMS"
"$build/bin/epochd" --check --data-dir "$made" || fail "--check finds a fault in the backup"
echo "ok: a backup has the audit log"
daemon_stop
"$build/bin/epochd" --check --data-dir "$data_dir" || fail "--check finds a fault"
sed -i '2s/"ann"/"bob"/' "$audit"
"$build/bin/epochd" --check --data-dir "$data_dir" >"$scratch/faults" && fail "--check finds no fault in a line that was changed"
grep -q 'audit.ndjson: line 3 ' "$scratch/faults" || fail "$(<"$scratch/faults")"
echo "ok: the audit log has who changed what, and a change of it shows"

# what may have been done is there, and says so
rm "$audit"
slow_disk_daemon_start --token-file "$tokens"
disk_fails sqlite-wal
as "$ann" POST /v1/jobs "${json[@]}" -d "$(xor_job 10)"
expect 500
disk_goes_on
as "$ann" POST /v1/jobs "${json[@]}" -d "$(xor_job 10)"
expect 201
[[ $(jq -rs 'map("\(.owner) \(.method) \(.status) \(.outcome)") | join(",")' "$audit") == \
  "ann POST 500 unknown,ann POST 201 done" ]] || fail "$(<"$audit")"
echo "ok: the audit log has changes whose outcome is unknown"
