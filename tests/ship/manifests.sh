#!/usr/bin/env bash
# The manifests agree with the sources that they repeat; each fault planted in a copy is found.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(realpath "$here/../..")
status=0
python3 "$here/manifests.py" "$tree" || status=$?
((status == 0)) || exit "$status"

copy=$(mktemp -d "${TMPDIR:-/tmp}/epochd-manifests.XXXXXX")
trap 'rm -r "$copy"' EXIT
plant() { # plant FILE FROM TO
  rm -rf "${copy:?}"/*
  (cd "$tree" && cp --parents -r docker server/handlers/routes.c docs/epochd.8 CMakeLists.txt "$copy")
  sed -i "s|$2|$3|" "$copy/$1"
  ! cmp -s "$tree/$1" "$copy/$1" || { echo "FAILED: nothing was planted in $1"; exit 1; }
  if python3 "$here/manifests.py" "$copy" >"$copy/said"; then
    echo "FAILED: $3 in $1 was not seen"
    exit 1
  fi
  echo "ok: found: $(tail -n 1 "$copy/said")"
}
plant docker/compose.yaml '127.0.0.1:8080:8080' '8080:8080'
plant docker/kubernetes/base/epochd.yaml 'readOnlyRootFilesystem: true' 'readOnlyRootFilesystem: false'
plant docker/kubernetes/base/epochd.yaml 'path: /livez' 'path: /v1/jobs'
plant docker/Dockerfile '^USER 10001:10001' 'USER 0:0'
plant docker/container.json '/run/secrets/epochd_token' '/etc/epochd/token'
