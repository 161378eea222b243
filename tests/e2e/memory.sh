#!/usr/bin/env bash
# A daemon with 512 MiB of memory is asked for more in every way that is known, and lives. In a control group where
# the machine lets one be made; elsewhere its memory is watched.
#
#   EPOCHD_APPETITE_SECONDS  of each attack (1); where it is set, probes must be answered in time too
#   EPOCHD_APPETITE_ATTACK   one of them alone
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
skip_if_sanitized # they take several times the memory

most=$((512 << 20))
unset GLIBC_TUNABLES
group=
attack=(--seconds "${EPOCHD_APPETITE_SECONDS:-1}" --most-mib 512)
[[ -n ${EPOCHD_APPETITE_SECONDS:-} ]] || attack+=(--any-time)

# group_make FOLDER FILE: a control group with that bound, which this shell enters.
group_make() {
  [[ -w $1 ]] && mkdir "$1/epochd-test-$$" 2>/dev/null || return 1
  group=$1/epochd-test-$$
  if echo "$most" 2>/dev/null >"$group/$2" && echo $$ 2>/dev/null >"$group/cgroup.procs"; then return 0; fi
  rmdir "$group"
  group=
  return 1
}

group_leave() { [[ -z $group ]] || echo $$ >"$(dirname "$group")/cgroup.procs"; }
trap 'status=$?; group_leave; leave "$status"' EXIT

if group_make /sys/fs/cgroup/memory memory.limit_in_bytes || group_make /sys/fs/cgroup memory.max; then
  daemon_start # the budget follows from the group
  group_leave
  http GET /metrics
  grep -q '^epochd_http_held_limit_bytes 67108864$' "$body" ||
    fail "the budget is not an eighth of the group's memory: $(grep '^epochd_http_held' "$body")"
  grep -q '^epochd_memory_limit_bytes{owner="all"} 536870912$' "$body" || fail "$(grep '^epochd_memory' "$body")"
else
  echo "no control group can be made here: memory is watched alone"
  daemon_start --http-bytes-max 67108864
fi
# Blocks that glibc keeps for each thread would hold their pages after each attack.
tr '\0' '\n' <"/proc/$daemon/environ" | grep -qx 'GLIBC_TUNABLES=glibc.malloc.tcache_count=0' ||
  fail "glibc keeps blocks for each thread"
[[ $(cat "/proc/$daemon/comm") == epochd ]] || fail "epochd has another name: $(cat "/proc/$daemon/comm")"
resident_mib() { awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$daemon/status"; }
idle_mib=$(resident_mib)
# Where memory runs out, the kernel ends a worker and not epochd.
worker=$(pgrep -P "$daemon" | head -n 1)
(($(cat "/proc/$worker/oom_score_adj") > $(cat "/proc/$daemon/oom_score_adj"))) || fail "the kernel would end epochd first"
if [[ -n $group ]]; then # a job of 12 GiB in 512 MiB
  http POST /v1/jobs "${json[@]}" -d '{"data": {"generator": "disc", "rows": 10}, "loss": "mse", "epochs": 1, "model": {"layers": [
    {"type": "linear", "out_features": 32768}, {"type": "linear", "out_features": 32768},
    {"type": "linear", "out_features": 1}]}}'
  expect 422
  grep -q 'a job on the CPU has 384 MiB' "$body" || fail "it does not say what there is: $(cat "$body")"
fi
python3 "$here/../fault/appetite.py" "$url" "$daemon" "${attack[@]}" ${EPOCHD_APPETITE_ATTACK:+--attack "$EPOCHD_APPETITE_ATTACK"} || fail "see above"
nothing_is_held() { http GET /metrics && grep -qx 'epochd_http_held_bytes 0' "$body"; }
until_so "no memory is held for those who have gone" nothing_is_held
has_returned() { (($(resident_mib) <= idle_mib + idle_mib / 3 + 2)); } # code has been loaded, and threads have touched their stacks
until_so "memory has been returned to the system: $idle_mib MiB at first" has_returned
daemon_stop
[[ -z $group ]] || rmdir "$group"
echo "epochd lives on 512 MiB"
