# daemon.sh - common functions of the test scripts of neuron-rtd; sourced first. $python has gRPC, $socket is the
# address at which start() lets the daemon listen, and the folder "generated" has the messages of its definition for
# Python.
. "$(dirname "$0")/../../e2e/lib.sh"
needs protoc
needs_python grpc
export NEURON_SOFT_INSTANCE=inf1.6xlarge
socket=$scratch/neuron.sock

start() { # [OPTION]...: starts the daemon and waits until it listens
    : >rtd.log # the earlier daemon's line, which would count for this one
    neuron-rtd -x -g "$socket" "$@" 2>rtd.log &
    rtd=$!
    listens() { grep -q 'Server listening on unix:' rtd.log && echo yes; }
    wait_for listens
}

mkdir generated
(cd "$NTK_SOURCE_DIR/shared/rpc/proto" && find . -name '*.proto' -printf '%P\n') |
    xargs protoc -I"$NTK_SOURCE_DIR/shared/rpc/proto" --python_out=generated

models_make() { # models that rtd.py loads, in the folder "model"
    mkdir model
    neuron-packager example memcpy --size 64 -o model/model.neff
    neuron-packager example two-node-core --dtype float32 -o model/turns.neff
    neuron-packager example memcpy --size 65536 -o model/large.neff
    "$python" -c 'import sys; sys.stdout.buffer.write(bytes(i * 7 % 120 for i in range(128 * 64 * 4)))' | tee model/in.in.bin >model/out.out.bin
}

# monitor [OPTION]...: starts a monitor that reads the daemon by its address, and waits until it reports; reports are
# in reports.jsonl. They do not include what a client did before.
monitor() {
    printf '%s' '{"period":"1s","neuron_runtimes":[{"address":"unix:'"$socket"'","metrics":[{"type":"execution_stats"}]}]}' >monitor.json
    rm -f reports.jsonl # of the previous monitor
    neuron-monitor -c monitor.json "$@" >reports.jsonl 2>agent.log &
    monitor=$!
    wait_for has_reports reports.jsonl
}

# client NAME ARGUMENT...: runs NAME.py against the daemon, with the messages, to its end.
client() { "$python" "$(dirname "$0")/$1.py" "unix:$socket" generated "${@:2}" >client.log 2>&1 || fail "see client.log and rtd.log"; }

# counts NAME: the client NAME.py counted $counted inferences, and the reports have all of them.
counts() {
    counted=$(sed -n "s/^$1.py: completed //p" client.log)
    wait_for everything_is_reported
}
everything_is_reported() { [ "$(completed_in_reports reports.jsonl)" = "$counted" ] && echo yes; }

stop() { # stops the daemon as its service manager does
    kill "$rtd"
    wait "$rtd" || fail "SIGTERM: unexpected exit code $?"
}
