#!/usr/bin/env bash
# Files of others are read in a process of their own: it is killed, stopped, left alone and made to grow, and the
# daemon goes on.
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

{ yes 1.25,2.5,3.75,4 || true; } | head -c 400000000 | gzip -1 >"$scratch/long.gz" # seconds to read
printf 'a,b\n1,2\n3,4\n5,6\n7,8\n' >"$scratch/short"

reader=
# It reads: its sandbox stands, where there is one here.
reads() {
  reader=$(pgrep -P "$daemon" -f -- '--ingest$' | head -n 1)
  [[ -n $reader ]] || return 1
  [[ -n ${EPOCHD_SANITIZE:-} ]] || ! grep -q 'file readers: .*seccomp' "$log" ||
    grep -q '^Seccomp:[[:space:]]*2$' "/proc/$reader/status"
}
reader_gone() { ! kill -0 "$reader" 2>/dev/null; }
# long_put: uploads the long file in the background, and stops the process that reads it.
long_put() {
  curl -sS --max-time "$patience" -o "$scratch/answer" -w '%{http_code}' -X PUT --data-binary "@$scratch/long.gz" \
    "$url/v1/datasets/long" >"$scratch/code" 2>/dev/null &
  client=$!
  until_so "a process in a sandbox reads the file" reads
  kill -STOP "$reader"
}
answered_with() {
  wait "$client" || fail "the client has no answer"
  [[ $(<"$scratch/code") == "$1" ]] || fail "$(<"$scratch/code") and not $1: $(<"$scratch/answer")"
  jq -e --arg text "$2" '.detail | contains($text)' "$scratch/answer" >/dev/null || fail "$(<"$scratch/answer")"
  reader_gone || fail "the process is still there"
  [[ -z $(ls "$data_dir/tmp") ]] || fail "left in DATA/tmp: $(ls "$data_dir/tmp")"
}

cd "$scratch" || fail "there is no folder"
data_dir=data # relative: the process that reads has another working directory
daemon_start
long_put
http PUT /v1/datasets/short --data-binary "@$scratch/short"
expect 201
http GET /livez
expect 200
kill -ABRT "$reader"
kill -CONT "$reader"
answered_with 500 "ended by signal 6 (SIGABRT)"
http GET /v1/datasets/long
expect 404
echo "ok: a crash costs one upload, and others go on beside"

long_put
kill "$client"
wait "$client" 2>/dev/null || true
until_so "a client that hangs up ends its process" reader_gone
echo "ok: nobody waits, nothing is read"

long_put
daemon_stop
until_so "the process ends with epochd" reader_gone
wait "$client" || true
echo "ok: SIGTERM waits for no file"

daemon_start --ingest-seconds 1
long_put
answered_with 413 "1 seconds allowed"
echo "ok: a file that takes too long"
http PUT /v1/datasets/short --data-binary "@$scratch/short"
expect 200

long_put
kill -9 "$daemon"
until_so "the process ends with the daemon" reader_gone
wait "$daemon" "$client" 2>/dev/null || true
daemon=

if [[ -z ${EPOCHD_SANITIZE:-} ]]; then
  python3 - >"$scratch/grows" <<'END'
import struct, sys
head = b'{"a":[' + b",".join([b"{}"] * 400000) + b"]}"
sys.stdout.buffer.write(struct.pack("<Q", len(head)) + head)
END
  daemon_start --ingest-memory-bytes 67108864
  http PUT /v1/datasets/grows --data-binary "@$scratch/grows"
  expect 413
  jq -e '.detail | contains("--ingest-memory-bytes")' "$body" >/dev/null || fail "$(<"$body")"
  most=$(awk '/^VmHWM/ {print $2}' "/proc/$daemon/status")
  ((most < 200000)) || fail "the daemon grew to $most kB"
  echo "ok: a file that takes too much memory; the daemon had $most kB at most"
fi
