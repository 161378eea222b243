#!/usr/bin/env bash
# Workers that Slurm starts, with commands that only pretend to be Slurm's (tests/slurm/fake): the same
# weights as on this machine, a sweep, cancel, and what happens when what dies.
source "$(dirname "${BASH_SOURCE[0]}")/slurm_daemon.sh"
slurm_start

# The weights without what says where they were trained.
values_of() {
  http GET "/v1/jobs/$1/weights"
  expect 200
  python3 "$here/weights_values.py" "$body"
}

# the same job here and there
job=$(xor_job 400 '{"seed": 7, "device": "cpu"}')
submit "$job"
finish "$id"
here_values=$(values_of "$id")
here_metrics=$(http GET "/v1/jobs/$id" && jq -c .metrics "$body")
submit "$(jq -c '.device = "slurm:gpu"' <<<"$job")"
finish "$id"
check "the job ran on the partition" '.device == "slurm:gpu" and .attempt == 1'
[[ $(jq -c .metrics "$body") == "$here_metrics" ]] || fail "other metrics than on this machine"
[[ $(values_of "$id") == "$here_values" ]] || fail "other weights than on this machine"
echo "ok: the same weights as on this machine, to the bit"
http GET "/v1/jobs/$id/events?follow=0"
sequence "$body" 1
check "its events are whole" '[.[].type] | .[0:2] == ["queued", "started"] and .[2:-1] == [range(400) | "epoch"] and .[-1] == "end"' -s
daemon_stop
