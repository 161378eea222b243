#!/usr/bin/env bash
# TLS: who is shown, who is taken, which versions and ciphers; certificates read again; strict framing inside.
#   REQUESTS=20000 tests/e2e/tls.sh    also measures: requests a second with keep-alive, beside those without TLS
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
unset EPOCHD EPOCHD_SERVER EPOCHD_TOKEN EPOCHD_CA EPOCHD_CERTIFICATE EPOCHD_KEY CURL_CA_BUNDLE SSL_CERT_FILE
source "$here/keys.sh"
logged() { grep -q -- "$1" "$log"; }
shown() { cp "$keys/$1.pem" "$keys/shown.pem" && cp "$keys/$1.key" "$keys/shown.key"; } # what the daemon reads
shown first
tls=(--tls-certificate "$keys/shown.pem" --tls-key "$keys/shown.key")

# Settings.
refused() { # WORDS FLAGS…: it does not start, and says why
  local words=$1
  shift
  ! timeout 60 "$build/bin/epochd" --listen 127.0.0.1:0 --data-dir "$data_dir" "$@" 2>"$scratch/refused" ||
    fail "it started with $*"
  grep -q -- "$words" "$scratch/refused" || fail "it says: $(<"$scratch/refused")"
}
refused 'must be given together' --tls-certificate "$keys/first.pem"
refused '--tls-client-ca needs' --tls-client-ca "$keys/ours.pem"
refused 'both PEM' --tls-certificate "$keys/first.pem" --tls-key "$keys/second.key"
refused 'have no certificate in PEM' "${tls[@]}" --tls-client-ca "$keys/first.key"
chmod 0666 "$keys/first.key"
refused 'key file .* can be read or written by others' --tls-certificate "$keys/first.pem" --tls-key "$keys/first.key"
chmod 0600 "$keys/first.key"
refused 'token-file FILE is required' "${tls[@]}" --listen 0.0.0.0:0
echo "ok: settings that do not fit are refused"

# One authority.
export CURL_CA_BUNDLE=$keys/ours.pem
python3 -c 'import socket, sys
notice = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notice.bind(sys.argv[1])
print(notice.recv(1000).decode())' "$scratch/notice" >"$scratch/notified" & own+=($!)
until_so "somebody waits for the notice" test -S "$scratch/notice"
NOTIFY_SOCKET=$scratch/notice daemon_start "${tls[@]}"
[[ $url == https://* ]] || fail "the log names $url"
until_so "the service manager is told" grep -q "listening on $url" "$scratch/notified"
logged 'TLS: the certificate .* is valid until 20' || fail "the log does not say when the certificate ends"
port=${url##*:}
python3 -c 'import socket, sys, time
silent = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 120)
begin = time.monotonic()
print(silent.recv(1), time.monotonic() - begin)' "$port" >"$scratch/silent" & silent=$!
own+=("$silent")
http GET /v1/jobs
expect 200
! curl -sS --cacert "$keys/others.pem" "$url/livez" 2>"$scratch/untrusted" || fail "curl took it by another authority"
! curl -sS --max-time 60 "http://127.0.0.1:$port/livez" 2>/dev/null || fail "it answers without TLS"
until_so "--probe says that it is ready" "$build/bin/epochd" --listen "127.0.0.1:$port" "${tls[@]}" --probe 2>"$scratch/probe"
! "$build/bin/epochd" --listen "127.0.0.1:$port" --probe 2>/dev/null || fail "a probe without TLS succeeds"
echo "ok: it is reached by TLS alone, and probed"

# Versions and ciphers, against a server that takes them all as a canary.
shakes() { timeout 60 openssl s_client -connect "$@" </dev/null >"$scratch/shaken" 2>&1; }
every=ALL:COMPLEMENTOFALL:@SECLEVEL=0
strong='ECDHE+AESGCM:ECDHE+CHACHA20'
weak='ALL:COMPLEMENTOFALL:-ECDHE+AESGCM:-ECDHE+CHACHA20:@SECLEVEL=0'
openssl s_server -accept 127.0.0.1:0 -cert "$keys/first.pem" -key "$keys/first.key" -cipher "$every" -quiet -naccept 1000 \
  >"$scratch/server" 2>&1 & own+=($!)
weak_server=$!
weak_port() { lax=$(ss -Hltnp 2>/dev/null | sed -n "s/.*127.0.0.1:\([0-9]*\) .*pid=$weak_server,.*/\1/p") && [[ -n $lax ]]; }
lax=
if command -v ss >/dev/null; then until_so "openssl listens" weak_port; fi
for offer in "-tls1 -cipher $every" "-tls1_1 -cipher $every" "-tls1_2 -cipher $weak" "-tls1_2 -sigalgs RSA+SHA1 -cipher $every"; do
  # shellcheck disable=SC2086
  [[ -z $lax ]] || shakes "127.0.0.1:$lax" $offer || fail "openssl itself does not take $offer: $(tail -n 3 "$scratch/shaken")"
  # shellcheck disable=SC2086
  ! shakes "127.0.0.1:$port" $offer || fail "it takes $offer: $(grep -m 1 Cipher "$scratch/shaken")"
done
shakes "127.0.0.1:$port" -tls1_2 -cipher "$strong" || fail "it does not take TLS 1.2"
shakes "127.0.0.1:$port" -tls1_3 || fail "it does not take TLS 1.3"
shakes "127.0.0.1:$port" -tls1_2 || fail "it does not take TLS 1.2"
! grep -q 'session ticket' "$scratch/shaken" || fail "it gives tickets, which outlive a certificate"
grep -q 'Secure Renegotiation IS supported' "$scratch/shaken" || fail "renegotiation is not secured"
grep -q 'Compression: NONE' "$scratch/shaken" || fail "it compresses"
# The client asks for another handshake, and its input stays open: the daemon ends the connection.
mkfifo "$scratch/asks"
exec 3<>"$scratch/asks"
timeout "$patience" openssl s_client -tls1_2 -connect "127.0.0.1:$port" <"$scratch/asks" >"$scratch/renegotiated" 2>&1 & own+=($!)
renegotiates=$!
until_so "hands are shaken" grep -q 'Verify return code' "$scratch/renegotiated"
echo R >&3
wait "$renegotiates" || (($? != 124)) || fail "the connection stays after a client's renegotiation"
exec 3>&-
grep -q RENEGOTIATING "$scratch/renegotiated" || fail "openssl did not renegotiate"
echo "ok: TLS 1.2 and 1.3, with forward secrecy and authenticated encryption"

# Framing.
python3 "$here/hostile.py" "$url" "$data_dir" || fail "see above"

# Clients.
"$build/bin/epochctl" ls --server "$url" --ca-file "$keys/ours.pem" >/dev/null || fail "epochctl has no answer"
! "$build/bin/epochctl" ls --server "$url" --ca-file "$keys/others.pem" 2>"$scratch/ctl" || fail "epochctl takes any authority"
grep -q 'see --ca-file' "$scratch/ctl" || fail "epochctl says: $(<"$scratch/ctl")"
client() { PYTHONPATH=$here/../../clients/python python3 -c 'import sys, epochd
print(len(epochd.Client(sys.argv[1]).devices()))' "$url"; }
[[ $(EPOCHD_CA=$keys/ours.pem client) == 1 ]] || fail "the Python client has no answer"
! EPOCHD_CA=$keys/others.pem client 2>"$scratch/python" || fail "the Python client takes any authority"
grep -q CERTIFICATE_VERIFY_FAILED "$scratch/python" || fail "Python says: $(tail -n 1 "$scratch/python")"
echo "ok: epochctl and Python verify the daemon"

# SIGHUP: a new certificate for new connections; a stream goes on.
submit "$(xor_job "$endless" "{\"report_every\": $endless}")"
curl -sSN "${ndjson[@]}" "$url/v1/jobs/$id/events" >"$scratch/stream" 2>&1 & stream=$!
own+=("$stream")
until_so "the stream has begun" test -s "$scratch/stream"
subject() { openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | openssl x509 -noout -subject; }
[[ $(subject) == *first* ]] || fail "it shows $(subject)"
shown second
kill -HUP "$daemon"
until_so "the new certificate is read" logged 'SIGHUP'
[[ $(subject) == *second* ]] || fail "after SIGHUP it shows $(subject)"
echo "no certificate" >"$keys/shown.pem"
kill -HUP "$daemon"
until_so "the log says that it is none" logged 'SIGHUP: the certificate is unchanged: .*shown.pem'
[[ $(subject) == *second* ]] || fail "after a broken file it shows $(subject)"
http POST "/v1/jobs/$id/cancel"
until_so "the job ends" grep -q '"type":"end"' "$scratch/stream"
wait "$stream" || fail "the old stream broke: $(tail -n 1 "$scratch/stream")"
sequence "$scratch/stream" 1
echo "ok: SIGHUP changes the certificate of new connections, and no stream"

wait "$silent"
read -r received seconds <"$scratch/silent"
awk -v got="$received" -v s="$seconds" 'BEGIN {exit !(got == "b\047\047" && s > 13 && s < 60)}' ||
  fail "a client that does not shake hands: $(<"$scratch/silent")"
echo "ok: a client that does not shake hands is closed after $seconds s"
daemon_stop

# Clients' certificates.
shown first
CURL_HOME=$scratch/curl
mkdir "$CURL_HOME"
printf 'cert = "%s"\nkey = "%s"\n' "$keys/client.pem" "$keys/client.key" >"$CURL_HOME/.curlrc"
export CURL_HOME
daemon_start "${tls[@]}" --tls-client-ca "$keys/ours.pem"
port=${url##*:}
http GET /v1/jobs
expect 200
for version in 1.2 1.3; do
  plain=(curl -q -sS --max-time 60 --tls-max "$version" --cacert "$keys/ours.pem" "$url/livez")
  "${plain[@]}" --cert "$keys/client.pem" --key "$keys/client.key" >/dev/null || fail "TLS $version refuses its own"
  ! "${plain[@]}" 2>/dev/null || fail "TLS $version takes clients without a certificate"
  ! "${plain[@]}" --cert "$keys/stranger.pem" --key "$keys/stranger.key" 2>/dev/null || fail "TLS $version takes strangers"
  ! "${plain[@]}" --cert "$keys/second.pem" --key "$keys/second.key" 2>/dev/null || fail "TLS $version takes a server's"
done
until_so "--probe says that it is ready" "$build/bin/epochd" --listen "127.0.0.1:$port" "${tls[@]}" --probe 2>"$scratch/probe"
ctl=("$build/bin/epochctl" ls --server "$url" --ca-file "$keys/ours.pem")
"${ctl[@]}" --certificate "$keys/client.pem" --key "$keys/client.key" >/dev/null || fail "epochctl shows no certificate"
! "${ctl[@]}" 2>"$scratch/ctl" || fail "epochctl needs no certificate"
grep -q 'a client certificate' "$scratch/ctl" || fail "epochctl says: $(<"$scratch/ctl")"
echo "ok: with --tls-client-ca clients need a certificate of that authority"
daemon_stop

[[ -n ${REQUESTS:-} ]] || exit 0
# Requests a second, and processor time, over four connections that are kept; the two daemons in turn.
export -n CURL_HOME
daemon_ticks() { awk '{sub(/^.*\) /, ""); print $12 + $13}' "/proc/$daemon/stat"; }
rate() { # NAME FLAGS…
  daemon_start "${@:2}"
  local begin end client ticks
  ticks=$(daemon_ticks)
  begin=$(date +%s.%N)
  for client in 1 2 3 4; do
    curl -q -sS --cacert "$keys/ours.pem" -o /dev/null "$url/livez?client=$client&n=[1-$REQUESTS]" & own+=($!)
    eval "client_$client=$!"
  done
  # shellcheck disable=SC2154
  wait "$client_1" "$client_2" "$client_3" "$client_4"
  end=$(date +%s.%N)
  awk -v name="$1" -v n="$((4 * REQUESTS))" -v begin="$begin" -v end="$end" -v hertz="$(getconf CLK_TCK)" \
    -v ticks="$(($(daemon_ticks) - ticks))" \
    'BEGIN {printf "%s %.0f requests/s, %.1f us of epochd each\n", name, n / (end - begin), 1e6 * ticks / hertz / n}' |
    tee -a "$scratch/rates"
  daemon_stop
}
for round in 1 2 3; do
  rate plain
  rate tls "${tls[@]}"
done
awk '{most[$1] = $2 > most[$1] ? $2 : most[$1]} END {printf "tls/plain %.2f\n", most["tls"] / most["plain"]; exit most["tls"] < most["plain"] / 2}' \
  "$scratch/rates" || fail "TLS costs more than half of the requests: round $round"
