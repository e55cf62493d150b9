#!/bin/bash
# path - N executions of neuron-bench are N in the JSON reports, in the counters of the cores and in /metrics,
# for any periods of the groups.
. "$(dirname "$0")/../lib.sh"
needs jq curl

is_up() { [ -s "$1.jsonl" ] && grep -q 'serving metrics on port' "$1.log" && echo yes; }
has_ended() {
    grep -q '"ended":true.*' "$1.jsonl" && [ "$(in_reports "$1")" = "$2" ] &&
        [ "$(in_metrics "$1")" = "$2" ] && [ "$(in_cores "$1")" = "$2" ] && echo yes
}
in_reports() { completed_in_reports "$1.jsonl"; }
in_cores() {
    jq -s '[.[].neuron_runtime_data[].report.neuron_ext.neuroncores // {} | .[].execution_summary[0]] | add // 0' "$1.jsonl"
}
in_metrics() {
    curl -sf "http://127.0.0.1:$(sed -n 's/.*serving metrics on port //p' "$1.log")/metrics" |
        sed -n 's/^neuron_executions_total{.*status_type="completed".* //p'
}

neuron-packager example memcpy -o memcpy.neff

# run NAME COUNT OPTION...: performs COUNT executions under one agent.
rate=1000
run() {
    local name=$1 count=$2
    shift 2
    neuron-monitor "$@" --prometheus 127.0.0.1:0 --verbose 1 >"$name.jsonl" 2>"$name.log" &
    local agent=$!
    wait_for is_up "$name"
    neuron-bench exec memcpy.neff --cores 0-1 --count "$count" --rate "$rate" --json >"$name.bench"
    wait_for has_ended "$name" "$count"
    kill -TERM "$agent"
    wait "$agent" || fail "$name: neuron-monitor exited with $?"
    [ "$(in_reports "$name")" = "$count" ] || fail "$name: $count executions, but the reports have $(in_reports "$name")"
    [ "$(in_cores "$name")" = "$count" ] || fail "$name: $count executions, but the cores have $(in_cores "$name")"
    jq -es 'all(.[]; .neuron_runtime_data | type == "array")' "$name.jsonl" >/dev/null ||
        fail "$name: a line is not a report"
    # Nothing is left of the process after its last entry.
    [ "$(jq -s '[.[].neuron_runtime_data[] | select(.ended)] | length' "$name.jsonl")" -ge 1 ] ||
        fail "$name: the process is never marked as ended"
    # The parts of each runtime add up to the whole.
    jq -es 'all(.[].neuron_runtime_data[].report.memory_used | select(.) | .neuron_runtime_used_bytes;
        .neuron_device == ([.usage_breakdown.neuroncore_memory_usage[][]] | add // 0) and
        .host == ([.usage_breakdown.host[]] | add))' "$name.jsonl" >/dev/null ||
        fail "$name: a total of memory is not the sum of its parts"
}

cat >mixed.json <<'END'
{"period": "200ms",
 "neuron_runtimes": [{"tag_filter": ".*", "metrics": [
   {"type": "execution_stats", "period": "300ms"},
   {"type": "neuroncore_counters", "period": "500ms"},
   {"type": "memory_used"}]}],
 "system_metrics": [{"type": "vcpu_usage", "period": "1s"}]}
END
run fast 400 --period 100ms
run slow 400 --period 900ms
run mixed 400 -c mixed.json
run stored 400 --period 700ms --db stored.db
rate=4 run few 3 --period 100ms
# Shorter than the agent's interval between two scans of the folder.
run silent 1 --period 100ms
valid_reports ./*.jsonl
