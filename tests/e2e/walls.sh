#!/usr/bin/env bash
# Walls: a worker has no new privileges, a filter of system calls, no core, and no secret in its environment; the
# data folder and the store are closed to others.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

mkdir -m 0755 "$data_dir"
unset GLIBC_TUNABLES
export EXAMPLE_SECRET=from-the-environment EPOCHD_TOKEN=a-token-of-the-shells XDG_CACHE_HOME=$scratch/cache
daemon_start --log-format json
worker=$(pgrep -P "$daemon" | head -n 1)
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$worker/status"; }
filtered() { [[ $(status_of Seccomp) == 2 ]]; }
[[ -n $worker ]] || fail "there is no worker"
walls=$(jq -r .message "$log" | sed -n 's/^sandbox of workers and file readers: //p')
echo "this machine permits: $walls"
if [[ -z ${EPOCHD_SANITIZE:-} && $walls == *seccomp* ]]; then
  until_so "the worker has a filter" filtered
fi
unprivileged() { [[ $(status_of NoNewPrivs) == 1 ]]; }
until_so "the worker has no new privileges" unprivileged
[[ $(awk '/^Max core file size/ {print $5, $6}' "/proc/$worker/limits") == "0 0" ]] || fail "a worker may leave a core"
tr '\0' '\n' <"/proc/$worker/environ" >"$scratch/environ"
grep -q "^XDG_CACHE_HOME=$scratch/cache$" "$scratch/environ" || fail "a worker does not know where caches lie"
! grep -q EXAMPLE_SECRET "$scratch/environ" || fail "a worker has all of the environment"
! grep -q EPOCHD_TOKEN "$scratch/environ" || fail "a worker has a client's token"
! grep -q GLIBC_TUNABLES "$scratch/environ" || fail "a worker has what epochd alone has set for its heap"
grep -q EXAMPLE_SECRET "/proc/$daemon/environ" || fail "epochd itself has no secret, so this showed nothing"
echo "ok: a worker stands behind walls"

[[ $(stat -c %a "$data_dir") == 700 ]] || fail "the data folder has mode $(stat -c %a "$data_dir")"
jq -r .message "$log" | grep -q "was accessible to others (mode 0755)" || fail "nothing is logged of the folder that was open"
for file in "$data_dir"/epochd.sqlite*; do
  [[ $(stat -c %a "$file") == 600 ]] || fail "$(basename "$file") has mode $(stat -c %a "$file")"
done
submit "$(xor_job 2000)"
ended "$id"
open=$(find "$data_dir" -perm /077 | head -n 3)
[[ -z $open ]] || fail "open to others: $open"
daemon_stop
chmod 0644 "$data_dir/epochd.sqlite"
daemon_start
[[ $(stat -c %a "$data_dir/epochd.sqlite") == 600 ]] || fail "a store that others could read stays open"
echo "ok: what is kept is its owner's alone"
