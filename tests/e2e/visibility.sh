#!/usr/bin/env bash
# Private jobs, sweeps, datasets and models: at each route of the contract, for their owner, a stranger and an admin.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
tokens=$scratch/tokens
declare -A token
for owner in ann bob; do
  token[$owner]=$("$build/bin/epochctl" token add "$owner" --owner "$owner" --scopes read,submit,publish --file "$tokens")
done
token[root]=$("$build/bin/epochctl" token add root --scopes admin --file "$tokens")
daemon_start --token-file "$tokens" --cpu-jobs 1 --checkpoint-after 0
python3 "$here/visibility.py" "$url" "$here/../../api/openapi.json" "${token[ann]}" "${token[bob]}" "${token[root]}" \
  >"$scratch/said" 2>&1 || fail "$(<"$scratch/said")"
cat "$scratch/said"
daemon_stop
daemon_start --token-file "$tokens" --visibility private
# shellcheck disable=SC2046
python3 "$here/visibility.py" "$url" --again "${token[ann]}" "${token[bob]}" $(sed -n 's/^private //p' "$scratch/said") ||
  fail "after a restart others see what is private"
daemon_stop
daemon_start # no tokens: everybody is the one owner
job=$(sed -n 's/^private \([^ ]*\).*/\1/p' "$scratch/said")
http GET "/v1/jobs/$job"
expect 200
export EPOCHD_SERVER=$url
"$build/bin/epochctl" ls --limit 100 -o wide >"$scratch/wide"
grep "$job.* ann (private)" "$scratch/wide" >/dev/null || fail "epochctl ls -o wide does not mark it: $(<"$scratch/wide")"
"$build/bin/epochctl" set "$job" --visibility public >/dev/null
http GET "/v1/jobs/$job"
check "epochctl set --visibility" '.visibility == "public"'
printf 'a,b\n1,2\n3,4\n' | "$build/bin/epochctl" data put small - --visibility private >/dev/null
"$build/bin/epochctl" models publish other "$job" --visibility private >/dev/null
for thing in datasets/small models/other; do
  http GET "/v1/$thing"
  check "epochctl makes it private" '.visibility == "private"'
done
"$build/bin/epochctl" data set small --visibility public >/dev/null
"$build/bin/epochctl" models set other --visibility public >/dev/null
! "$build/bin/epochctl" data set small 2>"$scratch/nothing" || fail "epochctl data set without an option succeeds"
for thing in datasets/small models/other; do
  http GET "/v1/$thing"
  check "epochctl makes it public" '.visibility == "public"'
done
PYTHONPATH=$here/../../clients/python python3 -c 'import sys, epochd
client = epochd.Client(sys.argv[1])
found = [client.update_dataset("small", "private"), client.update_model("other", "private")]
assert [one["visibility"] for one in found] == ["private"] * 2, found' "$url" || fail "the Python client does not hide them"
echo "ok: what is private stays so after a restart, and without tokens all see all"
