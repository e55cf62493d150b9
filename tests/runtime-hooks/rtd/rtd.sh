#!/bin/bash
# rtd - neuron-rtd as its clients, its monitors and its service manager meet it.
. "$(dirname "$0")/daemon.sh"
needs jq
models_make

start
printf '%s' '{"period":"1s","neuron_runtimes":[{"address":"unix:'"$socket"'","metrics":[{"type":"execution_stats"}]}]}' >monitor.json
neuron-monitor -c monitor.json >reports.jsonl 2>agent.log &
monitor=$!
pids+=("$monitor")
wait_for has_reports reports.jsonl
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model >client.log || fail "see client.log and rtd.log"

# One figure has one value: the client's inferences, the daemon's counter, the monitor's reports.
counted=$(sed -n 's/^rtd.py: completed //p' client.log)
everything_is_reported() { [ "$(completed_in_reports reports.jsonl)" = "$counted" ] && echo yes; }
wait_for everything_is_reported
jq -es --arg address "unix:$socket" '[.[].neuron_runtime_data[]] | length > 0 and
    all(.pid == 0 and .address == $address and .neuron_runtime_tag == $address)' reports.jsonl >/dev/null || fail "the daemon is not shown by its address"
# Reports tell what a client does with a model that they have seen.
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model reported >client.log || fail "see client.log"
kill "$monitor"
wait "$monitor" || true

# A second daemon leaves the first alone.
code=0
neuron-rtd -g "$socket" 2>second.log || code=$?
[ $code = 1 ] || fail "a second daemon ended with $code"
grep -q 'is in use: another daemon responds there' second.log || fail "a second daemon"
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model groups >client.log || fail "see client.log"

# Ended by its service manager it is gone, with its segment; a killed one leaves a socket that the next one replaces.
kill "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"
[ ! -e "$socket" ] || fail "the socket is left"
start
kill -9 "$rtd"
wait "$rtd" || true
start
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model states >client.log || fail "see client.log"
kill "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"

# Without cores it stays, and says why.
NEURON_SOFT_INSTANCE=none start
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model no_cores >client.log || fail "see client.log"
kill "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"
