#!/bin/bash
# bench_idle - the cost of observing the idle time of a job, in percent of the CPU time of a job that computes on one
# CPU: for the command with its program in the kernel, and for the thread of neuron-monitor --idle.
. "$(dirname "$0")/lib.sh"
needs jq neuron-profile neuron-monitor
job=$NTK_BUILD_DIR/tests/tests_idle_job
seconds=$(size 8 0.5)
[ -x "$job" ] || skip "tests_idle_job is missing"
is_ready() { grep -qx ready job.out && echo yes; }
# Nanoseconds on a CPU: of a process, or of its threads with a given name.
cpu_ns() {
    local task sum=0 ns
    for task in "/proc/$1/task"/*; do
        [ -n "${2:-}" ] && [ "$(cat "$task/comm")" != "$2" ] && continue
        read -r ns _ <"$task/schedstat"
        sum=$((sum + ns))
    done
    echo $sum
}
# Nanoseconds of the programs in the kernel that a process has loaded.
kernel_ns() { cat "/proc/$1/fdinfo"/* | awk '/^run_time_ns:/ { sum += $2 } END { printf "%d", sum }'; }
observer_ns() { echo $(($(cpu_ns $observer) + $(kernel_ns $observer))); }
# share_of COMMAND...: how much a sum of nanoseconds grows, in percent of the CPU time that the job gets meanwhile.
share_of() {
    local from job_from
    from=$("$@")
    job_from=$(cpu_ns $pid)
    sleep "$seconds"
    awk -v a="$(($("$@") - from))" -v b="$(($(cpu_ns $pid) - job_from))" 'BEGIN { printf "%.3f", 100 * a / b }'
}
observe() { # METHOD
    neuron-profile idle --pid $pid --for 1h --method "$1" >idle.out 2>&1 &
    observer=$!
    sleep "$(size 2 1)" # it has loaded its program and read the files of the job
}
stop_observer() {
    kill -INT $observer
    wait $observer || true
}

"$job" running >job.out 2>&1 &
pid=$!
wait_for is_ready
stats=/proc/sys/kernel/bpf_stats_enabled
if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] && [ "$(stat -Lc %i /proc/self/ns/pid)" = 4026531836 ] &&
    { before=$(<$stats) && echo 1 >$stats; } 2>/dev/null; then
    observe bpf
    figure "observer by BPF" "$(share_of observer_ns)" "% of the CPU time of the job" most 1
    echo "$before" >$stats
    stop_observer
else
    figure "observer by BPF" missing "requires root, BTF, $stats and the first PID namespace"
fi
observe proc
figure "observer by /proc" "$(share_of cpu_ns $observer)" "% of the CPU time of the job" most 1
stop_observer
neuron-monitor --quiet --db idle.db --idle --verbose 1 2>agent.err &
agent=$!
is_observed() { grep -q "observing idle time of process" agent.err && echo yes; }
wait_for is_observed
figure "neuron-monitor --idle" "$(share_of cpu_ns $agent neuron-idle)" "% of the CPU time of the job" most 0.1
kill $agent
wait $agent || true
kill $pid
wait $pid || true
result
