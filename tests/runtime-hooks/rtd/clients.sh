#!/bin/bash
# clients - neuron-rtd with gRPC clients not based on the C core: those of node.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs_npm grpc-js-reflection-client
export NEURON_SOFT_INSTANCE=inf1.6xlarge
neuron-packager example memcpy --size 64 -o model.neff
neuron-rtd -x -g "$scratch/neuron.sock" 2>rtd.log &
rtd=$!
listens() { grep -q 'Server listening on unix:' rtd.log && echo yes; }
wait_for listens
node "$NTK_SOURCE_DIR/tests/runtime-hooks/rtd/clients.mjs" "$tools" "unix:$scratch/neuron.sock" model.neff >out 2>err || fail "see err"
grep -q '^all$' out || fail "the client did not finish all calls"
kill "$rtd"
wait "$rtd" || fail "SIGTERM: unexpected exit code $?"
