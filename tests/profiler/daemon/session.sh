#!/bin/bash
# session - a model of the runtime daemon is recorded as a framework does it: start-session, inferences,
# stop-session, show-session.
. "$(dirname "$0")/../../runtime-hooks/rtd/daemon.sh"
needs jq
start
unset NEURON_RTD_ADDRESS
# Only the helper program of these two commands loads gRPC, so all other commands start in two thirds of the time.
! ldd "$NTK_BIN_DIR/neuron-profile" | grep grpc || fail "neuron-profile loads gRPC"
neuron-packager example memcpy --size 64 -o model.neff
model=$(neuron-cli -a "$socket" load model.neff --json | jq .model_id)
infer() { # COUNT
    "$python" - "$socket" "$model" "$1" <<'END'
import sys
sys.path.insert(0, 'generated')
import grpc, nmgr_pb2 as pb
infer = grpc.insecure_channel(f'unix:{sys.argv[1]}').unary_unary(
    '/nrt.nmgr_v1/infer', pb.infer_request.SerializeToString, pb.infer_response.FromString)
for _ in range(int(sys.argv[3])):
    answer = infer(pb.infer_request(h_nn=pb.h_nn(id=int(sys.argv[2])), ifmap=[pb.infer_io(name='in', buf=bytes(32768))]))
    assert answer.status.code == 0, answer
END
}
# profile CODE TEXT ARGUMENT...: checks its exit code, and a line on either stream.
profile() {
    local code=0
    neuron-profile "${@:3}" >out 2>err || code=$?
    [ $code = "$1" ] || fail "${*:3}: unexpected exit code $code"
    [ -z "$2" ] || grep -qF -- "$2" out err || fail "${*:3}: unexpected output"
}

# Names of operations become file names, with + for /; the program that stops a session receives only the file name.
mkdir captures
file="captures/net+layer one-$model-0.ntff"
profile 0 '' start-session -s "$file" -a "$socket" "$model"
[ "$(cat "$file.session")" = "unix:$socket" ] && [ ! -e "$file" ] || fail "unexpected files after the start: $(ls captures)"
infer 1
profile 0 "$file" stop-session -s "$file"
[ -s "$file" ] && [ ! -e "$file.session" ] || fail "unexpected files after the stop: $(ls captures)"
profile 0 '' show-session -s "$file"
profile 0 '' show-session -s "$file" -j -n model.neff
jq -e '[.. | .TraceCount? // empty] | add > 0' out >/dev/null || fail "the capture is empty"
profile 0 'total_time' view -s "$file" -n model.neff --output-format summary-text

# From another folder, with its address in the environment; the existing file is replaced.
cp "$file" before
(
    cd captures
    NEURON_RTD_ADDRESS=$socket profile 0 '' start-session "-s$(basename "$file")" "$model"
    infer 2
    cd /
    profile 0 '' stop-session -s "$scratch/$file"
) || exit 1
! cmp -s before "$file" || fail "the second capture is the first one"

# Two files of a model at once are rejected, and so is one file twice; the first recording continues.
profile 0 '' start-session -s first.ntff -a "$socket" "$model"
profile 1 "cannot record model $model: NERR_INVALID (2): a capture of model $model to $scratch/first.ntff is already running" \
    start-session -s second.ntff -a "$socket" "$model"
profile 1 "cannot record model $model: NERR_INVALID (2): a capture is already being written to $scratch/first.ntff" \
    start-session -s ./first.ntff -a "$socket" "$model"
[ -e first.ntff.session ] && [ ! -e second.ntff.session ] || fail "expected only the note of the first session: $(ls ./*.session)"
infer 1
profile 0 '' stop-session -s first.ntff
profile 0 '' show-session -s first.ntff

# Missing objects.
profile 1 'cannot record model 7: NERR_INVALID_HANDLE (3): Failed to find model: 7' start-session -s x.ntff -a "$socket" 7
[ ! -e x.ntff.session ] || fail "a note was not removed"
profile 1 "cannot stop the capture: NERR_INVALID_HANDLE (3): no capture is being written to $scratch/x.ntff" stop-session -s x.ntff -a "$socket"
profile 1 'no daemon responds at unix:/nowhere: No such file or directory' start-session -s x.ntff -a /nowhere "$model"
profile 1 'no/folder/x.ntff: No such file or directory' start-session -s no/folder/x.ntff -a "$socket" "$model"
profile 1 'does not name a file' start-session -s captures/ -a "$socket" "$model"
: >x.ntff.session
profile 1 'x.ntff.session contains no address' stop-session -s x.ntff
head -c 5000 /dev/zero | tr '\0' x >x.ntff.session
profile 1 'x.ntff.session' stop-session -s x.ntff
printf '\033[2J' >x.ntff.session
profile 1 'no daemon responds at unix:?[2J' stop-session -s x.ntff
profile 2 'missing argument MODEL-ID' start-session -s x.ntff
profile 2 "invalid model number 'one'" start-session -s x.ntff one
profile 2 "unexpected argument '2'" start-session -s x.ntff 1 2
profile 2 'no capture: use -s FILE' start-session 1
profile 2 'no capture: use -s FILE' stop-session

# If the note cannot be written, nothing keeps recording.
if [ "$(id -u)" != 0 ]; then
    chmod -w captures
    profile 1 '' start-session -s captures/y.ntff -a "$socket" "$model"
    chmod +w captures
else
    mkdir captures/y.ntff.session
    profile 1 '' start-session -s captures/y.ntff -a "$socket" "$model"
fi
profile 0 '' start-session -s z.ntff -a "$socket" "$model"
profile 0 '' stop-session -s z.ntff
# After the daemon exits, the note remains for the next daemon.
profile 0 '' start-session -s z.ntff -a "$socket" "$model"
kill "$rtd"
wait "$rtd" || fail "SIGTERM: unexpected exit code $?"
profile 1 "no daemon responds at unix:$socket" stop-session -s z.ntff
[ -e z.ntff.session ] || fail "the note is missing"
