#!/usr/bin/env bash
# Strangers at the workers' port, secrets that were used, and workers that lie: refused, logged, counted. The job that
# they were given ends as it should, by a worker that does not lie.
source "$(dirname "${BASH_SOURCE[0]}")/slurm_daemon.sh"
mkdir -p "$fake_slurm"
echo Priority >"$fake_slurm/hold" # no worker comes but those of this test
slurm_start
submit "$(xor_job 400 '{"device": "slurm:gpu"}')"
until_so "a worker is submitted" test -s "$fake_slurm/sbatch.log"
python3 "$here/rogue.py" "$shared" "$data_dir" || fail "a gateway that believes strangers"
grep -q "is rejected: its secret is wrong" "$log" || fail "the log does not have a refusal"
grep -q "([0-9]* so far)" "$log" || fail "refusals are not counted"
! grep -rqF "$(sed -n 's/^EPOCHD_SECRET=//p' "$shared"/workers/* | head -1)" "$data_dir" "$log" ||
  fail "a secret lies in the data folder or in the log"
echo "ok: no secret lies in the data folder or in the log"
rm "$fake_slurm/hold"
finish "$id"
check "the job is trained by an honest worker" '.metrics.test.accuracy == 1'
daemon_stop
