# whole.sh - the pipe and the agent's own page show the same series with the same values, on the largest machines
# with every core busy: stdout has all values of the agent.
. "$(dirname "$0")/../../e2e/lib.sh"
needs neuron-monitor neuron-monitor-prometheus curl

at_failure() { diff own piped >difference.log; }
is_listening() { grep -q ' port [1-9]' "$1" && echo yes; }
port_of() { sed -n 's/.* port //p' "$1"; }
# The series of a page without those of the serving process; CPU shares with the precision of reports.
series() {
    curl -sf --max-time "$patience" "http://127.0.0.1:$(port_of "$1")/metrics" |
        sed -E '/^#/d; /^(process_|neuron_monitor_(output|report)_)/d' |
        awk '/_vcpu_usage_ratio/ { $NF = sprintf("%.4f", $NF) } 1' | sort
}
# Reports come every two seconds. Both pages show the same report when no value differs, and then all must agree. The
# agent collects again for a page that is older than a second (with a database), so it is queried only right after a
# report.
is_new() {
    curl -sf "http://127.0.0.1:$(port_of pipe.out)/metrics" |
        awk '/^neuron_monitor_report_age_seconds/ { new = $NF < 0.5 } END { exit !new }'
}
are_same() {
    is_new && series agent.log >own && series pipe.out >piped
    [ "$(grep -c '^neuroncore_total_utilization_ratio' own)" = "$cores" ] && grep -q 'runtime_tag="busy"' own &&
        [ "$(sed -n 's/^neuron_executions_total{.*="completed".* //p' own)" -gt "$cores" ] && cmp -s own piped && echo yes
}
# Uses all cores of a machine: TYPE CORES LNC
compare() {
    cores=$2
    neuron-packager example memcpy --lnc "$3" -o memcpy.neff
    export NEURON_SOFT_INSTANCE=$1 NEURON_HOOKS_DIR=$memory/hooks/$1
    mkdir -m 700 "$NEURON_HOOKS_DIR"
    rm -f agent.log pipe.out
    NEURON_PROCESS_TAG=busy neuron-bench exec memcpy.neff --cores "0-$((cores - 1))" --rate 5 --duration 600s >bench.log 2>&1 &
    local bench=$!
    neuron-monitor --period 2s --no-imds --db "$1.db" --prometheus 127.0.0.1:0 --verbose 1 2>agent.log \
        > >(neuron-monitor-prometheus --port 0 --address 127.0.0.1 >pipe.out 2>pipe.err) &
    local agent=$!
    wait_for is_listening agent.log
    wait_for is_listening pipe.out
    wait_for are_same || fail "$1: the pages differ"
    echo "$1: $(wc -l <own) series on both sides"
    [ "$(wc -l <own)" -gt $((cores * 30)) ] || fail "$1: only $(wc -l <own) series with $cores cores busy"
    ! grep -q max-line agent.log || fail "$1: unexpected output"
    kill "$bench" "$agent"
    wait "$bench" "$agent" || fail "$1: unexpected output"
}
compare trn1.32xlarge 32 1
compare trn2.48xlarge 64 2
