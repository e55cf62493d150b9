#!/bin/bash
# bench_top - CPU time and terminal bytes of neuron-top at a refresh of one second beside htop -d 10 and btop, all
# at the same time in terminals of 200x50, where neuron-top has its tall first screen; the machine has 128 NeuronCores
# (trn2.48xlarge, LNC 1) and is idle, then one application works on all of them, then 120 have one each. Also the time to
# the first frame. Its peers are htop and btop: without them (or tmux, or the software machine) the bench is skipped.
set -u
command -v htop >/dev/null && command -v btop >/dev/null && command -v tmux >/dev/null || exit 77
[ -x "$NTK_BIN_DIR/neuron-bench" ] && [ -x "$NTK_BIN_DIR/neuron-packager" ] || exit 77
seconds=${NTK_BENCH_SECONDS:-10}
runs=3
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-bench-top-XXXXXX")
socket=$scratch/tmux
export LC_ALL=C.UTF-8 TERM=xterm-256color HTOPRC=$scratch/htoprc XDG_CONFIG_HOME=$scratch NEURON_HOOKS_DIR=$scratch/hooks
export NEURON_SOFT_INSTANCE=trn2.48xlarge NEURON_LOGICAL_NC_CONFIG=1 OPENBLAS_NUM_THREADS=1
unset TMUX
mkdir -p "$NEURON_HOOKS_DIR" "$scratch/btop"
echo 'update_ms = 1000' >"$scratch/btop/btop.conf"
tick=$(getconf CLK_TCK)
loads=()
missed=0
tmx() { tmux -u -f /dev/null -S "$socket" "$@"; }
stop_loads() {
    [ ${#loads[@]} = 0 ] || kill "${loads[@]}" 2>/dev/null
    [ ${#loads[@]} = 0 ] || wait "${loads[@]}" 2>/dev/null
    loads=()
}
finish() {
    stop_loads
    tmx kill-server 2>/dev/null
    "$NTK_BIN_DIR/neuron-bench" machine --remove >/dev/null 2>&1
    rm -rf "$scratch"
}
trap finish EXIT

# name, value, most it shall be: a figure past it by less than 1.3 may be the machine's noise.
judge() {
    awk -v name="$1" -v value="$2" -v most="$3" 'BEGIN {
        word = value <= most ? "good" : value <= 1.3 * most ? "within noise" : "MISSED"
        printf "   %-60s %8.2f  target <= %.2f  %s\n", name, value, most, word
        exit word == "MISSED"
    }' || missed=1
}
cpu() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; } # ticks
bytes() { awk '/^wchar/ { print $2 }' "/proc/$1/io"; }
start() { tmx new-session -d -s "$1" -x 200 -y 50 "exec $2"; }
pid_of() { tmx display-message -p -t "=$1:" '#{pane_pid}'; }

# So many applications on so many cores each are at work, as neuron-top sees it.
load() {
    local i
    for ((i = 0; i < $1; i++)); do
        "$NTK_BIN_DIR/neuron-bench" exec "$scratch/memcpy.neff" --cores "$((i * $2))-$((i * $2 + $2 - 1))" \
            --rate "$3" --duration 10m >"$scratch/load.out" 2>&1 &
        loads+=($!)
    done
    for ((i = 0; i < 300; i++)); do
        [ "$("$NTK_BIN_DIR/neuron-top" --csv=applications --once | tail -n +2 | grep -c .)" = "$1" ] && return
        sleep 0.2
    done
    echo "   the applications did not start"
    exit 1
}

measure() { # name of the scene
    local top htop btop run name old_cpu old_bytes line
    start top "$NTK_BIN_DIR/neuron-top"
    start htop "htop -d 10"
    start btop btop
    sleep 3 # all have drawn their first screens
    top=$(pid_of top) htop=$(pid_of htop) btop=$(pid_of btop)
    [ "$(cat "/proc/$btop/comm")" = btop ] || { echo "   btop did not start"; exit 1; }
    tmx capture-pane -p -t =top: | grep -c 'Neuron Applications .*Busy in the last minute' >/dev/null ||
        { echo "   the first screen is not the tall one"; exit 1; }
    : >"$scratch/runs"
    for ((run = 1; run <= runs; run++)); do
        line=
        for name in top htop btop; do
            declare "cpu_$name=$(cpu "${!name}")" "bytes_$name=$(bytes "${!name}")"
        done
        sleep "$seconds"
        for name in top htop btop; do
            old_cpu=cpu_$name old_bytes=bytes_$name
            line+=" $(($(cpu "${!name}") - ${!old_cpu})) $(($(bytes "${!name}") - ${!old_bytes}))"
        done
        # What neuron-top writes goes through a file in memory first, and counts there too.
        echo "$line" | awk -v s="$seconds" -v t="$tick" -v r=$run -v scene="$1" -v out="$scratch" '
            function share(ticks) { return sprintf("%.2f %% CPU", 100 * ticks / t / s) }
            function rate(bytes) { return sprintf("%.1f KB/s", bytes / s / 1e3) }
            {
                printf "   %s, run %d: neuron-top %s, %s; htop -d 10 %s, %s; btop %s, %s\n", scene, r,
                    share($1), rate($2 / 2), share($3), rate($4), share($5), rate($6)
                print >>(out "/runs")
            }'
    done
    judge "M3 $1: CPU time / htop -d 10" \
        "$(awk '{ a += $1; b += $3 } END { print a / (b > 0 ? b : 1) }' "$scratch/runs")" 1
    judge "M3 $1: terminal bytes / btop" \
        "$(awk '{ a += $2 / 2; b += $6 } END { print a / (b > 0 ? b : 1) }' "$scratch/runs")" 0.5
    for name in top htop btop; do tmx kill-session -t "=$name"; done
}

"$NTK_BIN_DIR/neuron-bench" machine >/dev/null || exit 1
"$NTK_BIN_DIR/neuron-packager" example memcpy -o "$scratch/memcpy.neff" >/dev/null || exit 1
tmx new-session -d -s keep cat
measure idle
load 1 128 256
measure "128 busy cores"

for ((run = 1; run <= runs; run++)); do
    from=$(date +%s%N)
    "$NTK_BIN_DIR/neuron-top" --once >"$scratch/frame" || exit 1
    echo $((($(date +%s%N) - from) / 1000)) | awk '{ print $1 / 1e6 }'
done >"$scratch/first"
grep -q 'vCPU Utilization' "$scratch/frame" || exit 1
judge "M3 first frame, from start to end of --once, seconds" "$(sort -n "$scratch/first" | head -1)" 0.3

stop_loads
export NEURON_HOOKS_MEMORY=64K # small rings for many
load 120 1 4
measure "120 applications"
exit $missed
