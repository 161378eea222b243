#!/usr/bin/env bash
# The commands of docs/slurm.md, on a Slurm that runs.
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
bash "$here/../docs/run" "$here/../../docs/slurm.md" "$@"
