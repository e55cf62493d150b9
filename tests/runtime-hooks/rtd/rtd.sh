#!/bin/bash
# rtd - neuron-rtd as its clients, its monitors and its service manager meet it.
. "$(dirname "$0")/../../e2e/lib.sh"
needs jq protoc
# The distribution's, for which packages are; another one may come first in the path.
python=$(for each in /usr/bin/python3 python3; do "$each" -c 'import grpc' 2>/dev/null && echo "$each" && break; done) || exit 77
export NEURON_SOFT_INSTANCE=inf1.6xlarge
socket=$scratch/neuron.sock

start() { # and waits until it listens
    neuron-rtd -g "$socket" 2>rtd.log &
    rtd=$!
    pids+=("$rtd")
    listens() { grep -q 'Server listening on unix:' rtd.log && echo yes; }
    wait_for listens
}

# What its definition says and what goes through it, by the messages that protoc makes of ours for Python.
mkdir generated model
protoc -I"$NTK_SOURCE_DIR/shared/rpc/proto" --python_out=generated nmgr.proto
neuron-packager example memcpy --size 64 -o model/model.neff
"$python" -c 'import sys; sys.stdout.buffer.write(bytes(i * 7 % 120 for i in range(128 * 64 * 4)))' | tee model/in.in.bin >model/out.out.bin

start
printf '%s' '{"period":"1s","neuron_runtimes":[{"address":"unix:'"$socket"'","metrics":[{"type":"execution_stats"}]}]}' >monitor.json
neuron-monitor -c monitor.json >reports.jsonl 2>agent.log &
monitor=$!
pids+=("$monitor")
wait_for has_reports reports.jsonl
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model >client.log || fail "$(tail -1 client.log; tail -3 rtd.log)"

# One figure has one value: the client's inferences, the daemon's counter, the monitor's reports.
counted=$(sed -n 's/^rtd.py: completed //p' client.log)
everything_is_reported() { [ "$(completed_in_reports reports.jsonl)" = "$counted" ] && echo yes; }
wait_for everything_is_reported
jq -es --arg address "unix:$socket" '[.[].neuron_runtime_data[]] | length > 0 and
    all(.pid == 0 and .address == $address and .neuron_runtime_tag == $address)' reports.jsonl >/dev/null || fail "the daemon is not told by its address"
kill "$monitor"
wait "$monitor" || true

# A second daemon leaves the first alone.
code=0
neuron-rtd -g "$socket" 2>second.log || code=$?
[ $code = 1 ] || fail "a second daemon ended with $code"
grep -q 'is in use: another daemon answers there' second.log || fail "a second daemon said: $(cat second.log)"
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model groups >client.log || fail "$(cat client.log)"

# Ended by its service manager it is gone, with its segment; a killed one leaves a socket that the next one replaces.
kill "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"
[ ! -e "$socket" ] || fail "the socket is left"
start
kill -9 "$rtd"
wait "$rtd" || true
start
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model states >client.log || fail "$(cat client.log)"
kill "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"

# Without cores it stays, and says why.
NEURON_SOFT_INSTANCE=none start
"$python" "$(dirname "$0")/rtd.py" "unix:$socket" generated model no_cores >client.log || fail "$(cat client.log)"
kill "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"
