# lib.sh - common functions of the test scripts of idle time: the jobs, and whether the kernel's program can be used;
# sources tests/profiler/lib.sh.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
skip_sanitized
job=$NTK_BUILD_DIR/tests/tests_idle_job
python_job=$NTK_SOURCE_DIR/tests/shared/hostwork/jobs/idle_job.py
library=$NTK_BUILD_DIR/tests/idle-job/libidle_job.so

# why_no_bpf: prints the reason, or nothing.
why_no_bpf() {
    [ "$(id -u)" = 0 ] || { echo "requires root" && return; }
    [ -r /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" && return; }
    [ "$(stat -Lc %i /proc/self/ns/pid)" = 4026531836 ] || echo "not in the first PID namespace"
}
is_ready() { grep -qx ready "${1:-job.out}" && echo yes; }
# The job of a command that begins with this is in a container, as far as the numbers of its processes are concerned.
container=(unshare --pid --fork --kill-child)
# started COMMAND...: starts the job and waits until it is ready; its process is $pid.
started() {
    rm -f job.out # of the previous job
    "$@" >job.out 2>job.err &
    child=$! pid=$!
    wait_for is_ready
    [ "$1 $2" != "${container[*]:0:2}" ] || pid=$(pgrep -P $child)
}
stop() {
    kill $pid || complain "the job $pid is gone"
    wait $child || true
}
