#!/usr/bin/env bash
# Webhooks: signed, tried again after failures and after a kill -9, and none to an address that is not public.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
secret=whsec_$(head -c 32 /dev/urandom | base64)
(umask 077 && echo "$secret" >"$scratch/secret")
codes=$scratch/codes
got=$scratch/got
echo 204 >"$codes"
: >"$got"
python3 "$here/webhooks.py" "$secret" "$codes" "$got" >"$scratch/port" 2>"$scratch/receiver.log" &
own+=($!)
until_so "the receiver listens" test -s "$scratch/port"
port=$(cat "$scratch/port")
hook=http://127.0.0.1:$port

hooks() { jq -nc --arg url "$1" --argjson events "${2:-[\"end\"]}" '{webhooks: [{url: $url, events: $events}]}'; }
received() { [[ $(jq -s --arg path "$1" '[.[] | select(.path == $path)] | length' "$got") -ge ${2:-1} ]]; }
# line PATH FILTER: what must hold of the messages to a path, an array
line() {
  jq -s -e --arg path "$1" "[.[] | select(.path == \$path)] | $2" "$got" >/dev/null ||
    fail "not so ($2): $(jq -c . "$got" | tail -n 5)"
}
delivery() { # JOB FILTER
  http GET "/v1/jobs/$1/webhooks"
  jq -e "$2" "$body" >/dev/null
}

# without a secret there are none
daemon_start
http POST /v1/jobs "${json[@]}" -d "$(xor_job 10 "$(hooks "$hook")")"
expect 422
check "without a secret, refused" '.errors[0] | .pointer == "/webhooks" and (.detail | test("--webhook-secret-file"))'
daemon_stop
chmod 666 "$scratch/secret"
timeout 60 "$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" --devices cpu --webhook-secret-file "$scratch/secret" \
  >/dev/null 2>"$scratch/writable.log" && fail "a secret that all can write was taken"
grep -q 'chmod 600' "$scratch/writable.log" || fail "$(cat "$scratch/writable.log")"
chmod 600 "$scratch/secret"
echo "ok: a secret that others can write is refused"

# private addresses: refused when they are connected to, whatever the name says
daemon_start --webhook-secret-file "$scratch/secret"
for bad in ftp://a.example http://user@a.example/ 'http://' https://a.example/#x; do
  http POST /v1/jobs "${json[@]}" -d "$(xor_job 10 "$(hooks "$bad")")"
  expect 422
  check "no such URL: $bad" '.errors[0].pointer == "/webhooks/0/url"'
done
http POST /v1/jobs "${json[@]}" -d "$(xor_job 10 "$(hooks "$hook" '["best"]')")"
expect 422
check "best needs a validation split" '.errors[0].pointer == "/webhooks"'
refused=()
for host in 127.0.0.1 localhost '[::ffff:127.0.0.1]' 127.1 0x7f000001; do
  submit "$(xor_job 10 "$(hooks "http://$host:$port/private")")"
  refused+=("$id")
  until_so "an attempt at $host" delivery "$id" '.data[0].attempts > 0'
  check "$host is refused" '.data[0] | .status == "pending" and .response_status == null and (.error | test("^[^ ]* has no permitted address$"))'
done
[[ ! -s $got ]] || fail "a private address was called"
grep -q 'webhook 0 cannot be called: localhost resolves to .*--webhook-allow' "$log" || fail "the log does not say what a name resolved to"
http DELETE "/v1/jobs/$id"
expect 204
http GET "/v1/jobs/$id/webhooks"
expect 404
http GET /metrics
grep -q '^epochd_webhooks_pending 4$' "$body" || fail "$(grep webhooks "$body")"
for id in "${refused[@]:0:4}"; do # else they are tried again, and take codes that are for others
  http DELETE "/v1/jobs/$id"
  expect 204
done
echo "ok: a deleted job's messages go with it"

# killed between the end and the delivery: 503 before, 204 after
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
echo 503 >"$codes"
daemon_start --webhook-secret-file "$scratch/secret" --webhook-allow 127.0.0.0/8
submit "$(xor_job 10 "$(hooks "$hook/durable" '["end", "failed", "end"]')")"
first=$id
until_so "a first attempt" received /durable
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
echo 204 >"$codes"
daemon_start --webhook-secret-file "$scratch/secret" --webhook-allow 127.0.0.0/8,localhost
until_so "it is delivered" delivery "$first" '.data[0].status == "delivered"'
check "one message, of the end" '(.data | length) == 1 and (.data[0] | .event == "end" and .response_status == 204 and .error == null)'
line /durable 'length >= 2 and all(.verified) and ([.[].id] | unique | length) == 1'
line /durable '.[-1].body | .type == "job.end" and .data.job.status == "succeeded" and (.data.job | has("spec") | not)'
line /durable '.[-1].body.data.job.id == "'"$first"'"'
echo "ok: the same message, signed, after a kill -9"

# a job that fails; a redirect is not followed, and 410 ends it
diverging=$(xor_job 2000 "$(hooks "$hook/failing" '["failed", "end"]')" | jq -c '.optimizer = {type: "sgd", lr: 1e30} | .loss = "mse"')
submit "$diverging"
ended "$id"
if [[ $(jq -r .status "$body") == failed ]]; then
  until_so "both messages" received /failing 2
  line /failing '[.[].body.type] | sort == ["job.end", "job.failed"]'
  echo "ok: end and failed of a job that failed"
else
  fail "the job did not fail: $(jq -c '{status, error}' "$body")"
fi
printf '307\n410\n' >"$codes"
submit "$(xor_job 10 "$(hooks "$hook/gone")")"
until_so "410 ends it" delivery "$id" '.data[0] | .status == "failed" and .attempts == 2 and .response_status == 410'
line /elsewhere 'length == 0'
line /gone '([.[].code] == [307, 410]) and .[1].time >= .[0].time'
echo 204 >"$codes"
http GET /metrics
grep -q '^epochd_webhooks_failed_total 1$' "$body" || fail "$(grep webhooks "$body")"
echo "ok: a redirect is a failure, and 410 the end"

# best: the first at once, then at most one in ten seconds; and what a sweep sends
rows=$(jq -nc '[range(40) | [. / 40]]')
submit "$(jq -nc --argjson x "$rows" --argjson hooks "$(hooks "$hook/best" '["best", "end"]')" '{
  data: {inline: {x: $x, y: ($x | map([.[0] * 2]))}, validation: 0.25},
  model: {layers: [{type: "linear", out_features: 1}]}, loss: "mse", epochs: 50, report_every: 1,
  optimizer: {type: "sgd", lr: 0.1}} + $hooks')"
best_and_end() { received /best 2 && jq -s -e 'any(.path == "/best" and .body.type == "job.end")' "$got" >/dev/null; }
until_so "best and end" best_and_end # a slow job has several that are best
line /best 'any(.body.type == "job.best" and .body.data.best.metric == "validation.loss" and .body.data.best.value > 0)'
line /best 'any(.body.type == "job.end") and all(.verified)'
http POST /v1/sweeps "${json[@]}" -d "$(jq -nc --argjson job "$(xor_job 5)" --argjson hooks "$(hooks "$hook/sweep")" '
  {job: $job, space: {"/optimizer/lr": {values: [0.1, 0.2]}}, metric: "train.loss"} + $hooks')"
expect 201
sweep=$(jq -r .id "$body")
until_so "the sweep's end" received /sweep
line /sweep '.[0] | .verified and .body.type == "sweep.end" and .body.data.sweep.id == "'"$sweep"'"'
http GET "/v1/sweeps/$sweep/webhooks"
check "a sweep's messages" '.data[0].event == "end"'
