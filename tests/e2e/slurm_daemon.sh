# slurm_daemon.sh: an epochd with workers of a Slurm that is none (tests/slurm/fake).
source "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"

fake_slurm=$scratch/slurm
export SLURM_CONF=$fake_slurm/slurm.conf
shared=$scratch/shared
workers_address=127.0.0.1:0 # where workers connect; the same again for an epochd after the first

# slurm_start FLAGS…: the daemon, with the partitions gpu and cpu as devices.
slurm_start() {
  local command
  mkdir -p "$fake_slurm" "$shared" "$scratch/bin"
  for command in sbatch squeue scancel sinfo scontrol sacct srun; do
    ln -sf "$here/../slurm/fake" "$scratch/bin/$command"
  done
  device="$device,slurm:gpu,slurm:cpu" PATH="$scratch/bin:$PATH" daemon_start --shared-dir "$shared" --slurm-listen "$workers_address" "$@"
  until_so "the gateway runs" grep -q "workers of Slurm connect to" "$log"
  workers_address=$(grep -om1 'workers of Slurm connect to [0-9.:]*' "$log" | grep -o '[0-9.:]*$')
}

# What runs as a task of the pretended Slurm is ended with the test.
slurm_leave() {
  local status=$? process
  for process in $(cat "$fake_slurm"/[0-9]*_* 2>/dev/null | grep -o '"process": [0-9]*' | grep -o '[0-9]*$'); do
    ((process == 0)) || kill -9 -- "-$process" 2>/dev/null || true
  done
  leave "$status"
}
trap slurm_leave EXIT
