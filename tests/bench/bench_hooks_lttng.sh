#!/bin/bash
# bench_hooks_lttng - one record of the hooks against one of LTTng-UST in a snapshot session of its own.
set -u
peer=${NTK_BENCH_DIR:-build/release/bench}/lttng_peer
command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null && [ -x "$peer" ] || exit 77
home=$(mktemp -d) || exit 1
export LTTNG_HOME=$home HOME=$home LTTNG_UST_REGISTER_TIMEOUT=2000 NEURON_HOOKS_DIR=$home/hooks
if [ "$(id -u)" = 0 ]; then # root has one daemon for the machine; do not disturb one that runs
    [ -e /var/run/lttng/lttng-sessiond.pid ] && kill -0 "$(cat /var/run/lttng/lttng-sessiond.pid)" 2>/dev/null &&
        { rm -rf "$home"; exit 77; }
fi
lttng-sessiond --no-kernel --pidfile "$home/pid" >"$home/log" 2>&1 &
daemon=$!
cleanup() {
    lttng destroy ntk_bench >/dev/null 2>&1
    kill "$daemon" 2>/dev/null
    wait "$daemon" 2>/dev/null
    rm -rf "$home"
}
trap cleanup EXIT
for _ in $(seq 50); do
    lttng --no-sessiond list >/dev/null 2>&1 && break
    sleep 0.1
done
lttng --no-sessiond create ntk_bench --snapshot >/dev/null 2>&1 &&
    lttng --no-sessiond enable-channel -u --overwrite --subbuf-size 512K --num-subbuf 4 bench >/dev/null 2>&1 &&
    lttng --no-sessiond enable-event -u -c bench 'ntk_bench:mark' >/dev/null 2>&1 &&
    lttng --no-sessiond start ntk_bench >/dev/null 2>&1 || exit 77
"$peer" "$@"
