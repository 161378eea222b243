#!/usr/bin/env bash
# Below a path: by --base-path, for curl, epochctl, Python and the page; and without it.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
ctl=$build/bin/epochctl
epochs_of=200
job=$(xor_job $epochs_of "{\"device\": \"$device\"}")

daemon_start
http GET /epochd/v1/jobs
expect 404
http POST /v1/jobs "${json[@]}" -d "$job" -H 'X-Forwarded-Prefix: /gate/way'
expect 201
[[ $(header Location) == /gate/way/v1/jobs/* ]] || fail "the proxy's prefix is not in $(header Location)"
for wrong in '//evil.example' 'https://evil.example' '/a/' '/a, /b' '/..' '/%2e'; do
  http POST /v1/jobs "${json[@]}" -d "$job" -H "X-Forwarded-Prefix: $wrong"
  expect 201
  [[ $(header Location) == /v1/jobs/* ]] || fail "\"$wrong\" led to $(header Location)"
done
daemon_stop
echo "ok: without --base-path a path is 404, and Location follows a proxy that says what it took away"

daemon_start --base-path /tools/epochd
origin=$url
url=$url/tools/epochd
http POST /v1/jobs "${json[@]}" -d "$job"
expect 201
id=$(jq -r .id "$body")
[[ $(header Location) == "/tools/epochd/v1/jobs/$id" ]] || fail "Location is $(header Location)"
curl -sSf "$origin$(header Location)?wait=60" >"$body" # as RFC 3986 resolves it
[[ $(jq -r .weights.url "$body") == "/tools/epochd/v1/jobs/$id/weights" ]] || fail "weights are at $(jq -r .weights.url "$body")"
curl -sSf "$origin$(jq -r .weights.url "$body")" -o "$scratch/weights"
curl -sSf "$origin/v1/jobs/$id/weights" | cmp - "$scratch/weights" || fail "at / there are other weights"
http GET "/v1/jobs/$id/events?follow=0"
[[ $(tail -n 1 "$body" | jq -r .weights.url) == "/tools/epochd/v1/jobs/$id/weights" ]] || fail "the end has another url"
http GET "/v1/jobs/$id/plots"
expect 200
[[ $(jq -r '.data[0].link' "$body") == "/tools/epochd/v1/jobs/$id/plots/"* ]] || fail "a plot is at $(jq -r '.data[0].link' "$body")"
http PUT /v1/models/below "${json[@]}" -d "{\"job\": \"$id\"}"
expect 201
[[ $(header Location) == /tools/epochd/v1/models/below ]] || fail "Location is $(header Location)"
[[ $(jq -r .infer "$body") == /tools/epochd/v2/models/below/infer ]] || fail "infer is $(jq -r .infer "$body")"
http PUT /v1/datasets/below -T - <<<$'a,b\n1,2\n3,4'
expect 201
[[ $(header Location) == /tools/epochd/v1/datasets/below ]] || fail "Location is $(header Location)"
http GET /v2/nothing
expect 404
jq -e .error "$body" >/dev/null || fail "an error of /v2 has lost its form: $(<"$body")"
[[ $(curl -sS -o "$body" -w '%{http_code} %{redirect_url}' "$url" -H 'Accept: text/html' -H 'Sec-Fetch-Site: cross-site' \
  -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document') == "308 $url/" ]] || fail "without a slash there is no page"
"$build/bin/epochd" --probe --listen "${origin#http://}" || fail "the probe does not find it"
echo "ok: below --base-path everything answers, and says where it is"

if [[ -x $ctl ]]; then
  [[ $("$ctl" --server "$url/" ls -q) == "$id"* ]] || fail "epochctl lists something else"
  "$ctl" --server "$url" show "$id" | grep -qF "$url/v1/jobs/$id/weights" || fail "epochctl shows: $("$ctl" --server "$url" show "$id")"
  "$ctl" --server "$url" models publish again "$id" | grep -qF "$url/v2/models/again/infer" || fail "epochctl publishes elsewhere"
  "$ctl" --server "$url" weights "$id" -o "$scratch/again"
  cmp "$scratch/again" "$scratch/weights" || fail "epochctl has other weights"
  printf 'a,b\n1,2\n3,4\n' >"$scratch/rows.csv"
  "$ctl" --server "$url" data put rows "$scratch/rows.csv" >/dev/null
  "$ctl" --server "$url" run - --json <<<"$job" | tail -n 1 | jq -e '.type == "end"' >/dev/null || fail "epochctl does not follow"
  echo "ok: epochctl --server takes the whole address"
fi
PYTHONPATH=$here/../../clients/python python3 - "$url" "$id" <<'PYTHON'
import sys
import epochd
url, job = sys.argv[1:]
client = epochd.Client(url + "/")
assert job in [each.id for each in client.jobs()], "not listed"
assert [event["type"] for event in client.job(job).events()][-1] == "end", "not followed"
client.upload("python", b"a,b\n1,2\n")
PYTHON
echo "ok: so does Python's client"
daemon_stop
