#!/usr/bin/env bash
# Slurm's commands, as epochd runs them, against a Slurm that runs. PROGRAM: what commands.c is built to.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
finish() {
  if [[ -e $folder/slurm.conf ]]; then "$here/cluster" stop "$folder"; fi
  rm -rf "$folder"
}
trap finish EXIT
"$here/cluster" start "$folder" || exit # 77: not installed
export SLURM_CONF=$folder/slurm.conf
timeout 60 "${1:?PROGRAM}"
