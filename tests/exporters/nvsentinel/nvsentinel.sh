# nvsentinel.sh - neuron-monitor --nvsentinel and a platform connector on gRPC's own server: a fault of a device
# arrives as an event, a connector that is down gets it later, and the repaired device clears it.
. "$(dirname "$0")/../../e2e/lib.sh"
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
needs neuron-monitor neuron-bench neuron-packager jq
needs_python grpc

mkdir taken
neuron-packager example memcpy -o memcpy.neff
NODE_NAME=node-7 neuron-monitor --period 200ms --quiet --nvsentinel="$PWD/connector.sock" 2>agent.err &
agent=$!
is_away() { grep -q 'nvsentinel: .*retrying' agent.err && echo yes; }
neuron-bench exec memcpy.neff --count 1 >/dev/null # the machine exists now
wait_for is_away
# The connector starts and rejects two messages; it must first receive the healthy state of the device.
"$python" "$here/connector.py" "$PWD/connector.sock" taken UNAVAILABLE UNKNOWN 2>connector.log &
arrived() { [ "$(cat taken/*.json 2>/dev/null | jq -s "[.[].events[] | select($1)] | length")" -ge 1 ] && echo yes; }
wait_for arrived '.isHealthy == 1'
! NEURON_SOFT_FAULT=hbm-ue:at=1 neuron-bench exec memcpy.neff --count 1 >/dev/null 2>&1 || fail "an event without a fault"
wait_for arrived '.isFatal == 1'
cat taken/*.json | jq -se '[.[].events[]] | map(select(.isFatal == 1)) | length == 1 and (.[0] |
    .nodeName == "node-7" and .agent == "neuron-monitor" and .recommendedAction == 25 and .processingStrategy == 1 and
    .errorCode == ["NEURON_HBM_UNCORRECTABLE"] and .entitiesImpacted == [{entityType: "NEURON_DEVICE", entityValue: "0"}] and
    (.message | startswith("device 0: hbm_uncorrectable")) and .generatedTimestamp.seconds > 1700000000)' >/dev/null || fail "unexpected output: $(cat taken/*.json)"
[ "$(cat taken/*.json | jq -s '[.[].events[]] | length')" = 2 ] || fail "expected one event per change: $(cat taken/*.json)"
kill $agent && wait $agent || fail "the agent failed"

code=0
env -u NODE_NAME neuron-monitor --once --quiet --nvsentinel 2>no-node.err || code=$?
[ $code = 2 ] && grep -q 'use --nvsentinel-node or set NODE_NAME' no-node.err || fail "no node: unexpected exit code $code"
code=0
neuron-monitor --once --quiet --nvsentinel-store-only 2>usage.err || code=$?
[ $code = 2 ] && grep -q 'requires --nvsentinel' usage.err || fail "usage: unexpected exit code $code"
