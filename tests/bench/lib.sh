# lib.sh - common functions of the scripted benches; sourced first. In addition to tests/e2e/lib.sh: sizes of a smoke
# run, and figures and verdicts in the form of the benches in C. run.sh sets the environment.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
missed=

# size FULL SMOKE: prints FULL, or SMOKE in a smoke run.
size() { if [ -n "${NTK_BENCH_SMOKE:-}" ]; then echo "$2"; else echo "$1"; fi; }

# figure NAME VALUE UNIT [most|least|exact TARGET]; figure NAME missing REASON: the target cannot be measured here.
figure() {
    local code=0
    "$NTK_BENCH_DIR/verdict" "$@" 2>"$scratch/verdict.err" || code=$?
    case $code in
    0) ;;
    1) missed+="${missed:+; }$1" ;;
    *) fail "figure '$1': $(cat "$scratch/verdict.err")" ;;
    esac
}

# result: ends the bench; its exit code is 1 if a target was missed, and it names those.
result() {
    [ -z "$missed" ] || fail "missed: $missed"
    exit 0
}

# cpu_ticks PID, cpu_seconds PID; memory_mib PID KEY of /proc/PID/status.
ticks_per_second=$(getconf CLK_TCK)
cpu_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
cpu_seconds() { awk -v t="$ticks_per_second" '{ sub(/.*\) /, ""); print ($12 + $13) / t }' "/proc/$1/stat"; }
memory_mib() { awk -v k="$2:" '$1 == k { printf "%.2f", $2 / 1024 }' "/proc/$1/status"; }
# cpu_share TICKS SECONDS: percent of a CPU.
cpu_share() { awk -v d="$1" -v t="$ticks_per_second" -v s="$2" 'BEGIN { printf "%.3f", 100 * d / t / s }'; }
# measure_cpu PID SECONDS: percent of a CPU during that time.
measure_cpu() {
    local from
    from=$(cpu_ticks "$1")
    sleep "$2"
    cpu_share $(($(cpu_ticks "$1") - from)) "$2"
}
# port_of LOG: the port at which an agent serves its metrics.
port_of() { sed -n 's/.*serving metrics on port //p' "$1" | head -1; }
# shows COUNT LOG PATTERN: prints yes when the page of an agent has that number of matching lines.
shows() { [ "$(curl -s "http://127.0.0.1:$(port_of "$2")/metrics" | grep -c "$3")" -ge "$1" ] && echo yes; }

# wait_with PID LOG COMMAND...: like wait_for, but fails as soon as process PID has exited.
wait_with() {
    local pid=$1 log=$2
    shift 2
    until [ "$("$@" 2>/dev/null || true)" = yes ]; do
        kill -0 "$pid" 2>/dev/null || fail "the process to wait for has exited: $(tail -1 "$log")"
        sleep 0.05
    done
}

# start_node_exporter: sets $peer and the address of its page, $peer_page; fails if it is not installed or unpacked.
start_node_exporter() {
    command -v prometheus-node-exporter >/dev/null || return
    prometheus-node-exporter --web.listen-address=127.0.0.1:0 2>peer.log &
    peer=$!
    wait_with "$peer" peer.log listens peer.log
    peer_page=http://127.0.0.1:$(listens_at peer.log)/metrics
}
# listens_at LOG: the port of a Prometheus program.
listens_at() { sed -n 's/.*msg="Listening on" address=[^ ]*:\([0-9]*\).*/\1/p' "$1" | head -1; }
listens() { [ -n "$(listens_at "$1")" ] && echo yes; }
