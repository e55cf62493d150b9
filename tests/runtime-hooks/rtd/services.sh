#!/bin/bash
# services - the services of neuron-rtd in addition to the methods of nmgr_v1.
. "$(dirname "$0")/daemon.sh"
needs jq
export TMPDIR=$scratch/tmp
mkdir model "$TMPDIR"
neuron-packager example memcpy --size 64 -o model/model.neff
neuron-packager example mlp --size 128 --dtype float32 -o model/mlp.neff
neuron-packager info model/model.neff | sed -nE 's/^UUID: *(.{8})(.{4})(.{4})(.{4})(.{12})$/\1-\2-\3-\4-\5/p' >model/uuid
start
client services model

# The file that a client was given is a capture of that model.
neuron-profile view -n model/model.neff -s model/capture.ntff --output-format summary-json >summary.json || fail "no capture: $(head -c 200 summary.json)"
jq -e '[.. | numbers] | length > 10' summary.json >/dev/null || fail "the capture is empty: $(cat summary.json)"

# A watcher is notified before the end, if the daemon gets a processor within the half second that it has for this.
serves() { grep -q '^SERVING$' watching 2>/dev/null && echo yes; }
end=$((SECONDS + patience))
while :; do
    "$python" "$(dirname "$0")/services.py" "unix:$socket" generated model watch_health_until_the_daemon_exits >/dev/null &
    watcher=$!
    wait_for serves
    stop
    wait "$watcher" || fail "the watcher failed: $(cat watching)"
    [[ $(head -2 watching | tr '\n' ' ') != "SERVING NOT_SERVING " ]] || break
    [ $SECONDS -lt $end ] || fail "unexpected states of the watcher: $(cat watching)"
    rm watching
    start
done
[ -z "$(ls "$TMPDIR")" ] || fail "leftover files of captures: $(ls "$TMPDIR"/*)"

NEURON_SOFT_INSTANCE=none start
client services model the_health_service_reports_not_serving
stop
