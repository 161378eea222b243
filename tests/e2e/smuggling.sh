#!/usr/bin/env bash
# Heads drawn by chance, with a second request behind each: epochd answers that one only where a strict reader, and
# nginx where it is installed, see the first one end before it.
#   HEADS=1000000 tests/e2e/smuggling.sh    as many as docs/security.md says
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
daemon_start
nginx_url=()
if nginx=$(PATH=$PATH:/usr/sbin command -v nginx); then
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  cat >"$scratch/nginx.conf" <<CONF
daemon off;
master_process off;
pid $scratch/nginx.pid;
error_log $scratch/nginx.err;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path $scratch/body;
  proxy_temp_path $scratch/proxy;
  fastcgi_temp_path $scratch/fastcgi;
  uwsgi_temp_path $scratch/uwsgi;
  scgi_temp_path $scratch/scgi;
  server {
    listen 127.0.0.1:$port;
    location = /v2 { return 200 '"extensions":[]'; }
    location / { return 200 'other'; }
  }
}
CONF
  "$nginx" -p "$scratch" -e "$scratch/nginx.err" -c "$scratch/nginx.conf" & own+=($!)
  until_so "nginx listens" curl -s -o "$scratch/nginx.body" "http://127.0.0.1:$port/"
  nginx_url=("http://127.0.0.1:$port")
fi
python3 "$here/smuggling.py" "$url" ${nginx_url[@]+"${nginx_url[@]}"} --count "${HEADS:-4000}" --seed "${SEED:-1}" ||
  fail "see above"
daemon_stop
