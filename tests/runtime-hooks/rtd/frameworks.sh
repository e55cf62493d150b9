#!/bin/bash
# frameworks - the order of calls of a framework, with four threads; its own count equals that of the daemon, of a
# monitor's reports and of its database.
. "$(dirname "$0")/daemon.sh"
needs jq
mkdir neffs
"$NTK_BUILD_DIR/tests/rtd_neffs" neffs
start
monitor --db metrics.db
client frameworks neffs
counts frameworks
[ "$counted" = 240 ] || fail "the client counts $counted"
kill "$monitor"
wait "$monitor" || true
stored=$(neuron-monitor query executions --db metrics.db --json | jq 'map(.completed) | add')
[ "$stored" = "$counted" ] || fail "the client counts $counted, the database has $stored"
stop
