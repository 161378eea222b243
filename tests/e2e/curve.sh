#!/usr/bin/env bash
# A job's curve as a file for TensorBoard and as a picture, each read by an independent parser;
# while a job waits, runs and has ended.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start --cpu-jobs 1 # some jobs are to wait

# curve ID FORMAT FILE MORE…: the curve in that format, kept in a file.
curve() {
  http GET "/v1/jobs/$1/curve?format=$2${4:-}"
  expect 200
  cp "$body" "$3"
}

# picture FILE PYTHON: it is XML without scripts; the Python condition holds of `text` (all that is
# written in it) and `root`.
picture() {
  python3 - "$1" "$2" <<'EOF' || fail "the picture $1: not so: $2"
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
text = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
names = {element.tag.split("}")[1] for element in root.iter()}
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
assert names <= {"svg", "title", "style", "rect", "text", "path"}, names
assert not any(key.startswith("on") or "href" in key for element in root.iter() for key in element.attrib)
assert eval("(" + sys.argv[2] + ")"), text
EOF
}

name='<b> & "quotes" ]]> é 日本'
disc='{"data": {"generator": "disc", "rows": 400, "validation": 0.25}, "loss": "bce_with_logits",
  "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]},
  "optimizer": {"type": "adam", "lr": 0.02}, "epochs": 300, "batch_size": 50, "report_every": 1}'
submit "$(jq -c --arg name "$name" '. + {name: $name}' <<<"$disc")"
job=$id
finish "$job"

curve "$job" json "$scratch/curve.json"
(($(jq .points "$scratch/curve.json") == 300)) || fail "the curve has $(jq .points "$scratch/curve.json") points"
curve "$job" tfevents "$scratch/events"
[[ $(header Content-Disposition) =~ filename=\"events\.out\.tfevents\.[0-9]{10}\.$job\" ]] ||
  fail "TensorBoard would not find $(header Content-Disposition)"
python3 "$here/tfevents.py" "$scratch/events" "$scratch/curve.json" | tee "$scratch/tags" ||
  fail "the event file is refused"
(($(grep -c ': 300 figures' "$scratch/tags") == 5)) || fail "not every tag has all points"
echo "ok: the event file has every point of the curve, with checksums that fit"

curve "$job" tfevents "$scratch/thin" '&max_points=20'
curve "$job" json "$scratch/thin.json" '&max_points=20'
python3 "$here/tfevents.py" "$scratch/thin" "$scratch/thin.json" | grep '^loss/train: 20 figures' >/dev/null ||
  fail "a thinned event file is another than the thinned curve"

# the reader refuses a changed byte in a length, in a message and in its last checksum, and a cut
bytes=$(stat -c %s "$scratch/events")
for at in 0 9 20 60 $((bytes - 1)); do
  python3 - "$scratch/events" "$scratch/turned" "$at" <<'EOF'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[3])] ^= 4
open(sys.argv[2], "wb").write(data)
EOF
  if python3 "$here/tfevents.py" "$scratch/turned" >/dev/null 2>&1; then fail "byte $at turned, and nobody saw it"; fi
done
head -c $((bytes - 3)) "$scratch/events" >"$scratch/turned"
if python3 "$here/tfevents.py" "$scratch/turned" >/dev/null 2>&1; then fail "a cut file was taken"; fi
jq '.loss[7] += 0.001' "$scratch/curve.json" >"$scratch/other.json"
if python3 "$here/tfevents.py" "$scratch/events" "$scratch/other.json" >/dev/null 2>&1; then
  fail "another curve's figures were taken for these"
fi
echo "ok: a turned byte, a cut and another's figures are refused"

curve "$job" svg "$scratch/curve.svg"
[[ $(header Content-Type) == image/svg+xml ]] || fail "the picture came as $(header Content-Type)"
[[ $(header Content-Security-Policy) == *"default-src 'none'"* ]] || fail "the picture may load and run things"
NAME=$name picture "$scratch/curve.svg" '__import__("os").environ["NAME"] in text and "succeeded" in text
  and "epoch" in text and any(t.startswith("training 0.") for t in text)
  and any(t.startswith("validation 0.") for t in text)'
last=$(jq '.loss[-1]' "$scratch/curve.json")
picture "$scratch/curve.svg" "any(abs(float(t[9:]) - $last) < 1e-5 for t in text if t.startswith('training '))"
(($(stat -c %s "$scratch/curve.svg") < 40000)) || fail "the picture has $(stat -c %s "$scratch/curve.svg") bytes"
echo "ok: the picture is XML, without scripts, and says what the curve does"

# a loss that falls by far is on a log scale
submit "$(xor_job 3000)"
finish "$id"
curve "$id" svg "$scratch/log.svg"
picture "$scratch/log.svg" '"loss (log scale)" in text'
picture "$scratch/log.svg" '"xor" in text' # the name that it gets

# one that has not ended, and one that has not begun
submit "$(xor_job "$endless" '{"report_every": 10000}')"
running=$id
submit "$(xor_job 10)"
waiting=$id
has_points() { curve "$running" json "$scratch/running.json" && (($(jq .points "$scratch/running.json") > 2)); }
until_so "the curve has points" has_points
curve "$running" svg "$scratch/running.svg"
picture "$scratch/running.svg" '"running" in text and any(t.startswith("training ") for t in text)'
curve "$running" tfevents "$scratch/running"
python3 "$here/tfevents.py" "$scratch/running" | grep '^loss/train' >/dev/null || fail "a running job has no event file"
curve "$waiting" svg "$scratch/waiting.svg"
picture "$scratch/waiting.svg" '"no epochs reported yet" in text and "queued" in text'
curve "$waiting" tfevents "$scratch/waiting"
[[ -z $(python3 "$here/tfevents.py" "$scratch/waiting") ]] || fail "a job that waits has figures"
http POST "/v1/jobs/$running/cancel"
ended "$running"
echo "ok: a job that runs and one that waits have their curves"

# a loss that is not finite
http POST /v1/jobs "${json[@]}" -d "$(jq -c '. + {optimizer: {type: "sgd", lr: 1e30}, loss: "mse"}' <<<"$disc")"
expect 201
diverged=$(jq -r .id "$body")
ended "$diverged"
curve "$diverged" svg "$scratch/diverged.svg"
picture "$scratch/diverged.svg" '"failed" in text'
curve "$diverged" json "$scratch/diverged.json"
curve "$diverged" tfevents "$scratch/diverged"
python3 "$here/tfevents.py" "$scratch/diverged" "$scratch/diverged.json" >/dev/null || fail "NaN has another curve"

http GET "/v1/jobs/$job/curve?format=png"
expect 400
for word in json csv svg tfevents; do
  check "an unknown format is told of $word" '.detail | contains($word)' --arg word "$word"
done
http GET "/v1/jobs/$job/curve?format=svg&max_points=1"
expect 400

# more long curves than the memory of requests holds are thinned, not refused
daemon_stop
daemon_start --cpu-jobs 1 --http-bytes-max 16777216
many=
for _ in 1 2 3 4 5 6; do
  submit "$(xor_job 10000 '{"report_every": 1}')"
  many+=,$id
  finish "$id"
done
http GET "/v1/compare?jobs=${many:1}&max_points=10000"
expect 200
check "curves of six jobs share half of the memory" '.curves | length == 6 and all(.loss | length | . > 4000 and . < 5000)'
http GET "/v1/compare?jobs=$id&max_points=10000"
check "that of one has all points" '.curves[0].loss | length == 10000'
echo "ok: many long curves are thinned"
