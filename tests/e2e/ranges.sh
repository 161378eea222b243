#!/usr/bin/env bash
# Weights as a file over HTTP: ETag, 304, HEAD, ranges.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
submit "$(xor_job 500)"
finish "$id"
sha=$(jq -r .weights.sha256 "$body")
bytes=$(jq -r .weights.bytes "$body")
weights=/v1/jobs/$id/weights

http GET "$weights"
expect 200
cp "$body" "$scratch/weights"
[[ $(sha256sum <"$scratch/weights" | cut -d ' ' -f 1) == "$sha" ]] || fail "the SHA-256 is not the file's"
[[ $(stat -c %s "$scratch/weights") == "$bytes" ]] || fail "the size is not the file's"
etag=$(header ETag)
[[ $etag == "\"$sha\"" ]] || fail "the ETag is $etag"
[[ $(header Accept-Ranges) == bytes ]] || fail "no Accept-Ranges"
echo "ok: the weights, their size, SHA-256 and ETag agree"

http GET "$weights" -H "If-None-Match: $etag"
expect 304
http HEAD "$weights"
expect 200
[[ $(header Content-Length) == "$bytes" ]] || fail "HEAD says $(header Content-Length) bytes"
echo "ok: 304 and HEAD"

# part RANGE FROM COUNT: the answer to that range is those bytes
part() {
  http GET "$weights" -H "Range: bytes=$1"
  expect 206
  cmp "$body" <(tail -c "+$(($2 + 1))" "$scratch/weights" | head -c "$3") || fail "range $1 gave other bytes"
  [[ $(header Content-Range) == "bytes $2-$(($2 + $3 - 1))/$bytes" ]] || fail "Content-Range: $(header Content-Range)"
}
part 0-0 0 1
part 8-99 8 92
part "100-" 100 $((bytes - 100))
part "-10" $((bytes - 10)) 10
part "5-999999999" 5 $((bytes - 5))
http GET "$weights" -H "Range: bytes=$bytes-"
expect 416
http GET "$weights" -H 'Range: bytes=0-9' -H 'If-Range: "another"'
expect 200
echo "ok: ranges"
http GET "$weights?format=json"
expect 200
check "the same as JSON" '.format == "epochd-weights" and .tensors["0.weight"].shape == [4, 2]'
http GET "$weights?format=excel"
[[ $code == 4* ]] || fail "an unknown format was answered $code"
