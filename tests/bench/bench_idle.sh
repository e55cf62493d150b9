#!/bin/bash
# bench_idle - what it costs to observe why a job is idle: CPU time of neuron-profile idle while it observes a job
# that computes on one CPU.
. "$(dirname "$0")/lib.sh"
needs jq neuron-profile
job=$NTK_BUILD_DIR/tests/tests_idle_job
seconds=$(size 8 0.5)
if [ "$(id -u)" != 0 ] || [ ! -r /sys/kernel/btf/vmlinux ] || [ ! -x "$job" ]; then
    figure "observer, while it observes" missing "requires root, BTF and tests_idle_job"
    result
fi
is_ready() { grep -qx ready job.out && echo yes; }

"$job" running >job.out 2>&1 &
pid=$!
wait_for is_ready
neuron-profile idle --pid $pid --for 1h --method bpf >idle.out 2>&1 &
observer=$!
sleep "$(size 2 1)" # it has loaded its program and read the files of the job
figure "observer, while it observes" "$(measure_cpu $observer "$seconds")" "% of a CPU" most 1
kill -INT $observer
wait $observer || true
kill $pid
wait $pid || true
result
