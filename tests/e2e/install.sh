#!/usr/bin/env bash
# The installed programs: all below one prefix, moved elsewhere they still run, and epochd links no compute.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

DESTDIR='' cmake --install "$build" --prefix "$scratch/first" >"$scratch/install.log" || fail "$(<"$scratch/install.log")"
grep -E '^-- (Installing|Up-to-date): ' "$scratch/install.log" | grep -v ": $scratch/first/" && fail "something left the prefix"
for path in bin/epochd lib/epochd/epochd lib/epochd/epoch-worker lib/epochd/epoch-courier share/doc/epochd/LICENSE share/man/man8/epochd.8 \
  lib/systemd/system/epochd.service etc/epochd/config.json; do
  [[ -e $scratch/first/$path ]] || fail "there is no $path in the prefix"
done
mv "$scratch/first" "$scratch/moved"
find "$scratch/moved" -type f -o -type l | sed "s|$scratch/moved/|  |"
build=$scratch/moved
daemon_start
submit "$(xor_job 1000)"
finish "$id"
check "an installed epochd, in a prefix that was moved, trains" '.metrics.test.accuracy == 1'
daemon_stop

# the HTTP process never touches a device: nothing that computes is linked into it
symbols() { nm "$scratch/moved/lib/epochd/$1" | grep -c "$2" || true; }
[[ $(symbols epoch-worker ' [TtDdRr] ep_backend_cpu$') == 1 ]] || fail "the worker has no CPU backend (was it stripped?)"
[[ $(symbols epochd ' ep_backend_cpu$\| ep_train$') == 0 ]] || fail "epochd links the CPU backend"
libraries=$(ldd "$scratch/moved/lib/epochd/epochd")
grep -E 'cuda|cublas|blas|dnnl' <<<"$libraries" && fail "epochd links a compute library"
grep -q microhttpd <<<"$libraries" || fail "epochd does not link libmicrohttpd"
libraries=$(ldd "$scratch/moved/lib/epochd/epoch-worker")
grep -E 'microhttpd|sqlite' <<<"$libraries" && fail "the worker links what belongs to epochd"
echo "ok: epochd links no compute, the worker no server"
