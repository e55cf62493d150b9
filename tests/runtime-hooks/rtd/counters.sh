#!/bin/bash
# counters - figures that neuron-rtd returns to its clients equal what the clients did, and what monitors report.
. "$(dirname "$0")/daemon.sh"
needs jq
mkdir model
neuron-packager example memcpy --size 64 -o model/model.neff
neuron-packager example mlp --size 128 --dtype float32 -o model/mlp.neff
# Everything on core 4 after the first eleven executions is slow, so that its queue is full when the client fills it.
export NEURON_SOFT_FAULT='mem-ecc-corrected:every=5,core=0,amount=3;pause:from=12,core=4,time=500ms'
start
monitor
client counters model
counts counters
kill "$monitor"
stop
