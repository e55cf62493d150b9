# daemon.sh - what test scripts of neuron-rtd share; sourced first. $python has gRPC, $socket is where start() has the
# daemon listen, and the folder "generated" has the messages of its definition for Python.
. "$(dirname "$0")/../../e2e/lib.sh"
needs protoc
needs_python grpc
export NEURON_SOFT_INSTANCE=inf1.6xlarge
socket=$scratch/neuron.sock

start() { # [OPTION]...: and waits until it listens
    : >rtd.log # of the one before, which would speak for this one
    neuron-rtd -x -g "$socket" "$@" 2>rtd.log &
    rtd=$!
    pids+=("$rtd")
    listens() { grep -q 'Server listening on unix:' rtd.log && echo yes; }
    wait_for listens
}

mkdir generated
(cd "$NTK_SOURCE_DIR/shared/rpc/proto" && find . -name '*.proto' -printf '%P\n') |
    xargs protoc -I"$NTK_SOURCE_DIR/shared/rpc/proto" --python_out=generated

models_make() { # what rtd.py loads, in the folder "model"
    mkdir model
    neuron-packager example memcpy --size 64 -o model/model.neff
    neuron-packager example two-node-core --dtype float32 -o model/turns.neff
    neuron-packager example memcpy --size 65536 -o model/large.neff
    "$python" -c 'import sys; sys.stdout.buffer.write(bytes(i * 7 % 120 for i in range(128 * 64 * 4)))' | tee model/in.in.bin >model/out.out.bin
}
