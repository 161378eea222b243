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
grep -q 'another token is called ann-laptop' "$scratch/twice" || fail "$(<"$scratch/twice")"
ctl token add x --scopes write 2>/dev/null && fail "a scope that there is not was taken"
[[ $(ctl token list | wc -l) == 3 ]] || fail "$(ctl token list)"
ctl token list | grep -q 'ann-laptop *ann *read,submit' || fail "$(ctl token list)"
echo "ok: epochctl makes tokens, and the file has their hashes alone"

daemon_start --token-file "$tokens"
as "$reader" GET /v1/jobs
expect 200
as "$reader" POST /v1/jobs "${json[@]}" -d "$(xor_job 10)"
expect 403
check "the scope that is missing is named" '.detail | test("the token reader has no scope \"submit\"")'
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
reload 'the tokens stay as they were: .*line 3'
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

# a file that others may read
chmod 644 "$tokens"
[[ $EUID != 0 ]] || chown nobody "$tokens"
status=0
"$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" --devices cpu --token-file "$tokens" 2>"$scratch/said" || status=$?
((status == 2)) && grep -q 'can be read or written by others' "$scratch/said" || fail "status $status: $(<"$scratch/said")"
echo "ok: a file that others may read is refused"
