#!/bin/bash
# counters - figures that neuron-rtd gives its clients are what they did, and what monitors say.
. "$(dirname "$0")/daemon.sh"
needs jq
mkdir model
neuron-packager example memcpy --size 64 -o model/model.neff
neuron-packager example mlp --size 128 --dtype float32 -o model/mlp.neff
# What core 4 has after the first eleven is slow, so that its queue is full when the client fills it.
export NEURON_SOFT_FAULT='mem-ecc-corrected:every=5,core=0,amount=3;pause:from=12,core=4,time=500ms'
start
printf '%s' '{"period":"1s","neuron_runtimes":[{"address":"unix:'"$socket"'","metrics":[{"type":"execution_stats"}]}]}' >monitor.json
neuron-monitor -c monitor.json >reports.jsonl 2>agent.log &
monitor=$!
pids+=("$monitor")
wait_for has_reports reports.jsonl
"$python" "$(dirname "$0")/counters.py" "unix:$socket" generated model >client.log || fail "see client.log and rtd.log"
counted=$(sed -n 's/^counters.py: completed //p' client.log)
everything_is_reported() { [ "$(completed_in_reports reports.jsonl)" = "$counted" ] && echo yes; }
wait_for everything_is_reported
kill "$monitor" "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"
