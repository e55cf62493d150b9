#!/bin/bash
# wire.sh SCRIPT... - neuron-rtd below gRPC: vectors of its definition byte for byte, clients unlike any framework,
# and clients that are killed. Starts one daemon for each script.
. "$(dirname "$0")/../../e2e/lib.sh"
needs_python h2
export NEURON_SOFT_INSTANCE=inf1.6xlarge NEURON_SOFT_PACE=1
here=$(cd "$(dirname "$0")" && pwd)
socket=$scratch/neuron.sock
mkdir neffs
"$NTK_BUILD_DIR/tests/rtd_neffs" neffs

for script in "$@"; do
    # While the address sanitizer quarantines freed memory, it counts as memory of the daemon.
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 \
        neuron-rtd -x -g "$socket" --neff-max 8 2>rtd.log &
    rtd=$!
    listens() { grep -q 'Server listening on unix:' rtd.log && echo yes; }
    wait_for listens
    "$python" -B "$here/$script.py" "$socket" neffs "$rtd" >client.log 2>&1 || fail "see client.log and rtd.log"
    cat client.log
    kill "$rtd"
    wait "$rtd" || fail "$script: SIGTERM: unexpected exit code $?"
done
