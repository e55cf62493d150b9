#!/bin/bash
# bench_top - CPU time and terminal bytes of neuron-top at a refresh of one second beside htop -d 10 and btop, all
# at the same time in terminals of 200x50; the machine has 128 NeuronCores (trn2.48xlarge, LNC 1). Also
# the time to the first frame. htop and btop are the peers; without them (or tmux) the bench is skipped.
set -u
command -v htop >/dev/null && command -v btop >/dev/null && command -v tmux >/dev/null || exit 77
seconds=${NTK_BENCH_SECONDS:-15}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-bench-top-XXXXXX")
socket=$scratch/tmux
export LC_ALL=C.UTF-8 TERM=xterm-256color HTOPRC=$scratch/htoprc XDG_CONFIG_HOME=$scratch NEURON_HOOKS_DIR=$scratch/hooks
export NEURON_SOFT_INSTANCE=trn2.48xlarge NEURON_LOGICAL_NC_CONFIG=1
unset TMUX
mkdir -p "$NEURON_HOOKS_DIR"
load=
tmx() { tmux -u -f /dev/null -S "$socket" "$@"; }
finish() {
    [ -n "$load" ] && kill "$load" 2>/dev/null && wait "$load" 2>/dev/null
    tmx kill-server 2>/dev/null
    [ -x "$NTK_BIN_DIR/neuron-bench" ] && "$NTK_BIN_DIR/neuron-bench" machine --remove >/dev/null 2>&1
    rm -rf "$scratch"
}
trap finish EXIT

# The machine, with one application on all of its cores that runs a little.
if [ -x "$NTK_BIN_DIR/neuron-bench" ]; then
    "$NTK_BIN_DIR/neuron-bench" machine >/dev/null || exit 1
    if "$NTK_BIN_DIR/neuron-packager" example memcpy -o "$scratch/memcpy.neff" >/dev/null 2>&1; then
        "$NTK_BIN_DIR/neuron-bench" exec "$scratch/memcpy.neff" --cores 0-127 --rate 64 \
            --duration $((seconds * 3 + 30)) >"$scratch/load.out" 2>&1 &
        load=$!
        for ((i = 0; i < 100; i++)); do
            "$NTK_BIN_DIR/neuron-top" --once | grep -q memcpy && break
        done
    fi
fi

cpu() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; } # ticks
bytes() { awk '/^wchar/ { print $2 }' "/proc/$1/io"; }
start() { tmx new-session -d -s "$1" -x 200 -y 50 "exec $2"; }
tmx new-session -d -s keep cat
start top "$NTK_BIN_DIR/neuron-top"
start htop "htop -d 10"
mkdir -p "$scratch/btop"
echo 'update_ms = 1000' >"$scratch/btop/btop.conf"
start btop btop
sleep 3 # all have drawn their first screens
top=$(tmx display-message -p -t =top: '#{pane_pid}')
htop=$(tmx display-message -p -t =htop: '#{pane_pid}')
btop=$(tmx display-message -p -t =btop: '#{pane_pid}')
[ "$(cat "/proc/$btop/comm")" = btop ] || { echo "   btop did not start"; exit 1; }
tick=$(getconf CLK_TCK)
for run in 1 2 3; do
    line=
    for name in top htop btop; do
        declare "cpu_$name=$(cpu "${!name}")" "bytes_$name=$(bytes "${!name}")"
    done
    sleep "$seconds"
    for name in top htop btop; do
        old_cpu=cpu_$name old_bytes=bytes_$name
        line+=" $(($(cpu "${!name}") - ${!old_cpu})) $(($(bytes "${!name}") - ${!old_bytes}))"
    done
    echo "$line" | awk -v s="$seconds" -v t="$tick" -v r=$run '
        function share(ticks) { return sprintf("%.2f %% CPU", 100 * ticks / t / s) }
        function rate(bytes) { return sprintf("%.1f KB/s", bytes / s / 1e3) }
        {
            # what neuron-top writes goes through a file in memory first, and counts there too
            printf "   run %d: neuron-top %s, %s; htop -d 10 %s, %s; btop %s, %s; CPU ratio %.2f to htop, %.2f to btop\n",
                r, share($1), rate($2 / 2), share($3), rate($4), share($5), rate($6),
                ($3 > 0 ? $1 / $3 : 0), ($5 > 0 ? $1 / $5 : 0)
        }'
done
for run in 1 2 3; do
    from=$(date +%s%N)
    "$NTK_BIN_DIR/neuron-top" --once >"$scratch/frame" || exit 1
    printf '   --once from start to end: %d ms (200 ms of them between the two samples)\n' \
        $((($(date +%s%N) - from) / 1000000))
done
grep -q 'vCPU Utilization' "$scratch/frame"
