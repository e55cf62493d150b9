#!/bin/bash
# secrets - a program that was given keys, tokens or passwords leaves no core file that contains them.
. "$(dirname "$0")/../e2e/lib.sh"
ulimit -Sc "$(ulimit -Hc)"
[ "$(ulimit -Sc)" != 0 ] || skip "core files are off on this machine"
mkfifo reports
exec 9<>reports
echo 0123456789abcdef0123456789abcdef >token
chmod 600 token
core_of() { awk '/^Max core file size/ { print ($5 == "unlimited" || $5 > 1) ? "has" : "none" }' "/proc/$1/limits"; }
has_none() { [ "$(core_of "$1")" = none ] && echo yes; }
check() { # PROGRAM ARGUMENT...: leaves it running
    "$@" <reports >/dev/null 2>"$1.err" 9>&- &
    wait_for has_none $!
}
sleep 600 &
[ "$(core_of $!)" = has ] || fail "this test sees no core files"
check neuron-monitor-prometheus --port 0 --address 127.0.0.1
check neuron-monitor-otlp --endpoint http://127.0.0.1:1 --headers "authorization=Bearer x"
check neuron-monitor-cloudwatch --dry-run --region us-east-1
check neuron-monitor --no-imds --quiet --verbose 1 --http 127.0.0.1:0 --http-token-file token
serves() { grep -q 'listening on port' neuron-monitor.err && echo yes; }
wait_for serves
check neuron-top --batch --connect "http://127.0.0.1:$(sed -n 's/.*listening on port //p' neuron-monitor.err)" --token-file token
