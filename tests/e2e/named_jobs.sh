#!/usr/bin/env bash
# What a job or a sweep is called by in a path and in a body: an id, a part of one, a name, "last", and what says which.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
tokens=$scratch/tokens
token() { "$build/bin/epochctl" token add "$1" --owner "$1" --scopes "$2" --file "$tokens"; }
as() { # TOKEN METHOD PATH CURL-OPTIONS…
  local token=$1
  shift
  http "$@" -H "Authorization: Bearer $token"
}
ann=$(token ann read,submit,publish)
bob=$(token bob read,submit,publish)
root=$(token root admin)
daemon_start --token-file "$tokens"

trained() { # TOKEN NAME MORE: trains XOR under that name; its id goes to $id
  as "$1" POST /v1/jobs "${json[@]}" -d "$(xor_job 5 "$(jq -cn --arg name "$2" "{name: \$name} + ${3:-{\}}")")"
  expect 201
  id=$(jq -r .id "$body")
  until_so "$2 has ended" has_ended "$1"
}
has_ended() {
  as "$1" GET "/v1/jobs/$id?wait=5"
  jq -e '.status == "succeeded"' "$body" >/dev/null
}
# means TOKEN WORD ID: in the path of a job the word means the job.
means() {
  as "$1" GET "/v1/jobs/$2"
  expect 200
  check "$2 is the job" '.id == $id' --arg id "$3"
  [[ $(header Content-Location) == "/v1/jobs/$3" ]] || fail "$2: Content-Location: $(header Content-Location)"
}
# unknown TOKEN WORD PATTERN CODE
unknown() {
  as "$1" GET "/v1/jobs/$2"
  expect "${4:-404}"
  check "$2: $3" '.detail | test($pattern)' --arg pattern "$3"
}

unknown "$ann" last '^no jobs yet$'
trained "$ann" houses
first=$id
trained "$ann" houses '{tags: ["second"]}'
second=$id
trained "$ann" 'a b/c: ü' '{visibility: "private"}'
odd=$id

# ids and parts of them
as "$ann" GET "/v1/jobs/$first"
expect 200
[[ -z $(header Content-Location) ]] || fail "an id needs no Content-Location"
means "$ann" "${first:0:29}" "$first"
means "$ann" "${first: -8}" "$first"
means "$bob" "${second: -8}" "$second"
unknown "$ann" job_0 'at least 4 characters after job_'
unknown "$ann" job_zzzzzz 'job job_zzzzzz not found'
unknown "$ann" "${first:0:8}" "it matches several jobs: $odd, $second, $first\$" 409
unknown "$bob" "${first:0:8}" "it matches several jobs: $second, $first\$" 409
unknown "$ann" swp_00000000000000000000000000 'is a sweep: a job is required'

# names: the newest that the token may see
means "$ann" houses "$second"
means "$bob" job:houses "$second"
means "$ann" 'a%20b%2Fc%3A%20%C3%BC' "$odd"
means "$root" 'job:a%20b%2fc:%20%C3%BC' "$odd"
means "$ann" last "$odd"
means "$bob" last "$second"
unknown "$bob" 'a%20b%2Fc%3A%20%C3%BC' '^no job named "a b/c: ü"$'
unknown "$ann" huoses '^no job named "huoses": did you mean "houses"\?$'
unknown "$bob" 'a%20b%2Fc%3A%20%C3%BD' '^no job named "a b/c: ý"$'
unknown "$ann" 'a%20b%2Fc%3A%20%C3%BD' 'did you mean "a b/c: ü"'
unknown "$ann" '%2F' '^no job named "/"$'
trained "$bob" houses '{visibility: "private"}'
means "$bob" houses "$id"
bobs=$id
means "$ann" houses "$second"
trained "$ann" houses # newer, and public, and not his
means "$bob" houses "$bobs"
second=$id
means "$ann" houses "$second"
as "$bob" PATCH /v1/jobs/job:houses "${json[@]}" -d '{"name": "flats"}'
expect 200
means "$bob" houses "$second"
means "$bob" flats "$bobs"
as "$bob" PATCH /v1/jobs/houses "${json[@]}" -d '{"name": "flats"}'
expect 403
as "$bob" DELETE /v1/jobs/flats
expect 204
unknown "$bob" flats 'no job named "flats"'
trained "$bob" "${first: -8}"
means "$ann" "${first: -8}" "$first"
means "$ann" "job:${first: -8}" "$id"
as "$ann" PATCH "/v1/jobs/$odd" "${json[@]}" -d '{"name": "50%2Foff"}'
expect 200
means "$ann" '50%252Foff' "$odd"
unknown "$ann" '50%2Foff' '^no job named "50/off"'
as "$ann" PATCH "/v1/jobs/$odd" "${json[@]}" -d '{"name": "a b/c: ü"}'
expect 200

# every route below the job
for path in checkpoints webhooks 'events?follow=0' curve weights predictions plots; do
  as "$ann" GET "/v1/jobs/houses/$path"
  expect 200
  [[ $(header Content-Location) == "/v1/jobs/$second/${path%\?*}" ]] || fail "$path: Content-Location: $(header Content-Location)"
done
as "$ann" GET /v1/jobs/houses/curve
check "a curve has the id" '.job == $id' --arg id "$second"
as "$ann" POST /v1/jobs/houses/predict "${json[@]}" -d '{"x": [[0, 1]]}'
expect 200
check "predictions have the id" '.job == $id' --arg id "$second"
as "$ann" POST /v1/jobs/houses/pause
expect 409
as "$ann" GET "/v1/compare?jobs=houses,${first: -8},a%20b/c:%20%C3%BC"
expect 200
check "a comparison takes words" '[.jobs[].id] == [$a, $b, $c]' --arg a "$second" --arg b "$first" --arg c "$odd"
as "$ann" GET "/v1/compare?jobs=houses,$second"
expect 400
check "one job by two words is there twice" '.detail | test("names job_.* twice")'
as "$ann" GET "/v1/compare?jobs=huoses,$second"
expect 404

# bodies
as "$ann" POST /v1/jobs "${json[@]}" -d "$(xor_job 5 '{"name": "more"}' | jq -c '.model.init = {job: "houses"}')"
expect 201
check "the first weights are another job's, by its id" '.spec.model.init.job == $id' --arg id "$second"
as "$ann" POST '/v1/jobs?validate=only' "${json[@]}" -d "$(xor_job 5 | jq -c '.model.init = {job: "huoses"}')"
expect 422
check "or of none" '.errors[0] | .pointer == "/model/init/job" and (.detail | test("did you mean \"houses\""))'

# models: a threshold of its own, and a job that others do not see
as "$ann" PUT /v1/models/houses "${json[@]}" -d "{\"job\": \"${first: -8}\", \"threshold\": 0.999}"
expect 201
check "a model is published by a word" '.job == $id' --arg id "$first"
as "$ann" PUT /v1/models/hidden "${json[@]}" -d '{"job": "a b/c: ü", "visibility": "public"}'
expect 201
as "$ann" PUT /v1/models/none "${json[@]}" -d '{"job": "huoses"}'
expect 404
check "and not by none" '.errors[0].pointer == "/job"'
predicted() { # TOKEN WORD ID THRESHOLD
  as "$1" POST "/v1/jobs/$2/predict" "${json[@]}" -d '{"x": [[0, 1], [0, 0], [1, 0], [1, 1]]}'
  expect 200
  check "$2 predicts" '.job == $id and .threshold == $threshold' --arg id "$3" --argjson threshold "$4"
}
predicted "$bob" houses "$first" 0.999
predicted "$bob" model:houses "$first" 0.999
predicted "$bob" job:houses "$second" null
predicted "$bob" hidden "$odd" null
as "$bob" POST "/v1/jobs/houses/predict?threshold=0.25" "${json[@]}" -d '{"x": [[0, 1]]}'
expect 200
check "a request's threshold comes first" '.threshold == 0.25'
as "$bob" POST "/v1/jobs/model:hidden/predict?threshold=f1" "${json[@]}" -d '{"x": [[0, 1]]}'
expect 422
means "$bob" model:houses "$first"
means "$bob" houses "$second"
for path in '' /weights /plots; do
  as "$bob" GET "/v1/jobs/model:hidden$path"
  expect 404
done
as "$bob" GET /v1/jobs/model:hidden/inputs
expect 200
check "what a row has is told to all who predict" '.job == $id and .shape == [2, 1, 1] and .columns == []' --arg id "$odd"
as "$bob" GET "/v1/jobs/$odd/inputs"
expect 404
as "$bob" POST "/v1/jobs/model:hidden/predict?checkpoint=latest" "${json[@]}" -d '{"x": [[0, 1]]}'
expect 404
as "$bob" POST "/v1/jobs/model:huoses/predict" "${json[@]}" -d '{"x": [[0, 1]]}'
expect 404

# sweeps
as "$ann" POST /v1/sweeps "${json[@]}" -d "{\"name\": \"rates\", \"job\": $(xor_job 5), \"space\": {\"/optimizer/lr\": {\"values\": [0.1, 0.2]}}, \"metric\": \"train.loss\"}"
expect 201
sweep=$(jq -r .id "$body")
sweep_has_ended() {
  as "$ann" GET /v1/sweeps/rates?wait=5
  jq -e '.status == "succeeded"' "$body" >/dev/null
}
until_so "the sweep has ended" sweep_has_ended
for word in rates sweep:rates last "${sweep: -8}"; do
  as "$ann" GET "/v1/sweeps/$word"
  expect 200
  check "$word is the sweep" '.id == $id' --arg id "$sweep"
  as "$ann" GET "/v1/sweeps/$word/trials"
  expect 200
done
as "$ann" POST /v1/sweeps/rates/trials/0/promote
expect 201
check "a trial is promoted" '.spec.tags == [$id]' --arg id "$sweep"
initial() { # NAME CODE
  as "$ann" POST '/v1/sweeps?validate=only' "${json[@]}" -d "{\"job\": $(xor_job 5 | jq -c --arg name "$1" '.model.init = {job: $name}'), \"space\": {\"/optimizer/lr\": {\"values\": [0.1]}}, \"metric\": \"train.loss\"}"
  expect "$2"
}
initial houses 422
check "a sweep's job is found by name, and refused for what it is" '.errors[0] | .pointer == "/job/model/init" and (.detail | test("start from random weights"))'
initial huoses 422
check "and missed by name" '.errors[0] | .pointer == "/job/model/init/job" and (.detail | test("did you mean \"houses\""))'
unknown "$ann" rates "no job named \"rates\": the sweep $sweep has that name"
as "$ann" GET /v1/sweeps/houses
expect 404
check "a job is no sweep" '.detail | test("no sweep named \"houses\": the job job_.* has that name")'

# names that stand for something else
for name in job_1 swp_1 job:houses sweep:rates model:houses last; do
  as "$ann" POST /v1/jobs "${json[@]}" -d "$(xor_job 5 "{\"name\": \"$name\"}")"
  expect 422
  check "$name is no name" '.errors[0] | .pointer == "/name" and (.detail | test("must be text .* not beginning with job_, swp_"))'
  as "$ann" PATCH /v1/jobs/houses "${json[@]}" -d "{\"name\": \"$name\"}"
  expect 422
  check "$name is none for a job that is there" '.errors[0].pointer == "/name"'
  as "$ann" POST /v1/sweeps "${json[@]}" -d "{\"name\": \"$name\", \"job\": $(xor_job 5), \"space\": {\"/optimizer/lr\": {\"values\": [0.1, 0.2]}}, \"metric\": \"train.loss\"}"
  expect 422
  check "$name is none for a sweep" '.errors[0].pointer == "/name"'
done
as "$ann" POST /v1/jobs "${json[@]}" -d "$(xor_job 5 '{"name": "job 1", "tags": ["job_1"]}')"
expect 201

# names that the server gives
printf 'a,b,y\n' >"$scratch/rows.csv"
for i in $(seq 40); do echo "$i,$((i * 7 % 5)),$((2 * i))"; done >>"$scratch/rows.csv"
spec='{"loss": "mse", "epochs": 1, "model": {"layers": [{"type": "linear", "out_features": 1}]}}'
named() { # TOKEN EXPECTED FIELDS
  as "$1" POST /v1/jobs "${json[@]}" -d "$(jq -c "$3 + ." <<<"$spec")"
  expect 201
  check "$3 is called $2" '.name == $name and .spec.name == $name' --arg name "$2"
}
for dataset in flats last; do
  as "$ann" PUT "/v1/datasets/$dataset" -T "$scratch/rows.csv"
  expect 201
done
named "$ann" flats '{data: {dataset: "flats"}}'
flat=$(jq -r .id "$body")
means "$ann" flats "$flat"
named "$ann" flats '{name: "", data: {dataset: "flats"}}'
named "$ann" mine '{name: "mine", data: {dataset: "flats"}}'
id=$(jq -r .id "$body")
until_so "mine has ended" has_ended "$ann"
as "$ann" PUT /v1/datasets/flats -T <(printf 'c,d\n1,2\n3,4\n5,6\n')
expect 200
as "$ann" GET /v1/jobs/mine
mine=$(jq -c '.spec | .data.target = -1' "$body")
replaced='["the dataset \"flats\" was replaced after the job that these settings are of: its rows are different"]'
for path in '/v1/jobs?validate=only' /v1/jobs; do
  as "$ann" POST "$path" "${json[@]}" -d "$mine"
  expect 422
  check "rows that are named by their hash are trained on, or none" '.errors == [{pointer: "/data/sha256",
    detail: "the dataset \"flats\" was replaced and has other rows: leave this out to train on its present rows"}]'
done
as "$ann" POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.target = "y"' <<<"$mine")" # which the present rows lack
check "the hash is looked at first" '.errors[0].pointer == "/data/sha256"'
as "$ann" POST /v1/jobs "${json[@]}" -d "$(jq -c '.data.sha256 = null' <<<"$mine")"
expect 201
check "without the hash there is nothing to compare" '.warnings == []'
as "$ann" GET "/v1/jobs/$(jq -r .id "$body")?wait=60"
as "$ann" DELETE "/v1/jobs/$(jq -r .id "$body")"
expect 204
as "$ann" POST '/v1/jobs?replaced=never' "${json[@]}" -d "$mine"
expect 400
as "$ann" POST '/v1/jobs?validate=only&replaced=warn' "${json[@]}" -d "$mine"
check "what is run again is warned of other rows" ".warnings == $replaced"
as "$ann" POST '/v1/jobs?replaced=warn' "${json[@]}" -d "$mine"
expect 201
check "and so is the job, at once" ".warnings == $replaced"
again=$(jq -r .id "$body")
as "$ann" GET "/v1/jobs/$again?wait=60"
check "and at its end" ".warnings[:1] == $replaced and .status == \"succeeded\""
sweep="{\"job\": $mine, \"space\": {\"/optimizer/lr\": {\"values\": [0.1]}}, \"metric\": \"train.loss\"}"
as "$ann" POST /v1/sweeps "${json[@]}" -d "$sweep"
expect 422
check "a sweep has the fault in its job" '.errors[0].pointer == "/job/data/sha256"'
as "$ann" POST '/v1/sweeps?replaced=warn' "${json[@]}" -d "$sweep"
expect 201
check "a sweep is warned too" ".warnings[:1] == $replaced"
if [[ -x $build/bin/epochctl ]]; then
  run() { EPOCHD_SERVER=$url EPOCHD_TOKEN=$ann "$build/bin/epochctl" run - --detach "$@" <<<"$mine" >"$scratch/out" 2>"$scratch/err"; }
  if run; then fail "epochctl run: other rows than those of the hash were taken"; fi
  grep -q '/data/sha256.*leave this out' "$scratch/err" || fail "epochctl run: $(<"$scratch/err")"
  run --set /data/sha256=null || fail "epochctl run: $(<"$scratch/err")"
fi
as "$ann" GET "/v1/jobs/$id/inputs"
expect 200
check "a job's columns stay, whatever its dataset is by now" '.target == "y" and .columns == [
  {name: "a", used: true, type: "number", min: 1, max: 40, integer: true, typical: 21},
  {name: "b", used: true, type: "number", min: 0, max: 4, integer: true, typical: 2}]'
as "$ann" PUT /v1/datasets/flats -T "$scratch/rows.csv"
expect 200
as "$ann" POST /v1/jobs "${json[@]}" -d "$mine"
check "the same rows need no warning" '.warnings == []'
named "$ann" data-last '{data: {dataset: "last"}}'
named "$ann" xor '{data: {generator: "xor"}}'
named "$ann" '' '{data: {inline: {x: [[1], [2]], y: [[1], [2]]}}}'
as "$ann" GET '/v1/jobs?limit=9&view=summary'
check "lists show the names" '[.data[].name] == ["", "xor", "data-last", "mine", "mine", "mine", "mine", "flats", "flats"]'
as "$ann" POST '/v1/jobs?validate=only' "${json[@]}" -d "$(jq -c '{data: {dataset: "flats"}} + .' <<<"$spec")"
expect 200
check "a job that is only checked says its name" '.spec.name == "flats"'
for repeated in '' true; do # the key is of the body as it was sent
  as "$ann" POST /v1/jobs "${json[@]}" -H 'Idempotency-Key: one' -d "$(jq -c '{data: {dataset: "flats"}} + .' <<<"$spec")"
  expect 201
  [[ $(header Idempotency-Replayed) == "$repeated" ]] || fail "Idempotency-Replayed: $(header Idempotency-Replayed)"
done
as "$ann" PATCH /v1/jobs/flats "${json[@]}" -d '{"name": null}'
check "a name can be taken away" '.name == ""'
swept() { # NAME DATA: its id goes to $sweep
  as "$ann" POST /v1/sweeps "${json[@]}" -d "$(jq -c "{job: ({data: $2} + .), space: {\"/optimizer/lr\": {values: [0.1, 0.2]}}, metric: \"train.loss\"}" <<<"$spec")"
  expect 201
  check "a sweep over $2 is called $1" '.name == $name' --arg name "$1"
  sweep=$(jq -r .id "$body")
  until_so "the sweep has ended" swept_has_ended
  as "$ann" POST "/v1/sweeps/$sweep/trials/1/promote"
  expect 201
}
swept_has_ended() {
  as "$ann" GET "/v1/sweeps/$sweep?wait=5"
  jq -e '.status == "succeeded"' "$body" >/dev/null
}
swept flats '{dataset: "flats"}'
check "a trial of it too" '.name == "flats, trial 1"'
trial=$(jq -r .id "$body")
as "$ann" GET "/v1/compare?jobs=mine,flats,%20trial%201,flats"
expect 200
check "the comma of a name is none between two" '[.jobs[].name] == ["mine", "flats, trial 1", "flats"] and .jobs[1].id == $id' --arg id "$trial"
swept '' '{inline: {x: [[1], [2]], y: [[1], [2]]}}'
check "of a sweep without a name a trial has one" '.name == "trial 1 of \($id)"' --arg id "$sweep"

# notes on it
as "$ann" PATCH "/v1/jobs/$flat" "${json[@]}" -d '{"notes": "the first, for the paper"}'
expect 200
check "a job has notes" '.spec.notes == "the first, for the paper" and .spec.name == .name'
as "$ann" PATCH "/v1/jobs/$flat" "${json[@]}" -d '{"notes": "a\u0007b"}'
expect 422
check "in plain text" '.errors[0].pointer == "/notes"'
as "$ann" PATCH "/v1/jobs/$flat" "${json[@]}" -d "$(jq -nc '{notes: ("x" * 501)}')"
expect 422
as "$ann" PATCH "/v1/sweeps/$sweep" "${json[@]}" -d '{"notes": "rates"}'
expect 200
check "and so has a sweep" '.spec.notes == "rates"'
if [[ -x $build/bin/epochctl ]]; then
  export EPOCHD_SERVER=$url EPOCHD_TOKEN=$ann
  "$build/bin/epochctl" show "$flat" >"$scratch/out" && grep -q '^ *notes  *the first' "$scratch/out" || fail "epochctl show has no notes"
  "$build/bin/epochctl" set "$flat" --notes 'the last' >/dev/null || fail "epochctl set --notes"
  "$build/bin/epochctl" show "$flat" >"$scratch/out" && grep -q '^ *notes  *the last' "$scratch/out" || fail "epochctl shows $(<"$scratch/out")"
fi
as "$ann" PATCH "/v1/jobs/$flat" "${json[@]}" -d '{"notes": null}'
check "which can be taken away" '.spec.notes == null'
