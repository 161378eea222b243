#!/usr/bin/env bash
# The service: epochd's messages to its manager, its log, and systemd's checks of the unit.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"
tree=$(realpath "$here/../..")

DESTDIR='' cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log" || fail "$(<"$scratch/install.log")"
unit=$scratch/prefix/lib/systemd/system/epochd.service
[[ -f $unit ]] || fail "there is no unit in the prefix"
install -d -m 0700 "$scratch/state/epochd" "$scratch/credentials"
printf 'a-token-of-this-test-alone\n' >"$scratch/credentials/token"
token=$(<"$scratch/credentials/token")

# The manager: prints what it is told, a datagram a line, \n as spaces.
python3 - "$scratch/notify" >"$scratch/told" <<'END' & own+=($!)
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
while True:
    print(manager.recv(4096).decode().replace("\n", " "), flush=True)
END
until_so "somebody listens" test -S "$scratch/notify"

# The unit's own command, with what systemd would put for its specifiers, and any free port.
read -ra words <<<"$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|%S|$scratch/state|; s|%d|$scratch/credentials|")"
[[ ${words[0]} == "$scratch/prefix/bin/epochd" ]] || fail "the unit starts ${words[0]}"
NOTIFY_SOCKET=$scratch/notify "${words[@]}" --listen 127.0.0.1:0 --devices cpu 2>"$log" & daemon=$!
is_ready() { kill -0 "$daemon" 2>/dev/null || fail "epochd ended while it started"; grep -q '^READY=1' "$scratch/told"; }
until_so "the manager hears that it is ready" is_ready
url=$(sed -n 's/^READY=1 STATUS=listening on \(http:.*\)$/\1/p' "$scratch/told")
[[ -n $url ]] || fail "the manager was told: $(<"$scratch/told")"
curl -sSf --max-time "$patience" "$url/livez" >/dev/null || fail "it said it was ready, and does not answer"
echo "ok: the unit's command runs; its manager hears where epochd listens"
http GET /v1/jobs
expect 401
http GET /v1/jobs -H "Authorization: Bearer $token"
expect 200
echo "ok: the credential is the token"

probe() { timeout "$patience" "$build/bin/epochd" --listen "${url#http://}" --probe 2>"$scratch/probe"; }
until_so "its device has started, and --probe says that it is ready" probe # it takes jobs before
daemon_stop
until_so "the manager is told of the end" grep -qx 'STOPPING=1' "$scratch/told"
probe && fail "--probe found a daemon that has gone" || status=$?
((status == 1)) || fail "--probe of nothing ended with $status: $(<"$scratch/probe")"
echo "ok: --probe says 0 of a daemon that is ready, 1 of one that has gone"

# Without a manager it trains all the same.
NOTIFY_SOCKET=$scratch/nobody daemon_start
until_so "the log names the manager that is not there" grep -q 'service manager' "$log" # told once it listens
daemon_stop
echo "ok: without its manager it runs all the same"

command -v systemd-analyze >/dev/null || { echo "there is no systemd-analyze: the unit itself is not judged here"; exit 0; }
verify() { systemd-analyze verify --man=no "$@" >"$scratch/verify" 2>&1 && [[ ! -s $scratch/verify ]]; }
verify "$unit" || fail "systemd-analyze verify: $(<"$scratch/verify")"
sed 's/^PrivateTmp=/PrivateTemp=/' "$unit" >"$scratch/epochd.service"
verify "$scratch/epochd.service" && fail "verify would have taken a setting that there is not"
echo "ok: systemd-analyze verify has nothing to say of the unit"

# score UNIT: ten times its exposure, 0 (none) to 100.
score() {
  systemd-analyze security --offline=true --no-pager "$1" 2>/dev/null |
    sed -n 's/.*Overall exposure level for .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p'
}
found=$(score "$unit")
echo "the unit's exposure: $((10#$found)) tenths of 100"
((10#$found <= 15)) || fail "the unit is more exposed than 1.5"
# with the drop-in of epochd-cuda, as systemd would join them
cat "$unit" "$tree/docker/epochd-cuda.conf" >"$scratch/epochd.service"
verify "$scratch/epochd.service" || fail "systemd-analyze verify, with the GPU's drop-in: $(<"$scratch/verify")"
found=$(score "$scratch/epochd.service")
echo "with the GPU's drop-in: $((10#$found)) tenths of 100"
((10#$found <= 25)) || fail "with the drop-in the unit is more exposed than 2.5"
echo "ok: the unit is as closed as it is meant to be"
