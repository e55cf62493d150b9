#!/bin/bash
# passwords - addresses that contain a password: no program prints it after any failure.
. "$(dirname "$0")/../e2e/lib.sh"
A=http://someone:hunter2@127.0.0.1:9
sample() { # COMMAND...: exits by itself, and none of its output contains the password
    local code=0
    timeout "$patience" "$@" </dev/null >out 2>err || code=$?
    [ $code != 124 ] || fail "$*: does not end"
    [ -s out ] || [ -s err ] || fail "$*: expected a message, found none"
    ! grep -q hunter2 out err || fail "$*: shows the password"
}
for command in health hang "slow --for 100ms"; do
    for address in "$A" someone:hunter2@127.0.0.1:9 "ftp://someone:hunter2@a" "http://someone:hun/hunter2@127.0.0.1:9" "$A/?token=hunter2"; do
        sample neuron-monitor $command "$address"
    done
    sample neuron-monitor $command --json "$A"
done
sample neuron-monitor hang "$A" "$A"
sample neuron-top --once --connect "$A"
sample neuron-top --once --connect "$A" --connect "http://someone:hunter2@127.0.0.1:10"
sample neuron-top --once --json --connect "$A" --connect "http://someone:hunter2@127.0.0.1:10"
sample neuron-top --once --connect "ftp://someone:hunter2@a"
sample neuron-profile trigger --host "$A" --job none
sample neuron-profile trigger --host "$A" --job none --json
for option in otlp remote-write k8s-api archive-endpoint-url; do
    sample neuron-monitor --once "--$option=ftp://someone:hunter2@a b"
done
# Outputs without a receiver.
AWS_REGION=x AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b neuron-monitor --quiet --no-imds --period 100ms --verbose 1 --otlp="$A" \
    --remote-write "$A" --http 127.0.0.1:0 2>log &
tried() { grep -q 'remote write: .*retrying' log && grep -q 'otlp: .*retrying' log && echo yes; }
wait_for tried
curl -s "http://127.0.0.1:$(sed -n 's/.*listening on port //p' log)/metrics" >page
[ -s page ] || fail "cannot get the page"
! grep hunter2 log page || fail "an output shows the password"
