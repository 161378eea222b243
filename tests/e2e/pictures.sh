#!/usr/bin/env bash
# A ZIP of pictures in class folders is a data set: a small network of convolutions learns it, and
# predicts from bytes. Bad archives are refused by the entry at fault, and leave nothing.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
python3 "$here/pictures.py" "$scratch/pictures" 12 300 90

http PUT /v1/datasets/pets -T "$scratch/pictures/pets.zip"
expect 201
check "class folders are the labels, splits are respected" '.format == "pictures" and .left_out == 3 and
  .classes == ["cross", "lying", "standing"] and (.parts | keys) == ["test", "train"] and
  (.parts.train.x | .rows == 300 and .dtype == "u1" and .shape == [1, 12, 12]) and
  (.parts.test.y | .rows == 90 and .dtype == "u1" and .shape == []) and (.target_columns[0] | [.min, .max] == [0, 2])'
http GET /v1/datasets/pets
expect 200
check "the names of the classes are shown again" '.classes == ["cross", "lying", "standing"]'
http PUT /v1/datasets/pets -T "$scratch/pictures/pets.zip"
expect 200

# spec NAME: the job of this test
spec() {
  jq -nc --arg name "$1" '{
    data: {dataset: $name, normalize: {mean: 0.15, std: 0.2}},
    model: {layers: [
      {type: "conv2d", out_channels: 8, kernel_size: 3, padding: 1}, {type: "relu"}, {type: "max_pool2d", kernel_size: 2},
      {type: "conv2d", out_channels: 8, kernel_size: 3}, {type: "relu"}, {type: "max_pool2d", kernel_size: 2},
      {type: "flatten"}, {type: "linear", out_features: 3}]},
    loss: "cross_entropy", optimizer: {type: "sgd", lr: 0.05, momentum: 0.9}, epochs: 25, batch_size: 30}'
}
submit "$(spec pets)"
finish "$id"
check "it is learnt: accuracy $(jq .metrics.test.accuracy "$body") on the test folder" \
  '.metrics.test.accuracy >= 0.9 and .metrics.test.rows == 90 and .metrics.class_names[0] == "cross"'
http GET "/v1/jobs/$id/predictions"
expect 200
check "targets are the names of the classes" '.target == [range(90) | ["cross", "lying", "standing"][. / 30 | floor]]'
jq -c .prediction "$body" >"$scratch/served"
http POST "/v1/jobs/$id/predict" "${json[@]}" -d "{\"x\": $(<"$scratch/pictures/rows.json")}"
expect 200
check "the same of raw pixels in a request" '.classes == $served[0] and .class_names == ["cross", "lying", "standing"] and
  all(.probabilities[]; add > 0.999 and add < 1.001)' --slurpfile served "$scratch/served"

# the same of the files: one, or all of them in an archive
# send TYPE FILE: to be predicted
send() { http POST "/v1/jobs/$id/predict" -H "Content-Type: $1" --data-binary "@$2"; }
cp "$body" "$scratch/of_rows"
for file in pets bomb damaged; do python3 -m zipfile -e "$scratch/pictures/$file.zip" "$scratch/$file"; done
crosses=("$scratch"/pets/pets/test/cross/*)
first=${crosses[0]#"$scratch/pets/"}
send image/png "$scratch/pets/$first"
expect 200
# Rows in another batch are added up in another order.
alike='def alike: [.[0], .[1]] | transpose | all(transpose | all((.[0] - .[1]) | . * . < 1e-8));'
check "a picture" "$alike"' .rows == 1 and (has("names") | not) and .classes[0] == $rows[0].classes[0] and
  ([.predictions, $rows[0].predictions[:1]] | alike) and (.probabilities[0] | add > 0.999 and add < 1.001)' --slurpfile rows "$scratch/of_rows"
(cd "$scratch/pets" && python3 -m zipfile -c ../test.zip pets/test && tar -cf ../test.tar pets/test)
for file in zip tar; do
  [[ $file == zip ]] && type=application/zip || type=application/x-tar
  send $type "$scratch/test.$file"
  expect 200
  check "pictures in a $file, with their names" "$alike"' ([([.names, .predictions] | transpose | sort | map(.[1])), $rows[0].predictions] | alike) and
    .rows == 90 and (.names | sort)[0] == ($first | if $file == "zip" then ltrimstr("pets/") else . end)' \
    --slurpfile rows "$scratch/of_rows" --arg first "$first" --arg file $file
done
# not REPLY TYPE FILE PATTERN: refused
not() {
  send "$2" "$scratch/pictures/$3"
  expect "$1"
  check "refused: $(jq -r .detail "$body")" '.detail | test($pattern)' --arg pattern "$4"
}
for file in bomb damaged; do cp "$scratch/$file/b/2.png" "$scratch/pictures/$file.png"; done
not 422 application/zip damaged.zip '"b/2.png": the PNG is damaged'
not 422 application/zip bomb.zip '"b/2.png": it has 50000 x 50000 pixels'
not 422 application/zip escape.zip '"../b/2.png" is not a path within the archive'
not 422 image/png bomb.png 'it has 50000 x 50000 pixels'
not 422 image/png damaged.png 'the PNG is damaged'
not 422 image/jpeg rows.json 'it is text, neither a PNG nor a JPEG'
not 415 image/webp bomb.png 'a picture .image/png, image/jpeg.'
if [[ -x $build/bin/epochctl ]]; then
  EPOCHD=$url "$build/bin/epochctl" predict "$id" "$scratch/pets/$first" >"$scratch/printed"
  grep -q cross "$scratch/printed" || fail "epochctl predict of a picture: $(cat "$scratch/printed")"
  EPOCHD=$url "$build/bin/epochctl" predict "$id" "$scratch/test.zip" >"$scratch/printed"
  grep -q 'test/standing/.*png' "$scratch/printed" || fail "epochctl predict of a ZIP: $(head -3 "$scratch/printed")"
  EPOCHD=$url "$build/bin/epochctl" train "$scratch/pictures/pets.zip" --set /epochs=2 >"$scratch/printed"
  grep -q '^  epochctl predict pets.* new.png ' "$scratch/printed" || fail "epochctl train of pictures: $(tail -3 "$scratch/printed")"
  echo "ok: epochctl predict takes pictures"
fi
python3 "$here/big_picture.py" "$scratch/pictures/large.zip" 5000 5000 11
not 413 application/zip large.zip '11.png": with it there are more than 268435456 pixels'
# they are decoded in a process of their own, whose crash costs one response
reader=
decodes() { reader=$(pgrep -P "$daemon" -f -- '--ingest$' | head -n 1) && [[ -n $reader ]]; }
curl -sS --max-time "$patience" -o "$scratch/crashed" -X POST -H 'Content-Type: application/zip' \
  --data-binary "@$scratch/pictures/large.zip" "$url/v1/jobs/$id/predict" &
client=$!
until_so "a process decodes them" decodes
kill -ABRT "$reader"
wait "$client"
jq -e '.status == 500 and (.detail | contains("ended by signal 6 (SIGABRT)"))' "$scratch/crashed" >/dev/null ||
  fail "pictures whose decoder crashed: $(<"$scratch/crashed")"
[[ -z $(ls "$data_dir/tmp") ]] || fail "left in DATA/tmp: $(ls "$data_dir/tmp")"
echo "ok: a crash of the decoder costs one response"
python3 "$here/big_picture.py" "$scratch/pictures/larger.png" 40 30
send image/png "$scratch/pictures/larger.png"
expect 200
check "a larger one is resized" '.rows == 1'

# the same bytes, read in another way
http PUT '/v1/datasets/small?size=6x8&channels=3' -T "$scratch/pictures/pets.zip"
expect 201
check "another size" '.parts.train.x.shape == [3, 6, 8]'
http GET /v1/datasets/pets
check "beside the first" '.parts.train.x.shape == [1, 12, 12]'
jq -c '[.parts[][] | [.rows, .shape]]' <(curl -sSf "$url/v1/datasets/pets") >"$scratch/parts"
for form in pax gnu; do
  http PUT "/v1/datasets/$form" -T "$scratch/pictures/pets-$form.tar"
  expect 201
  check "a TAR, as $form writes it" '.format == "pictures" and .classes == ["cross", "lying", "standing"] and .left_out == 3 and
    [.parts[][] | [.rows, .shape]] == $parts[0]' --slurpfile parts "$scratch/parts"
  cmp "$data_dir/datasets/$(jq -r .sha256 "$body")/test.x.npy" "$data_dir/datasets/$(curl -sSf "$url/v1/datasets/pets" | jq -r .sha256)/test.x.npy"
done
gzip -c "$scratch/pictures/pets-pax.tar" >"$scratch/pets.tar.gz"
http PUT '/v1/datasets/tape?size=6x6' -T "$scratch/pets.tar.gz"
expect 201
check "and packed, at another size" '.parts.train.x.shape == [1, 6, 6]'
head -c 40000 "$scratch/pictures/pets-pax.tar" >"$scratch/cut.tar"
http PUT /v1/datasets/bad -T "$scratch/cut.tar"
expect 422
check "refused: $(jq -r .detail "$body")" '.detail | contains("TAR: the archive ends within")'
http PUT /v1/datasets/bad -T "$scratch/pictures/escape.tar"
expect 422
check "refused: $(jq -r .detail "$body")" '.detail | contains("\"../b/2.png\" is not a path within the archive")'
gzip -k "$scratch/pictures/pets.zip"
http PUT '/v1/datasets/packed' -T "$scratch/pictures/pets.zip.gz"
expect 201
check "gz of it" '.format == "pictures" and .classes[2] == "standing"'
http PUT /v1/datasets/packed/validation/y -T - <<<'1'
expect 200
check "a part beside it keeps the names" '.format == "parts" and .classes[2] == "standing"'
http PUT /v1/datasets/packed/train/y -T - <<<'1'
expect 200
check "other training labels do not" 'has("classes") | not'

# refused NAME DETAIL: the archive is refused for that reason, and leaves nothing
refused() {
  http PUT /v1/datasets/bad -T "$scratch/pictures/$1.zip"
  expect 422
  check "refused: $(jq -r .detail "$body")" '.detail | contains($wanted)' --arg wanted "$2"
  http GET /v1/datasets/bad
  expect 404
}
contents=$(find "$data_dir/datasets" | sort)
refused escape '"../b/2.png" is not a path within the archive'
refused bomb '"b/2.png": it has 50000 x 50000 pixels'
refused damaged '"b/2.png": the PNG is damaged'
refused one 'are in a single class folder'
[[ $(find "$data_dir/datasets" | sort) == "$contents" ]] || fail "something of a refused archive is left"
for size in 6 6x 0x4 6x8x1 -1x4 99999x1; do
  http PUT "/v1/datasets/bad?size=$size" -T "$scratch/pictures/pets.zip"
  expect 400
done
http PUT '/v1/datasets/bad?channels=2' -T "$scratch/pictures/pets.zip"
expect 400
http PUT '/v1/datasets/bad?size=200x200&channels=3' -T "$scratch/pictures/pets.zip"
expect 422
check "refused: $(jq -r .detail "$body")" '.detail | contains("the limit of a row is 65536")'
http PUT /v1/datasets/bad/train/x -T "$scratch/pictures/pets.zip"
expect 422
echo "ok: sizes, channels and parts that cannot be are refused"
