#!/bin/bash
# rtd - neuron-rtd as its clients, its monitors and its service manager see it.
. "$(dirname "$0")/daemon.sh"
needs jq
models_make

start
monitor
client rtd model
counts rtd
jq -es --arg address "unix:$socket" '[.[].neuron_runtime_data[]] | length > 0 and
    all(.pid == 0 and .address == $address and .neuron_runtime_tag == $address)' reports.jsonl >/dev/null || fail "the daemon is not shown by its address"
# Reports show what a client does with a model that they have seen.
client rtd model reports_contain_a_loaded_model
kill "$monitor"
wait "$monitor" || true

# A second daemon does not disturb the first.
code=0
neuron-rtd -g "$socket" 2>second.log || code=$?
[ $code = 1 ] || fail "a second daemon exited with $code"
grep -q 'is in use: another daemon responds there' second.log || fail "no message about another daemon"
client rtd model groups_are_placed_on_free_cores

# Stopped by its service manager, it removes its segment; a killed one leaves a socket that the next one replaces.
stop
[ ! -e "$socket" ] || fail "the socket was not removed"
start
kill -9 "$rtd"
wait "$rtd" || true
start
client rtd model model_states_allow_only_valid_calls
stop

# Without cores it continues to run and reports the reason.
NEURON_SOFT_INSTANCE=none start
client rtd model every_call_fails_without_cores
stop
