#!/bin/bash
# bench_idle - what it costs to observe why a job is idle: CPU time of neuron-profile idle while it observes, as a share of the
# CPU time of a job that computes on one CPU.
. "$(dirname "$0")/lib.sh"
needs jq neuron-profile
job=$NTK_BUILD_DIR/tests/tests_idle_job
seconds=$(size 8 0.5)
if [ "$(id -u)" != 0 ] || [ ! -r /sys/kernel/btf/vmlinux ] || [ ! -x "$job" ]; then
    figure "observer, of the job's CPU" missing "requires root, BTF and tests_idle_job"
    result
fi
is_ready() { grep -qx ready job.out && echo yes; }

"$job" running >job.out 2>&1 &
pid=$!
wait_for is_ready
neuron-profile idle --pid $pid --for 1h --method bpf >idle.out 2>&1 &
observer=$!
sleep "$(size 2 1)" # it has loaded its program and read the files of the job
from=$(cpu_ticks $observer) job_from=$(cpu_ticks $pid)
sleep "$seconds"
figure "observer, of the job's CPU" "$(awk -v a=$(($(cpu_ticks $observer) - from)) -v b=$(($(cpu_ticks $pid) - job_from)) 'BEGIN { printf "%.2f", b > 0 ? 100 * a / b : 0 }')" % most 1
kill -INT $observer
wait $observer || true
kill $pid
wait $pid || true
result
