#!/usr/bin/env bash
# Owners: whose jobs, data sets and models they are, who may change them, quotas, and lists of one owner's.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
tokens=$scratch/tokens
ctl() { "$build/bin/epochctl" "$@" --file "$tokens"; }
as() { # TOKEN METHOD PATH CURL-OPTIONS…
  local token=$1
  shift
  http "$@" -H "Authorization: Bearer $token"
}
ann=$(ctl token add ann --owner ann --scopes read,submit,publish)
bob=$(ctl token add bob --owner bob --scopes read,submit,publish)
root=$(ctl token add root --scopes admin)
daemon_start --cpu-jobs 1 --token-file "$tokens" --quota-jobs 3 --quota-bytes 4000

submit_as() { # TOKEN JOB CODE
  as "$1" POST /v1/jobs "${json[@]}" -d "$2"
  expect "$3"
}
submit_as "$ann" "$(xor_job 10)" 201
done=$(jq -r .id "$body")
check "a job shows its owner" '.owner == "ann"'
submit_as "$ann" "$(xor_job "$endless")" 201
job=$(jq -r .id "$body")

# others' jobs can be read, and not changed
as "$bob" GET "/v1/jobs/$job"
expect 200
for change in "POST /cancel" "POST /pause" "POST /resume" "DELETE "; do
  as "$bob" "${change% *}" "/v1/jobs/$job${change#* }"
  expect 403
done
check "the owner is named" '.detail | test("belongs to ann")'
as "$bob" PATCH "/v1/jobs/$job" "${json[@]}" -d '{"priority": 1}'
expect 403
as "$ann" PATCH "/v1/jobs/$job" "${json[@]}" -d '{"priority": -1}'
expect 200
as "$ann" PATCH "/v1/jobs/$job" "${json[@]}" -d '{"priority": 1}'
expect 403
check "a priority that passes others needs admin" '.errors[0].pointer == "/priority" and (.detail | test("scope \"admin\""))'
submit_as "$ann" "$(xor_job 10 '{"priority": 1}')" 403
as "$ann" POST '/v1/jobs?validate=only' "${json[@]}" -d "$(xor_job 10 '{"priority": 1}')"
expect 403
as "$ann" POST /v1/sweeps "${json[@]}" -d "{\"job\": $(xor_job 10), \"space\": {\"/seed\": {\"values\": [1, 2]}}, \"priority\": 1}"
expect 403
as "$root" PATCH "/v1/jobs/$job" "${json[@]}" -d '{"priority": 2}'
expect 200
as "$bob" DELETE /v1/jobs/job_00000000000000000000000000
expect 404
echo "ok: only its owner changes a job, or an admin"

# lists
submit_as "$bob" "$(xor_job 10)" 201
as "$ann" GET '/v1/jobs?owner=ann'
check "a list of one owner's" '[.data[].owner] == ["ann", "ann"]'
etag=$(header ETag)
as "$ann" GET '/v1/jobs?owner=bob'
check "and of another's" '[.data[].owner] == ["bob"]'
[[ $(header ETag) != "$etag" ]] || fail "two lists have the same ETag"
as "$ann" GET '/v1/jobs?owner=ann&state=running&view=summary'
check "with a state" '[.data[].owner] == ["ann"]'
as "$ann" GET '/v1/jobs?owner='
check "nobody's" '.data == []'
as "$ann" GET /v1/queue
check "the queue shows owners" '[.jobs[].owner] == ["ann", "bob"]'

# data sets
printf 'a,b\n1,2\n3,4\n' >"$scratch/small.csv"
as "$ann" PUT /v1/datasets/d -T "$scratch/small.csv"
expect 201
check "a data set shows its owner" '.owner == "ann"'
as "$bob" PUT /v1/datasets/d -T "$scratch/small.csv"
expect 403
as "$bob" PUT '/v1/datasets/d?replace=false' -T "$scratch/small.csv"
expect 201
check "another owner's name stays, and the file gets one beside it" '.name == "d-2" and .owner == "bob"'
as "$bob" PUT '/v1/datasets/d?replace=false' -T "$scratch/small.csv"
expect 200
check "which is found again" '.name == "d-2"'
as "$bob" DELETE /v1/datasets/d-2
expect 204
as "$bob" DELETE /v1/datasets/d
expect 403
as "$root" PUT /v1/datasets/d -T "$scratch/small.csv"
expect 200
as "$ann" GET /v1/datasets/d
check "it stays its owner's when an admin replaces it" '.owner == "ann"'
seq -f '%g,1' 4000 >"$scratch/large.csv"
as "$ann" PUT /v1/datasets/large -T "$scratch/large.csv"
expect 429
check "a quota of bytes is told" '.detail | test("the datasets of ann would take [0-9]+ bytes, the limit is 4000")'
as "$ann" GET /v1/datasets/large
expect 404

# models
until_so "the first job has ended" eval 'as "$ann" GET "/v1/jobs/$done" && [[ $(jq -r .status "$body") == succeeded ]]'
as "$ann" PUT /v1/models/m "${json[@]}" -d "{\"job\": \"$done\"}"
expect 201
check "a model shows its owner" '.owner == "ann"'
as "$bob" PUT /v1/models/m "${json[@]}" -d "{\"job\": \"$done\"}"
expect 403
as "$bob" DELETE /v1/models/m
expect 403
as "$root" DELETE /v1/models/m
expect 204

# others' models do not hold up who deletes a public job: it goes to them
as "$bob" PUT /v1/models/of-bob "${json[@]}" -d "{\"job\": \"$done\"}"
expect 201
as "$ann" PUT /v1/models/m "${json[@]}" -d "{\"job\": \"$done\"}"
expect 201
as "$root" DELETE "/v1/jobs/$done"
expect 409
as "$ann" DELETE "/v1/jobs/$done"
expect 409
check "a model of one's own is taken back first" '.detail | test("model \"m\" is published")'
as "$ann" DELETE /v1/models/m
expect 204
as "$ann" DELETE "/v1/jobs/$done"
expect 204
as "$ann" GET "/v1/jobs/$done"
expect 404
as "$ann" DELETE "/v1/jobs/$done"
expect 404
as "$bob" GET "/v1/jobs/$done"
check "the job is the model's owner's" '.owner == "bob" and .visibility == "private" and .spec.visibility == "private"'
as "$bob" POST /v2/models/of-bob/infer "${json[@]}" -d '{"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [0, 1]}]}'
expect 200
as "$bob" DELETE /v1/models/of-bob
expect 204
as "$bob" DELETE "/v1/jobs/$done"
expect 204

# 50 submitters, 3 jobs
for ((i = 0; i < 50; i++)); do
  curl -sS -o /dev/null -w '%{http_code}\n' "$url/v1/jobs" -H "Authorization: Bearer $ann" "${json[@]}" \
    -d "$(xor_job "$endless")" >"$scratch/code.$i" &
  submitters[i]=$!
done
wait "${submitters[@]}"
[[ $(cat "$scratch"/code.* | sort | uniq -c | awk '{print $1 " " $2}' | paste -sd,) == "2 201,48 429" ]] ||
  fail "of 50 submissions: $(cat "$scratch"/code.* | sort | uniq -c)"
submit_as "$ann" "$(xor_job 10)" 429
check "a quota of jobs is told" '.detail | test("ann has 3 jobs that have not ended, of 3 allowed")'
[[ $(header Retry-After) ]] || fail "429 without Retry-After"

# owners survive a restart
daemon_stop
daemon_start --cpu-jobs 1 --token-file "$tokens" --quota-jobs 3
as "$bob" POST "/v1/jobs/$job/cancel"
expect 403
submit_as "$ann" "$(xor_job 10)" 429
as "$ann" POST "/v1/jobs/$job/cancel"
expect 200
echo "ok: owners and quotas survive a restart"
