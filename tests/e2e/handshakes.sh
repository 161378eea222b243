#!/usr/bin/env bash
# Handshakes of TLS that go wrong, with and without clients' certificates; connections that are left half-open.
#   COUNT=20000 SEED=7 FILES=4096 HALF_OPEN=4000 tests/e2e/handshakes.sh    a longer run, with another seed
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
source "$here/keys.sh"
days=-1 certificate expired ours clientAuth ec -pkeyopt ec_paramgen_curve:P-256
export CURL_CA_BUNDLE=$keys/ours.pem
tls=(--tls-certificate "$keys/first.pem" --tls-key "$keys/first.key")
count=${COUNT:-200}
seed=${SEED:-1}
shakes() { python3 "$here/handshakes.py" "$url" "$daemon" "$keys" "$@" || fail "see above"; }

daemon_start "${tls[@]}"
shakes --count $((count / 2)) --seed "$seed"
daemon_stop
echo "ok: broken handshakes leave nothing behind"

CURL_HOME=$scratch/curl
mkdir "$CURL_HOME"
printf 'cert = "%s"\nkey = "%s"\n' "$keys/client.pem" "$keys/client.key" >"$CURL_HOME/.curlrc"
export CURL_HOME
ulimit -n "${FILES:-256}" # half of them are for the daemon's connections; of 4096, all but 512
daemon_start "${tls[@]}" --tls-client-ca "$keys/ours.pem"
shakes --owns --count $((count / 2)) --seed "$((seed + 1))" --half-open "${HALF_OPEN:-200}"
daemon_stop
echo "ok: nor where clients need certificates, beside more half-open connections than it takes; no wrong certificate is taken"
