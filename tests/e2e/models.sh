#!/usr/bin/env bash
# Published models, and the Open Inference Protocol, as an independent reader of its text sees them; and that a
# name outlives the daemon.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate && break; fi
done
[[ -n $python ]] || skip "there is no python3-numpy"
ready() { http GET /v2/health/ready && [[ $code == 200 ]]; }
daemon_start
"$python" "$here/models.py" "$url" || fail "what is served is not what is predicted"

# A daemon that is killed and comes back serves the same models.
http GET /v1/models
before=$(cat "$body")
ask='{"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [0, 1]}]}'
http POST /v2/models/xor/infer "${json[@]}" -d "$ask"
expect 200
answer=$(cat "$body")
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
daemon_start
until_so "the device has started" ready
http GET /v1/models
[[ $(cat "$body") == "$before" ]] || fail "after a kill the models are $(cat "$body")"
http POST /v2/models/xor/infer "${json[@]}" -d "$ask"
expect 200
[[ $(cat "$body") == "$answer" ]] || fail "after a kill the model answers $(cat "$body")"

# Without a media type, as some clients send it: but not from another site's page.
http POST /v2/models/xor/infer -H 'Content-Type:' -d "$ask"
expect 200
for from in 'Origin: http://elsewhere.example' 'Sec-Fetch-Site: cross-site'; do
  http POST /v2/models/xor/infer -H 'Content-Type:' -H "$from" -d "$ask"
  expect 403
  check "an error of that protocol" 'keys == ["error"]'
done

# A job that has not ended, and one without weights.
submit "$(xor_job "$endless")"
http PUT /v1/models/running "${json[@]}" -d "{\"job\": \"$id\"}"
expect 409
check "the pointer names the job" '.errors[0].pointer == "/job"'
http POST "/v1/jobs/$id/cancel"
ended "$id"
http PUT /v1/models/cancelled "${json[@]}" -d "{\"job\": \"$id\"}"
[[ -e $data_dir/jobs/$id/weights.safetensors ]] && expect 201 || expect 409

# Weights that are not those that the job wrote are not published, whatever they are.
submit "$(xor_job 10)"
finish "$id"
python3 - "$data_dir/jobs/$id/weights.safetensors" <<'PYTHON'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + size])
del head["__metadata__"]["data"]
head = json.dumps(head).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + raw[8 + size:])
PYTHON
http PUT /v1/models/bare "${json[@]}" -d "{\"job\": \"$id\"}"
expect 500
check "weights that are not the job's" '.type == "urn:epochd:problem:damaged" and (.detail | contains($id))' --arg id "$id"
daemon_stop

# Without a token only the probes answer.
printf 'a-token-of-sufficient-length-0123456789\n' >"$scratch/token"
chmod 600 "$scratch/token"
daemon_start --token-file "$scratch/token"
http GET /v2/health/live
expect 200
until_so "the device has started" ready
for path in /v2 /v2/models/xor /v1/models; do http GET $path && expect 401; done
http POST /v2/models/xor/infer "${json[@]}" -d "$ask"
expect 401
check "an error of that protocol" 'keys == ["error"]'
http POST /v2/models/xor/infer "${json[@]}" -d "$ask" -H "Authorization: Bearer a-token-of-sufficient-length-0123456789"
expect 200
daemon_stop
