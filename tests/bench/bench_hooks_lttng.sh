#!/bin/bash
# bench_hooks_lttng - one record of the hooks against one of LTTng-UST in a private snapshot session.
. "$(dirname "$0")/lib.sh"
needs lttng lttng-sessiond
peer=$NTK_BENCH_DIR/lttng_peer
[ -x "$peer" ] || skip "lttng_peer was not built: LTTng-UST is missing"
home=$scratch
export LTTNG_HOME=$home HOME=$home LTTNG_UST_REGISTER_TIMEOUT=2000
session=ntk_bench_$$
daemon=
# Root has one daemon per machine, which the package may have started. A separate session does not disturb others.
if ! { [ "$(id -u)" = 0 ] && kill -0 "$(cat /var/run/lttng/lttng-sessiond.pid 2>/dev/null)" 2>/dev/null; }; then
    lttng-sessiond --no-kernel --pidfile "$home/pid" >"$home/log" 2>&1 &
    daemon=$!
fi
destroy() {
    local code=$?
    lttng --no-sessiond destroy "$session" >/dev/null 2>&1 || true
    return $code
}
trap 'destroy && finish || finish' EXIT
answers() { lttng --no-sessiond list >/dev/null && echo yes; }
wait_with "${daemon:-$$}" log answers
for step in "create $session --snapshot" "enable-channel -u -s $session --overwrite --subbuf-size 512K --num-subbuf 4 bench" \
    "enable-event -u -s $session -c bench ntk_bench:mark" "start $session"; do
    # shellcheck disable=SC2086 # words
    if ! lttng --no-sessiond $step >"$home/said" 2>&1; then
        skip "lttng $step: $(head -1 "$home/said")"
    fi
done
"$peer"
