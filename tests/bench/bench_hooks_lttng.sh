#!/bin/bash
# bench_hooks_lttng - one record of the hooks against one of LTTng-UST in a snapshot session of its own.
set -u
peer=${NTK_BENCH_DIR:-build/release/bench}/lttng_peer
command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null && [ -x "$peer" ] || exit 77
home=$(mktemp -d) || exit 1
export LTTNG_HOME=$home HOME=$home LTTNG_UST_REGISTER_TIMEOUT=2000 NEURON_HOOKS_DIR=$home/hooks
session=ntk_bench_$$
daemon=
# Root has one daemon for the machine, which the package may have started: a session of our own disturbs no other.
if ! { [ "$(id -u)" = 0 ] && kill -0 "$(cat /var/run/lttng/lttng-sessiond.pid 2>/dev/null)" 2>/dev/null; }; then
    lttng-sessiond --no-kernel --pidfile "$home/pid" >"$home/log" 2>&1 &
    daemon=$!
fi
cleanup() {
    lttng --no-sessiond destroy "$session" >/dev/null 2>&1
    [ -n "$daemon" ] && kill "$daemon" 2>/dev/null && wait "$daemon" 2>/dev/null
    rm -rf "$home"
}
trap cleanup EXIT
for _ in $(seq 50); do
    lttng --no-sessiond list >/dev/null 2>&1 && break
    sleep 0.1
done
for step in "create $session --snapshot" "enable-channel -u -s $session --overwrite --subbuf-size 512K --num-subbuf 4 bench" \
    "enable-event -u -s $session -c bench ntk_bench:mark" "start $session"; do
    # shellcheck disable=SC2086 # words
    if ! lttng --no-sessiond $step >"$home/said" 2>&1; then
        echo "   lttng $step: $(head -1 "$home/said")"
        exit 77
    fi
done
"$peer" "$@"
