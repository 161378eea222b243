#!/usr/bin/env bash
# Tokens: made, listed and removed by epochctl; scopes, ends, SIGHUP, wrong ones, and the file's mode.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
tokens=$scratch/tokens
ctl() { "$build/bin/epochctl" "$@" --file "$tokens"; }
as() { # TOKEN METHOD PATH CURL-OPTIONS…
  local token=$1
  shift
  http "$@" -H "Authorization: Bearer $token"
}
logged() { grep -q "$1" "$log"; }
reload() { # WORDS: SIGHUP, and waits until the log says so
  : >"$log"
  kill -HUP "$daemon"
  until_so "the log says: $1" logged "$1"
}

reader=$(ctl token add reader --scopes read)
ann=$(ctl token add ann-laptop --owner ann --expires 30d)
[[ $ann =~ ^[0-9a-f]{64}$ && $reader != "$ann" ]] || fail "these are no tokens: $ann $reader"
[[ $(stat -c %a "$tokens") == 600 ]] || fail "others may read the file that was made"
! grep -q "$ann" "$tokens" || fail "the file has the token"
[[ $(jq -rs '.[1].hash' "$tokens") == "$(printf %s "$ann" | sha256sum | cut -d ' ' -f 1)" ]] || fail "the hash is not the token's"
ctl token add ann-laptop 2>"$scratch/twice" && fail "a name was taken twice"
grep -q 'another token is named ann-laptop' "$scratch/twice" || fail "$(<"$scratch/twice")"
ctl token add x --scopes write 2>/dev/null && fail "a scope that there is not was taken"
[[ $(ctl token list | wc -l) == 3 ]] || fail "$(ctl token list)"
ctl token list | grep -q 'ann-laptop *ann *read,submit' || fail "$(ctl token list)"
echo "ok: epochctl makes tokens, and the file has their hashes alone"

daemon_start --token-file "$tokens"
as "$reader" GET /v1/jobs
expect 200
as "$reader" POST /v1/jobs "${json[@]}" -d "$(xor_job 10)"
expect 403
check "the scope that is missing is named" '.detail | test("the token reader does not have the required scope \"submit\"")'
as "$ann" POST /v1/jobs "${json[@]}" -d "$(xor_job 10)"
expect 201
as "$ann" PUT /v1/models/m "${json[@]}" -d '{"job": "job_x"}'
expect 403
check "so is that of models" '.detail | test("\"publish\"")'

# SIGHUP
publisher=$(ctl token add publisher --scopes read,publish)
as "$publisher" GET /v1/jobs
expect 401
reload 'SIGHUP: 3 tokens'
as "$publisher" GET /v1/jobs
expect 200
ctl token remove publisher
ctl token remove nobody 2>/dev/null && fail "a token that there is not was removed"
reload 'SIGHUP: 2 tokens'
as "$publisher" GET /v1/jobs
expect 401
as "$ann" GET /v1/jobs
expect 200
printf '{"name": 7}\n' >>"$tokens"
reload 'the tokens are unchanged: .*line 3'
as "$ann" GET /v1/jobs
expect 200
sed -i '$d' "$tokens"
echo "ok: SIGHUP reads the file again, and a wrong file changes nothing"

# an end
jq -nc --arg hash "$(printf 'a-token-of-yesterday' | sha256sum | cut -d ' ' -f 1)" \
  '{name: "old", owner: "ann", scopes: ["read"], expires: "2020-01-01T00:00:00Z", hash: $hash}' >>"$tokens"
reload 'SIGHUP: 3 tokens'
as a-token-of-yesterday GET /v1/jobs
expect 401
check "a token whose time is over is named" '.detail | test("the token old has expired")'

# wrong ones
for ((i = 0; i < 60; i++)); do
  as wrong-wrong-wrong GET /v1/jobs
  [[ $code == 429 ]] && break
done
expect 429
[[ $(header Retry-After) ]] || fail "429 without Retry-After"
logged 'a wrong token from 127.0.0.1' || fail "no wrong token is in the log"
as "$ann" GET /v1/jobs
expect 200
echo "ok: wrong tokens are slowed and logged, a token in use goes on"
as "$ann" GET /metrics
wrong=$(awk '$1 == "epochd_wrong_tokens_total" {print $2}' "$body")
((wrong > 20)) || fail "/metrics counts $wrong wrong tokens"
daemon_stop

# behind a proxy
from() { # ADDRESS TOKEN: as a proxy at 127.0.0.1 sends what a client at ADDRESS sent with a header of its own
  as "$2" GET /v1/jobs -H "X-Forwarded-For: 192.0.2.99, $1"
}
addresses() { jq -sce '[.[] | select(.path == "/v1/jobs").address] | unique' "$scratch/access"; }
: >"$log"
daemon_start --token-file "$tokens" --config <(printf '{"trusted_proxy": "10.0.0.0/8"}') --trusted-proxy 127.0.0.1 --access-log "$scratch/access"
for ((i = 0; i < 60; i++)); do
  from 192.0.2.1 wrong-wrong-wrong
  [[ $code == 429 ]] && break
done
expect 429
from 192.0.2.2 "$ann"
expect 200
from 192.0.2.2,10.1.2.3 "$reader"
expect 200
logged 'a wrong token from 192.0.2.1' || fail "the log has another address"
[[ $(addresses) == '["192.0.2.1","192.0.2.2"]' ]] || fail "the access log has $(addresses)"
daemon_stop
rm "$scratch/access"
daemon_start --token-file "$tokens" --trusted-proxy 10.0.0.0/8 --access-log "$scratch/access"
from 192.0.2.1 wrong-wrong-wrong
expect 401
logged 'a wrong token from 127.0.0.1' || fail "the log has another address"
[[ $(addresses) == '["127.0.0.1"]' ]] || fail "the access log has $(addresses)"
daemon_stop
status=0
"$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" --trusted-proxy 10.0.0.0/40 2>"$scratch/said" || status=$?
((status == 2)) && grep -q 'trusted-proxy must be an address or a network' "$scratch/said" || fail "status $status: $(<"$scratch/said")"
echo "ok: a trusted proxy names the client, and wrong tokens of one slow no other; nobody else does"

# a file that others may read
chmod 644 "$tokens"
[[ $EUID != 0 ]] || chown nobody "$tokens"
status=0
"$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" --devices cpu --token-file "$tokens" 2>"$scratch/said" || status=$?
((status == 2)) && grep -q 'can be read or written by others' "$scratch/said" || fail "status $status: $(<"$scratch/said")"
echo "ok: a file that others may read is refused"
