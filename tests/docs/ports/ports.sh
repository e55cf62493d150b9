#!/bin/bash
# ports - files that cannot include shared/http/http_ports.h use the same ports: unit, manifests, documents and help.
cd "$NTK_SOURCE_DIR" || exit 1
failed=0
port_of() { sed -n "s/^#define NTK_HTTP_PORT_$1 //p" shared/http/http_ports.h; }
agent=$(port_of AGENT) metrics=$(port_of METRICS)
[ -n "$agent" ] && [ -n "$metrics" ] || { echo "FAILED: http_ports.h has no ports" >&2; exit 1; }
# expect PORT WHAT PATTERN FILE...: every number that PATTERN finds (its group) is PORT, and it finds one in each file.
expect() {
    local port=$1 what=$2 pattern=$3 file found
    for file in "${@:4}"; do
        found=$(sed -nE "s/.*$pattern.*/\1/p" "$file" | sort -u | tr '\n' ' ')
        [ "$found" = "$port " ] || { echo "FAILED: $file: $what is on port '$found', not $port" >&2; failed=1; }
    done
}
expect "$agent" 'the page' '--http [^ ]*[: ]?([0-9]{4})\>' agent/neuron-monitor.service docs/start.md
expect "$agent" 'the page' 'localhost:([0-9]+)\/' docs/start.md docs/operate.md docs/alerts.md
expect "$agent" 'the page' '--http :([0-9]+)' docs/tutorials/who-hangs.md
expect "$agent" 'the agent' '127\.0\.0\.1:([0-9]+)' docs/health.md exporters/kubernetes/node-problem-detector.json agent/neuron-monitor.service
expect "$metrics" 'metrics' '--prometheus[ =]:([0-9]+)' docs/README.md docs/start.md docs/operate.md docs/tutorials/on-hardware.md exporters/kubernetes/daemonset.yaml exporters/kubernetes/Dockerfile
expect "$metrics" 'metrics' '[pP]ort: ([0-9]+)$' exporters/kubernetes/daemonset.yaml
expect "$metrics" 'metrics' '^EXPOSE ([0-9]+)' exporters/kubernetes/Dockerfile
expect "$metrics" 'metrics' '--prometheus :([0-9]+)' <(sed 's/\\//g' agent/neuron-monitor.1.in)
help() { "$NTK_BIN_DIR/$1" --help | tr -s ' \n' ' '; }
expect "$agent" 'the page' 'clients use port ([0-9]+)' <(help neuron-monitor)
expect "$agent" 'the agent' 'default port ([0-9]+)' <(help neuron-top)
expect "$metrics" 'metrics' 'usually on port ([0-9]+)' <(help neuron-monitor)
expect "$metrics" 'metrics' 'default ([0-9]+); 0: any' <(help neuron-monitor-prometheus)
exit $failed
