# daemon.sh: an epochd of a test whose workers a Slurm of this machine starts (cluster). Skips the test where there is
# none. After it, in a script:
#
#   $cluster, $slurm    the script of that name and the folder of its Slurm, which runs and ends with the test
#   slurm_start FLAGS…  the daemon, with the partitions of $partitions as devices, and as --slurm-listen the same
#                       address again for a daemon after the first
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/daemon.sh"

cluster=$here/../slurm/cluster
slurm=$scratch/slurm
shared=$scratch/shared
partitions=slurm:cpu,slurm:gpu,slurm:urgent
workers_address=127.0.0.1:0
export SLURM_CONF=$slurm/slurm.conf
mkdir "$shared"
status=0
"$cluster" start "$slurm" || status=$?
((status != 77)) || skip "Slurm is not installed"
((status == 0)) || fail "no Slurm"

slurm_leave() {
  local status=$?
  if ((status != 0 && status != 77)); then
    echo "Slurm's jobs, and the ends of workers' logs:"
    squeue --states all --format '%i %P %T %r %N' 2>&1 | tail -n 20
    tail -n 5 "$shared"/logs/* 2>/dev/null | tail -n 60
    [[ -z $daemon ]] || kill -9 "$daemon" 2>/dev/null || true # it would submit new workers
  fi
  "$cluster" stop "$slurm"
  leave "$status"
}
trap slurm_leave EXIT

slurm_start() {
  device=$device,$partitions daemon_start --shared-dir "$shared" --slurm-listen "$workers_address" "$@"
  until_so "the gateway runs" grep -q "workers of Slurm connect to" "$log"
  workers_address=$(grep -om1 'workers of Slurm connect to [0-9.:]*' "$log" | grep -o '[0-9.:]*$')
}

# Ids of Slurm's jobs of epochd, of the named states.
slurm_jobs() { squeue --noheader --name epochd-worker --states "$1" --format "${2:-%i}"; }
