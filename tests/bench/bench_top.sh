#!/bin/bash
# bench_top - CPU time, system calls and terminal bytes of neuron-top at a refresh of one second, compared with htop
# -d 10 and btop, all at the same time in terminals of 120x40. htop has a PID namespace with 100 tasks, so that its
# cost does not depend on the machine. The machine has 128 NeuronCores (trn2.48xlarge, LNC 1) and is idle, then one
# application works on 32 of them, then 120 applications have one each. Also the time to the first frame. Its peers
# are htop and btop: without them (or tmux, or the software machine) the bench is skipped. docs/decisions/terminal.md
# describes what was tried to lower the cost, and the drawback of each step.
#
# Parts of 0.21 % of a CPU, 120 applications (perf record --call-graph dwarf -e task-clock, in the first minute):
#   snapshots  72 %  segments 46, devices 15 (10 of them 64 pread of counters), building 8, host files 2
#   past        8 %  new memory: 0.43 MB per second stay for going back, until they fill 64 MiB. It was a quarter in
#                    large pages of a guest that reports free memory to its host
#   model       8 %
#   drawing     7 %
#   waiting     3 %
# A refresh took 5.9 million instructions (callgrind). Even earlier versions took 11.9 million, but only a third more CPU
# time: a refresh mostly waits for memory, because other programs use the caches between two refreshes. Its cost depends
# on the number of cache lines that it touches. So the next segments are prefetched, and tables are read up to the last
# used entry.
. "$(dirname "$0")/lib.sh"
needs tmux python3 neuron-top neuron-bench neuron-packager
seconds=${NTK_BENCH_SECONDS:-$(size 10 0.3)}
runs=$(size 3 1)
peers=()
for name in htop btop; do
    # A container may not be allowed private namespaces.
    [ $name != htop ] || unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null || continue
    ! command -v $name >/dev/null || peers+=("$name")
done
export LC_ALL=C.UTF-8 TERM=xterm-256color HTOPRC=$scratch/htoprc XDG_CONFIG_HOME=$scratch
export NEURON_SOFT_INSTANCE=$(size trn2.48xlarge trn2.3xlarge) NEURON_LOGICAL_NC_CONFIG=1 OPENBLAS_NUM_THREADS=1
cores=$(size 32 4) tasks=$(size 100 5)
mkdir -p btop
echo 'update_ms = 1000' >btop/btop.conf
loads=()
stop_loads() {
    [ ${#loads[@]} = 0 ] || kill "${loads[@]}" 2>/dev/null || true
    [ ${#loads[@]} = 0 ] || wait "${loads[@]}" 2>/dev/null || true
    loads=()
}
# cpu_us PID: CPU time of all threads. The clock ticks in stat have 10 ms, a third of what neuron-top takes in 10 s.
cpu_us() {
    if [ -r "/proc/$1/schedstat" ]; then
        awk '{ ns += $1 } END { printf "%.0f", ns / 1e3 }' "/proc/$1/task/"*/schedstat
    else
        echo $(($(cpu_ticks "$1") * 1000000 / ticks_per_second))
    fi
}
bytes() { awk '/^wchar/ { print $2 }' "/proc/$1/io"; }
start() { tmx new-session -d -s "$1" -x 120 -y 40 "exec $2"; }
pid_of() { tmx display-message -p -t "=$1:" '#{pane_pid}'; }
# command_of PEER: htop is the first process of its namespace, the child of unshare.
own_tasks="unshare --user --map-root-user --pid --fork --kill-child --mount-proc"
command_of() {
    if [ "$1" = htop ]; then
        echo "$own_tasks bash -c 'for ((i = 1; i < $tasks; i++)); do sleep infinity & done; exec htop -d 10'"
    else
        echo "$1"
    fi
}
process_of() {
    if [ "$1" = htop ]; then cat "/proc/$(pid_of htop)/task/$(pid_of htop)/children"; else pid_of "$1"; fi
}
# is_running NAME COMMAND: whether the process of a session is the program itself by now.
is_running() { [ "$(cat "/proc/$(process_of "$1" | tr -d ' ')/comm")" = "$2" ] && echo yes; }
# system_calls PID: per second, of all threads. Measured after the other figures, because tracing slows the program
# down.
system_calls() {
    command -v strace >/dev/null || { echo "strace is not installed" && return; }
    timeout -s INT "$(size 5 1)" strace -f -c -S calls -U calls,name -o calls -p "$1" 2>/dev/null || true
    awk -v s="$(size 5 1)" '$2 == "total" { n = $1 } END { if (n) printf "%.0f system calls/s", n / s; else print "tracing is not permitted" }' calls
}

# load APPLICATIONS CORES RATE: starts applications with CORES cores each, and waits until neuron-top shows them.
load() {
    local i
    for ((i = 0; i < $1; i++)); do
        neuron-bench exec memcpy.neff --cores "$((i * $2))-$((i * $2 + $2 - 1))" --rate "$3" --duration 10m >load.out 2>&1 &
        loads+=($!)
    done
    wait_for shows_applications "$1"
}
shows_applications() { [ "$(neuron-top --csv=applications --once -d 200ms | tail -n +2 | grep -c .)" = "$1" ] && echo yes; }
is_drawn() { tmx capture-pane -p -t =top: | greps '^busy [0-9]' && echo yes; }

# judge NAME PEER COLUMN PEER_COLUMN FACTOR MOST: the ratio of neuron-top to a peer over all runs. The columns are
# CPU times and bytes of neuron-top, htop and btop.
judge() {
    if [[ " ${peers[*]} " == *" $2 "* ]]; then
        figure "$1" "$(awk -v a="$3" -v b="$4" -v f="$5" '{ x += $a * f; y += $b } END { print x / (y > 0 ? y : 1) }' runs)" x most "$6"
    else
        figure "$1" missing "$2 is not installed or cannot have its own tasks"
    fi
}

# first_frame: seconds from the start to the first frame in a terminal.
first_frame() {
    python3 - <<'PYTHON'
import fcntl, os, pty, struct, termios, time
begin = time.monotonic()
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.execvp("neuron-top", ["neuron-top"])
shown = b""
while b"busy " not in shown:
    shown += os.read(terminal, 65536)
print(time.monotonic() - begin)
os.write(terminal, b"q")
try:
    while os.read(terminal, 65536):  # the rest of the frame: the program waits for a full terminal
        pass
except OSError:
    pass  # it has exited
os.waitpid(pid, 0)
PYTHON
}

measure() { # name of the scene
    local run name line cpu_top cpu_htop cpu_btop bytes_top bytes_htop bytes_btop old_cpu old_bytes top htop btop
    start top neuron-top
    for name in "${peers[@]}"; do start "$name" "$(command_of "$name")"; done
    wait_for is_drawn
    for name in "${peers[@]}"; do wait_for is_running "$name" "$name"; done
    sleep "$(size 3 0)" # all have drawn their first screens
    for name in top "${peers[@]}"; do
        declare "$name=$(process_of "$name" | tr -d ' ')"
        [ "$(cat "/proc/${!name}/comm")" = "${name/#top/neuron-top}" ] || fail "$name did not start"
    done
    : >runs
    for ((run = 1; run <= runs; run++)); do
        line=
        for name in top "${peers[@]}"; do declare "cpu_$name=$(cpu_us "${!name}")" "bytes_$name=$(bytes "${!name}")"; done
        sleep "$seconds"
        for name in top htop btop; do
            if [ -n "${!name:-}" ]; then
                old_cpu=cpu_$name old_bytes=bytes_$name
                line+=" $(($(cpu_us "${!name}") - ${!old_cpu})) $(($(bytes "${!name}") - ${!old_bytes}))"
            else
                line+=" 0 0"
            fi
        done
        echo "$line" | awk -v s="$seconds" -v r="$run" -v scene="$1" '
            function share(us) { return sprintf("%.2f %% CPU", 100 * us / 1e6 / s) }
            function rate(bytes) { return sprintf("%.1f KB/s", bytes / s / 1e3) }
            {
                printf "%s, run %d: neuron-top %s, %s; htop -d 10 %s, %s; btop %s, %s\n", scene, r,
                    share($1), rate($2), share($3), rate($4), share($5), rate($6)
                print >>"runs"
            }'
    done
    for name in top "${peers[@]}"; do echo "$1: ${name/#top/neuron-top}: $(system_calls "${!name}")"; done
    judge "M3 $1: CPU time / htop -d 10" htop 1 3 1 0.5
    judge "M3 $1: terminal bytes / btop" btop 2 6 1 0.5
    for name in top "${peers[@]}"; do tmx kill-session -t "=$name"; done
}

neuron-bench machine >/dev/null
neuron-packager example memcpy -o memcpy.neff >/dev/null
tmx new-session -d -s keep cat
measure idle
load 1 "$cores" 256
measure "32 busy cores"

for ((run = 1; run <= runs; run++)); do first_frame; done >first
[ "$(wc -l <first)" = "$runs" ] || fail "neuron-top showed no frame"
figure "M3 first frame, from start to the screen, best run" "$(sort -n first | head -1)" s most 0.15

stop_loads
export NEURON_HOOKS_MEMORY=64K # small rings for many processes
load "$(size 120 4)" 1 4
measure "120 applications"
result
