#!/usr/bin/env bash
# The dashboard's examples: the daemon accepts each as it stands, and those without an upload reach their goals.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
command -v node >/dev/null || skip "there is no node"

node --input-type=module -e '
  const { examples } = await import(process.argv[1]);
  for (const { id, needs, spec } of examples) console.log(JSON.stringify({ id, needs: needs ?? "", spec: spec() }));
' "$(cd "$here/../.." && pwd)/clients/dashboard/examples.js" >"$scratch/examples"
[[ $(wc -l <"$scratch/examples") -ge 5 ]] || fail "there are few examples"
daemon_start

for name in linear logistic; do
  [[ -r ${EPOCHD_TEST_DATA:-}/iron/$name.json ]] || continue
  http PUT "/v1/datasets/$name" -T "$EPOCHD_TEST_DATA/iron/$name.json"
  expect 201
done
[[ ! -r ${EPOCHD_TEST_DATA:-}/mnist/t10k-images-idx3-ubyte.gz ]] || upload_images mnist "$EPOCHD_TEST_DATA/mnist"

while read -r example; do
  name=$(jq -r .id <<<"$example")
  needs=$(jq -r .needs <<<"$example")
  if [[ -n $needs ]]; then
    http GET "/v1/datasets/$needs"
    [[ $code == 200 ]] || continue
  fi
  path=$(jq -r 'if .spec.space then "sweeps" else "jobs" end' <<<"$example")
  http POST "/v1/$path?validate=only" "${json[@]}" -d "$(jq -c .spec <<<"$example")"
  expect 200
  check "$name is one of the $path, of $(jq .parameters "$body") parameters" '.parameters > 0'
done <"$scratch/examples"

learn() {
  submit "$(jq -c "select(.id == \"$1\").spec" "$scratch/examples")"
  finish "$id"
  check "$1 learns: $(jq -c "$2" "$body")" "$3"
}
learn xor .metrics.test.accuracy '.metrics.test.accuracy == 1'
learn linear .metrics.test.r2 '.metrics.test.r2 > 0.95'
learn logistic .metrics.test.accuracy '.metrics.test.accuracy > 0.8'
learn disc .metrics.test.accuracy '.metrics.test.accuracy > 0.9'

http POST /v1/sweeps "${json[@]}" -d "$(jq -c 'select(.id == "sweep").spec' "$scratch/examples")"
expect 201
sweep=$(jq -r .id "$body")
sweep_ended() {
  http GET "/v1/sweeps/$sweep?wait=5"
  jq -e '.finished_at' "$body" >/dev/null
}
until_so "the sweep has ended" sweep_ended
check "the sweep ends: $(jq -c .best.metric "$body")" '.status == "succeeded" and .best.metric < 0.2'
