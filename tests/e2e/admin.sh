#!/usr/bin/env bash
# Jobs after their submission: PATCH of names, tags and priorities; summaries, lists by tag, 304;
# comparisons.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start --cpu-jobs 1 # the queue is what is looked at

# patch ID JSON CODE
patch() {
  http PATCH "/v1/jobs/$1" "${json[@]}" -d "$2"
  expect "$3"
}

submit "$(xor_job "$endless" '{"name": "long", "tags": ["all"]}')"
running=$id
until_so "the long one trains" has_trained
submit "$(xor_job 500 '{"name": "a", "tags": ["all", "blue"], "priority": 1}')"
a=$id
submit "$(xor_job 700 '{"name": "b", "tags": ["all", "blue", "two words"], "optimizer": {"lr": 0.25},
  "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "relu"}, {"type": "linear", "out_features": 1}]}}')"
b=$id

# what may be changed, when, and what may not
http GET "/v1/jobs/$b"
check "the later job of less priority waits" '.queue_position == 2 and .priority == 0 and .tags == .spec.tags'
etag=$(header ETag)
patch "$b" '{"priority": 5}' 200
check "with more it goes first" '.queue_position == 1 and .priority == 5 and .spec.priority == 5 and .name == "b"'
[[ $(header ETag) != "$etag" ]] || fail "the ETag is the same after a PATCH"
http GET /v1/queue
check "the queue agrees" '[.jobs[] | select(.position == 1)][0] | .name == "b" and .priority == 5'
http PATCH "/v1/jobs/$a" -H 'Content-Type: application/merge-patch+json' -d '{"name": null, "tags": ["blue", "new"]}'
expect 200
check "null takes a name away" '.name == "" and .spec.name == "" and .tags == ["blue", "new"] and .spec.tags == .tags and .priority == 1'
patch "$a" '{}' 200
check "an empty change changes nothing" '.name == "" and .tags == ["blue", "new"]'
patch "$running" '{"name": "=cmd|x", "priority": -3}' 200
check "a running job takes them too" '.status == "running" and .name == "=cmd|x" and .priority == -3'
patch "$a" '{"name": 7, "tags": ["", "ok", 5], "priority": 1000, "epochs": 3}' 422
check "every fault has its pointer" '[.errors[].pointer] | sort == ["/epochs", "/name", "/priority", "/tags/0", "/tags/2"]'
patch "$a" '[]' 422
patch "$a" '{"name": ' 400
patch job_00000000000000000000000000 '{}' 404
http PATCH "/v1/jobs/$a" -H 'Content-Type: text/plain' -d '{}'
expect 415
http PATCH "/v1/jobs/$a" "${json[@]}" -d "$(printf '{%70000s}' '')"
expect 413
http PATCH /v1/jobs "${json[@]}" -d '{}'
expect 405
http GET "/v1/jobs/$a"
check "what was refused has left no trace" '.name == "" and .tags == ["blue", "new"] and .priority == 1'

# a PATCH wakes a request that waits for the job to change
http GET "/v1/jobs/$a"
etag=$(header ETag)
curl -sSv --max-time "$patience" "$url/v1/jobs/$a?wait=60" -H "If-None-Match: $etag" >"$scratch/woken" 2>"$scratch/trace" &
waiter=$!
own+=("$waiter")
until_so "the request is sent" grep -q '^> GET' "$scratch/trace"
patch "$a" '{"name": "a2"}' 200
wait "$waiter"
[[ $(jq -r .name "$scratch/woken") == a2 ]] || fail "a PATCH woke nobody"
echo "ok: a PATCH wakes who waits for the job"

# tags as filters
http GET '/v1/jobs?tag=all'
check "by tag" '[.data[].id] | length == 2 and (index($r) != null) and (index($b) != null)' --arg r "$running" --arg b "$b"
http GET '/v1/jobs?tag=blue&tag=all'
check "by two tags" '[.data[].id] == [$b]' --arg b "$b"
http GET '/v1/jobs?tag=two%20words&state=queued'
check "by a tag with a space, and a state" '[.data[].id] == [$b]' --arg b "$b"
http GET '/v1/jobs?tag=blue&limit=1'
check "in pages" '.has_more and [.data[].id] == [$b] and .next == $b' --arg b "$b"
http GET "/v1/jobs?tag=blue&limit=1&after=$b"
check "in pages, the second" '.has_more == false and [.data[].id] == [$a]' --arg a "$a"
http GET "/v1/jobs?tag=%27%20OR%201%3D1%20--"
check "a tag is no SQL" '.data == []'
for bad in 'tag=' 'view=long' 'limit=1&limit=2' 'tag=1&tag=2&tag=3&tag=4&tag=5&tag=6&tag=7&tag=8&tag=9'; do
  http GET "/v1/jobs?$bad"
  expect 400
done
echo "ok: bad filters are refused"

# one that ended
http POST "/v1/jobs/$running/cancel"
ended "$running"
finish "$b"
finish "$a"
patch "$a" '{"priority": 0}' 409
check "the priority of a job that has ended" '.errors[0].pointer == "/priority"'
patch "$a" '{"priority": 0, "name": "not this"}' 409
patch "$a" '{"name": "+a, \"quoted\"", "tags": ["done"]}' 200
check "its name and tags change still" '.status == "succeeded" and .name == "+a, \"quoted\"" and .priority == 1 and .metrics != null'

# found by what they contain, on every page
found() { # found TEXT IDS: the jobs that have the text, and another filter with it
  http GET "/v1/jobs?view=summary&limit=1&search=$1"
  expect 200
  local ids next
  ids=$(jq -r '.data[].id' "$body")
  next=$(jq -r '.next // empty' "$body")
  while [[ -n $next ]]; do
    http GET "/v1/jobs?view=summary&limit=1&search=$1&after=$next"
    ids+=$'\n'$(jq -r '.data[].id' "$body")
    next=$(jq -r '.next // empty' "$body")
  done
  [[ $ids == "$2" ]] || fail "?search=$1 finds ${ids//$'\n'/ }, not ${2//$'\n'/ }"
}
printf 'p,q\n1,2\n3,4\n5,6\n' | http PUT /v1/datasets/Little-Houses --data-binary @-
expect 200
http POST /v1/jobs "${json[@]}" -d '{"name": "50%_off", "tags": ["Seldom"], "data": {"dataset": "Little-Houses", "test": 0}, "model": {"layers": [{"type": "linear", "out_features": 1}]}, "loss": "mse", "epochs": 2}'
expect 201
seldom=$(jq -r .id "$body")
patch "$b" '{"tags": ["seldom-too"]}' 200
found SELDOM "$seldom"$'\n'"$b"
found tle-hou "$seldom"
found '%25_o' "$seldom"
found "$seldom" "$seldom"
found "${seldom:16}" "$seldom"
found job_ ""
found nothing-has-this ""
found '%27%22%25' ""
http GET "/v1/jobs?search=seldom&tag=seldom-too"
check "with a tag as well" '[.data[].id] == [$b]' --arg b "$b"
http GET "/v1/jobs?search=seldom&state=cancelled"
check "with a state as well" '.data == []'
http GET "/v1/jobs?view=summary&search=seldom"
etag=$(header ETag)
check "a summary names the dataset" '[.data[].dataset] == ["Little-Houses", null]'
http GET "/v1/jobs?view=summary&search=seldom" -H "If-None-Match: $etag"
expect 304
patch "$b" '{"tags": ["other"]}' 200
http GET "/v1/jobs?view=summary&search=seldom" -H "If-None-Match: $etag"
expect 200
check "a job that has it no more is not found" '[.data[].id] == [$b]' --arg b "$seldom"
http GET "/v1/jobs?search=$(printf 'a%.0s' {1..129})"
expect 400
http GET "/v1/sweeps?search=nothing-has-this"
expect 200
check "sweeps are looked for as well" '.data == []'
http POST "/v1/jobs/$seldom/cancel"
echo "ok: a text is looked for in names, ids, tags and datasets, on every page"

# summaries, and lists that are not sent again
http GET '/v1/jobs?view=summary'
etag=$(header ETag)
summary=$(jq -c . "$body")
check "a summary has no spec and no matrix" '(.data | length >= 3) and
  all(.data[]; has("spec") == false and (.metrics.test? // {} | has("confusion") == false)) and
  any(.data[]; .metrics.train.loss? != null)'
http GET /v1/jobs
check "it says the same as the whole" '([.data[] | {id, name, tags, priority, status, device, progress, timing, model, created_at}]) ==
  ([$s.data[] | {id, name, tags, priority, status, device, progress, timing, model, created_at}])' --argjson s "$summary"
: >"$body"
http GET '/v1/jobs?view=summary' -H "If-None-Match: $etag"
expect 304
[[ ! -s $body ]] || fail "a 304 with a body"
[[ $(header ETag) == "$etag" ]] || fail "a 304 with another ETag"
http GET '/v1/jobs?view=summary&limit=1000' -H "If-None-Match: W/$etag"
expect 304
patch "$a" '{"tags": ["done", "again"]}' 200
http GET '/v1/jobs?view=summary' -H "If-None-Match: $etag"
expect 200
[[ $(header ETag) != "$etag" ]] || fail "the list changed, and its ETag did not"
http GET '/v1/jobs?tag=blue'
blue=$(header ETag)
patch "$a" '{"name": "a3"}' 200
http GET '/v1/jobs?tag=blue' -H "If-None-Match: $blue"
expect 304
echo "ok: a list is not sent again until a job of it has changed"
http HEAD '/v1/jobs?view=summary'
expect 200

# comparisons
patch "$a" '{"name": "+a, \"quoted\"", "tags": ["done"]}' 200
http GET "/v1/compare?jobs=$a,$b,$running&max_points=10"
expect 200
check "three jobs beside each other" '.object == "comparison" and ([.jobs[].id] == [$a, $b, $r]) and
  ([.curves[].job] == [$a, $b, $r]) and all(.curves[]; (.epoch | length) <= 10 and (.epoch | length) == (.loss | length)) and
  .curves[0].validation_loss == null and .differences_omitted == 0' --arg a "$a" --arg b "$b" --arg r "$running"
check "what differs, and nothing else" '(.differences | map({key: .pointer, value: .values}) | from_entries) as $d |
  $d["/optimizer/lr"] == [0.5, 0.25, 0.5] and $d["/optimizer/momentum"] == [0.9, 0, 0.9] and
  $d["/model/layers/1/type"] == ["tanh", "relu", "tanh"] and
  $d["/epochs"][0:2] == [500, 700] and $d["/priority"] == [1, 5, -3] and
  ($d | keys | all(. != "/name" and . != "/tags" and . != "/loss" and . != "/model/layers/0/out_features"))'
http GET "/v1/compare?jobs=$b"
check "one job differs from nothing" '.differences == [] and (.jobs | length) == 1'
http GET "/v1/compare?jobs=$a,$b,$running&format=csv"
[[ $(header Content-Type) == text/csv* ]] || fail "CSV came as $(header Content-Type)"
python3 - "$body" "$a" <<'EOF' || fail "the CSV is not as it should be: $(cat "$body")"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
a, b, running = rows
assert [r["status"] for r in rows] == ["succeeded", "succeeded", "cancelled"], rows
assert a["id"] == sys.argv[2] and int(a["parameters"]) == 17 and float(a["train_seconds"]) > 0
assert a["name"] == "'+a, \"quoted\"" and running["name"] == "'=cmd|x", [r["name"] for r in rows]
assert [float(r["/optimizer/lr"]) for r in rows] == [0.5, 0.25, 0.5]
assert [r["/model/layers/1/type"] for r in rows] == ["tanh", "relu", "tanh"]
assert running["/priority"] == "-3", "a number is no text"
assert "/name" not in a and "/tags" not in a
EOF
echo "ok: the same as CSV, with names that are no formulas"
http GET "/v1/compare?jobs=$a" -H 'Accept: text/csv'
[[ $(header Content-Type) == text/csv* ]] || fail "Accept: text/csv was answered with $(header Content-Type)"
many=$(printf "job_%026d," {1..33})
for bad in "" "jobs=" "jobs=$a,$a" "jobs=$a,,$b" "jobs=$a&max_points=1" "jobs=$a&max_points=10001" "jobs=$a&format=xml" "jobs=${many%,}"; do
  http GET "/v1/compare?$bad"
  expect 400
done
http GET "/v1/compare?jobs=$a,job_00000000000000000000000000"
expect 404
check "it says which is missing" '.detail | contains("job_00000000000000000000000000")'

# a PATCH races with everything else that can happen to a job
for round in 1 2 3 4; do
  submit "$(xor_job 20000 '{"report_every": 20000}')"
  racer=$id
  for writer in 1 2 3; do
    (for n in 1 2 3 4 5 6 7 8; do
      curl -sS -o /dev/null -w '%{http_code}\n' -X PATCH "$url/v1/jobs/$racer" "${json[@]}" -d "{\"name\": \"n$writer$n\", \"tags\": [\"n$writer$n\"]}"
    done) >"$scratch/codes.$writer" & own+=($!)
  done
  ((round % 2)) && http POST "/v1/jobs/$racer/cancel"
  ended "$racer"
  if ((round > 2)); then http DELETE "/v1/jobs/$racer"; fi
  wait "${own[@]: -3}"
  if grep -hv '^200$\|^404$' "$scratch"/codes.*; then fail "a PATCH was answered so"; fi
  http GET "/v1/jobs/$racer"
  if ((round > 2)); then
    expect 404
  else
    check "all halves are of one PATCH" '.name == .spec.name and .tags == .spec.tags and .tags == [.name] and (.name | length) == 3'
  fi
done
[[ $(find "$data_dir/jobs" -mindepth 1 -maxdepth 1 | wc -l) == $(curl -sS "$url/v1/jobs?limit=1000" | jq '.data | length') ]] ||
  fail "there is another number of folders than of jobs"

# what was changed is there after the next start, and after a kill
daemon_stop
daemon_start --cpu-jobs 1 # the queue is what is looked at
http GET "/v1/jobs/$a"
check "after the next start" '.name == "+a, \"quoted\"" and .tags == ["done"] and .spec.tags == ["done"] and .priority == 1'
http GET '/v1/jobs?tag=done&view=summary'
check "it is found by its tag" '[.data[].id] == [$a]' --arg a "$a"
patch "$b" '{"tags": ["survivor"]}' 200
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
daemon_start --cpu-jobs 1 # the queue is what is looked at
http GET '/v1/jobs?tag=survivor'
check "and after kill -9" '[.data[].id] == [$b]' --arg b "$b"
daemon_stop
