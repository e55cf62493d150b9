#!/bin/bash
# bench_idle - the cost of observing the idle time of a job, in percent of the CPU time of a job that computes on one
# CPU: for the command with its program in the kernel, including for a Python job with deep stacks, and for the thread of
# neuron-monitor --idle.
. "$(dirname "$0")/lib.sh"
needs jq neuron-profile neuron-monitor
job=$NTK_BUILD_DIR/tests/tests_idle_job
seconds=$(size 6 0.5)
python_job=(/usr/bin/python3 "$NTK_SOURCE_DIR/tests/shared/hostwork/jobs/idle_job.py" framework
    "$NTK_BUILD_DIR/tests/idle-job/libidle_job.so")
[ -x "$job" ] || skip "tests_idle_job is missing"
# Real-time priority, so that other programs do not take CPU time from the job.
first=()
[ -n "${NTK_BENCH_SMOKE:-}" ] || ! chrt -r 1 true 2>/dev/null || first=(chrt -r 1)
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
# Little more than the default of 10 s, because a longer observation copies fewer stacks per second.
observe() { # METHOD
    "${first[@]}" neuron-profile idle --pid $pid --for 12s --method "$1" >idle.out 2>&1 &
    observer=$!
    sleep "$(size 2 1)" # it has loaded its program and read the files of the job
}
stop_observer() {
    kill -INT $observer
    wait $observer || true
}

start_job() { # COMMAND...
    "${first[@]}" "$@" >job.out 2>&1 &
    pid=$!
    wait_for is_ready
}
stop_job() {
    kill $pid
    wait $pid || true
    rm job.out
}
by_bpf() { # NAME: the cost of observing the job by the method bpf
    if [ -n "$no_bpf" ]; then
        figure "$1" missing "$no_bpf"
        return
    fi
    observe bpf
    figure "$1" "$(share_of observer_ns)" "% of the CPU time of the job" most 1
    stop_observer
}

stats=/proc/sys/kernel/bpf_stats_enabled
if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] && [ "$(stat -Lc %i /proc/self/ns/pid)" = 4026531836 ] &&
    { before=$(<$stats) && echo 1 >$stats; } 2>/dev/null; then
    no_bpf=
else
    no_bpf="requires root, BTF, $stats and the first PID namespace"
fi
if [ -x "${python_job[0]}" ] && [ -f "${python_job[-1]}" ]; then
    start_job "${python_job[@]}"
    by_bpf "observer by BPF, Python job"
    stop_job
else
    figure "observer by BPF, Python job" missing "requires Python and libidle_job.so"
fi
start_job "$job" running
by_bpf "observer by BPF"
[ -n "$no_bpf" ] || echo "$before" >$stats
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
stop_job
result
