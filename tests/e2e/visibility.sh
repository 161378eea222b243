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
http GET "/v1/jobs/$(sed -n 's/^private \([^ ]*\).*/\1/p' "$scratch/said")"
expect 200
echo "ok: what is private stays so after a restart, and without tokens all see all"
