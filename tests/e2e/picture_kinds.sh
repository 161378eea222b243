#!/usr/bin/env bash
# Pictures as cameras, other systems and careless hands make them: 16 bits, EXIF orientation, names of splits, DOS's
# backslashes, decomposed names, and archives of which some pictures cannot be read.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
kinds=$scratch/kinds
python3 "$here/picture_kinds.py" "$kinds"
# put NAME FILE [QUERY]: expects 201
put() {
  http PUT "/v1/datasets/$1${3:+?$3}" -T "$kinds/$2.zip"
  expect 201
}
# learn NAME: the model that epochd chooses; $id
learn() {
  submit "$(jq -nc --arg name "$1" '{data: {dataset: $name, test: 0.25, stratify: true}, model: "auto"}')"
  finish "$id"
}
send() { http POST "/v1/jobs/$id/predict" -H "Content-Type: $1" --data-binary "@$kinds/$2"; }

put deep deep
check "16 bits are stored" '.parts.train.x.dtype == "u2" and (.note | contains("from 274 to 326"))'
http GET '/v1/datasets/deep/rows?limit=1'
expect 200
check "as they are" '.data[0].x | min >= 301 and max <= 326'
learn deep
check "what they differ in is learnt: accuracy $(jq .metrics.test.accuracy "$body")" '.metrics.test.accuracy == 1'
send image/png one.png
expect 200
check "a picture of 16 bits is predicted" '.classes == ["dim"] and (.probabilities[0] | max) > 0.9'
jq -c '.predictions[0]' "$body" >"$scratch/alone"
send application/zip two.zip
expect 200
check "alike beside one of another range" '.names[0] == "one.png" and
  ([.predictions[0], $alone[0]] | transpose | all((.[0] - .[1]) | . * . < 1e-8))' --slurpfile alone "$scratch/alone"

put turned turned
check "pictures are turned" '.note == "40 of 80 pictures are rotated by their EXIF orientation"'
learn turned
check "as they are viewed, they are told apart: accuracy $(jq .metrics.test.accuracy "$body")" '.metrics.test.accuracy == 1'
send image/png left.png
expect 200
jq -c .predictions "$body" >"$scratch/upright"
send image/png left-turned.png
expect 200
check "so is a picture to predict" '.classes == ["left"] and .predictions == $upright[0]' \
  --slurpfile upright "$scratch/upright"

for pair in Training:test training_set:test train_set:validation seg_train:test seg_train-seg_train:test dos:test; do
  put "${pair%:*}" "${pair%:*}"
  check "${pair%:*}: two classes, 12 and 4 pictures" '.classes == ["circle", "cross"] and .note == null and .rows == 12 and
    .parts[$other].x.rows == 4 and (.parts | length) == 2' --arg other "${pair#*:}"
done
put nfc nfc
check "a class is one, composed or not" '.classes == ["bar", "caf\u00e9"] and .rows == 6 and .parts.test.x.rows == 6'

http PUT /v1/datasets/broken -T "$kinds/broken.zip"
expect 422
check "all that cannot be read is listed, with what it is" '(.detail | test("5 of 9 cannot be read.*broken=skip")) and
  ([.errors[].detail] | sort | map(test("a/5.jpg.*empty"), test("a/6.jpg.*GIF"), test("b/7.png.*ends early"), test("b/8.png.*HTML"),
    test("b/9.jpeg.*WebP")) | map(select(.)) | length) == 5 and (.errors | length) == 5'
http GET /v1/datasets/broken
expect 404
http PUT /v1/datasets/many -T "$kinds/many.zip"
expect 422
check "up to 16 of them" '(.detail | contains("20 of 24 cannot be read")) and (.errors | length) == 16'
put broken broken broken=skip
check "or left out, with their names" '.rows == 4 and .left_out == 5 and
  (.note | test("5 of 9 pictures cannot be read and are left out: .*a/5.jpg.*b/7.png"))'
http PUT '/v1/datasets/broken?broken=perhaps' -T "$kinds/broken.zip"
expect 400
if [[ -x $build/bin/epochctl ]]; then
  ! EPOCHD=$url "$build/bin/epochctl" data put ctl "$kinds/broken.zip" >"$scratch/printed" 2>&1 || fail "epochctl takes broken pictures"
  [[ $(grep -c 'a/5.jpg.*empty\|a/6.jpg.*GIF\|b/7.png.*early\|b/8.png.*HTML\|b/9.jpeg.*WebP' "$scratch/printed") -ge 5 ]] ||
    fail "epochctl: $(cat "$scratch/printed")"
  EPOCHD=$url "$build/bin/epochctl" data put ctl "$kinds/broken.zip" --broken skip >"$scratch/printed"
  grep -q 'cannot be read and are left out' "$scratch/printed" || fail "epochctl: $(cat "$scratch/printed")"
  echo "ok: epochctl data put lists them, and --broken skip leaves them out"
fi
PYTHONPATH=$here/../../clients/python EPOCHD=$url python3 - "$kinds/broken.zip" <<'PYTHON'
import sys
import epochd
client = epochd.Client()
try:
    client.upload("python", sys.argv[1])
    sys.exit("broken pictures were taken")
except epochd.EpochdError as error:
    assert len(error.errors) == 5 and 'broken="skip"' in str(error) and '/: "' not in str(error), error
assert client.upload("python", sys.argv[1], broken="skip", channels=3)["left_out"] == 5
PYTHON
echo "ok: the Python client has both"
