#!/bin/bash
# operator - neuron-rtd from its operator's view: devices, files, several daemons, log lines, start and end.
. "$(dirname "$0")/daemon.sh"
models_make
client() { "$python" "$(dirname "$0")/rtd.py" "unix:$scratch/$1" generated model "${@:2}" || fail "the client of $1 failed: ${*:2}"; }

# begin NAME OPTION...: starts a daemon and waits until it listens at NAME; its output is in NAME.log, its pid in
# ${rtd[NAME]}.
declare -A rtd
begin() {
    : >"$1.log" # the earlier daemon's line, which would count for this one
    neuron-rtd -x -g "$scratch/$1" "${@:2}" 2>"$1.log" &
    rtd[$1]=$!
    listens() { grep -q 'Server listening on unix:' "$1.log" && echo yes; }
    wait_for listens "$1"
}
end() { # NAME
    local code=0
    kill "${rtd[$1]}"
    wait "${rtd[$1]}" || code=$?
    [ $code = 0 ] || fail "$1: SIGTERM: unexpected exit code $code"
    [ ! -e "$1" ] || fail "$1 was not removed"
}
# says FILE LINE...: the file has these lines in this order, with any lines in between.
says() {
    local file=$1 line
    shift
    for line; do printf '%s\n' "$line"; done >wanted
    sed -n 's/^nrtd\[[0-9]*\]: //p' "$file" | awk 'BEGIN { getline wanted <"wanted" }
        $0 == wanted { if ((getline wanted <"wanted") <= 0) { found = 1; exit } }
        END { if (!found) { print "not said: " wanted; exit 1 } }' || fail "unexpected output: $(cat "$file")"
}
# refused CODE SENTENCE OPTION...
refused() {
    local code=0
    neuron-rtd -g "$scratch/refused" "${@:3}" >refused.log 2>&1 || code=$?
    [ $code = "$1" ] || fail "${*:3}: unexpected exit code $code"
    grep -qF -- "$2" refused.log || fail "${*:3}: unexpected output"
}

# One daemon for all devices logs what it does.
begin all
says all.log '[NRTD:nrtd_main] nrtd build using:1.6.24.0' '[NRTD:ParseArguments] Using all the BDFs in the infa_map.json!' \
    '[TDRV:reset_mla] Resetting 0000:10:1c.0' '[TDRV:reset_mla] Resetting 0000:10:1f.0' \
    '[TDRV:tdrv_init_one_mla_phase2] Initialized Inferentia: 0000:10:1c.0' \
    '[TDRV:tdrv_init_one_mla_phase2] Initialized Inferentia: 0000:10:1f.0' "[NRTD:RunServer] Server listening on unix:$scratch/all"
client all groups_are_placed_on_free_cores model_states_allow_only_valid_calls
says all.log '[NMGR:kmgr_start_nn] Started NN: 10001'
says all.log '[TDRV:io_queue_prepare_input_nonhugetlb] Unexpected input size, for in, expected: 32768, received: 32767'
client all a_nan_input_is_a_numerical_error
says all.log '[TDRV:exec_process_errors] Error notifications found on NC 0: INFER_ERROR_SUBTYPE_NUMERICAL'
# Another daemon finds them in use, retries, keeps running, and reports the error to every client.
begin busy
says busy.log "neuron:ncdev_device_init: device inuse by pid:${rtd[all]}" '[TDRV:tdrv_init_mla_phase1] Could not open the device index:0' \
    '[TDRV:tdrv_destroy] TDRV not initialized' '[NRTD:InitTongas] Failed to initialize devices, error:2' \
    '[NRTD:nrtd_main] Failed to initialize devices: 0000:10:1c.0 0000:10:1d.0 0000:10:1e.0 0000:10:1f.0, attempt: 1' \
    '[NRTD:nrtd_main] Failed to initialize devices: 0000:10:1c.0 0000:10:1d.0 0000:10:1e.0 0000:10:1f.0, attempt: 3' \
    "startup: device 0 (0000:10:1c.0) is in use by process ${rtd[all]}: every call is answered with NERR_HW_ERROR"
! grep -q 'attempt: 4' busy.log || fail "the daemon made a fourth attempt"
client busy every_call_fails_without_cores
end busy
client all groups_are_placed_on_free_cores
end all
says all.log '[NRTD:sig_act] SIG: 15'

# Daemons side by side have their own devices; the work and death of one do not affect the others.
printf '{"name": "one", "server_port": "unix:%s/one", "devices": [1]}' "$scratch" >one.json
begin two -t 0000:10:1e.0 -t 10:1f.0
begin zero -t 10:1c.0
neuron-rtd -x -l 7 -i "$scratch/one" 2>one.log &
rtd[one]=$!
wait_for listens one
grep -qF 'Initialized Inferentia: 0000:10:1d.0' one.log || fail "see one.log"
client one model_states_allow_only_valid_calls
grep -q 'methods: /nrt.nmgr_v1/start' one.log || fail "level 7 does not log calls"
# Clients that count cores over gRPC see each daemon's: 4, 4 and 8.
"$python" - generated "$scratch" <<'END' || fail "unexpected cores"
import sys
sys.path.insert(0, sys.argv[1])
import grpc, nmgr_pb2 as pb
for name, devices in (('zero', 1), ('one', 1), ('two', 2)):
    stub = grpc.insecure_channel(f'unix:{sys.argv[2]}/{name}').unary_unary(
        '/nrt.nmgr_v1/list_egs', pb.empty.SerializeToString, pb.out_list_egs.FromString)
    got = stub(pb.empty())
    assert (got.mla_count, got.nc_count) == (devices, 4 * devices), (name, got)
END
kill -9 "${rtd[zero]}"
wait "${rtd[zero]}" || true
client two model_states_allow_only_valid_calls
client one model_states_allow_only_valid_calls
begin zero -t 10:1c.0 # and over its stale socket
client zero model_states_allow_only_valid_calls
end one
end zero

# Lines go to the syslog service, and to the console only on request; tested in a private /dev, as root.
if unshare -m true 2>/dev/null; then
    mkdir dev
    patience=$patience unshare -m bash -euc '
        await() { # COMMAND...
            for ((i = 0; i < 20 * patience; i++)); do ! "$@" || return 0; sleep 0.05; done
            echo "timed out after $patience s, waiting for: $*" >&2
            exit 1
        }
        mount -t tmpfs dev dev
        for file in null zero random urandom; do touch dev/$file; mount --bind /dev/$file dev/$file; done
        mkdir dev/shm
        mount --rbind /dev/shm dev/shm
        mount --rbind dev /dev
        '"$python"' -c "
import socket
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(\"/dev/log\")
open(\"hears\", \"w\")
with open(\"syslog\", \"wb\", buffering=0) as file:
    while True:
        file.write(heard.recv(4096) + b\"\\n\")" & hears=$!
        await [ -e hears ]
        neuron-rtd -g "$PWD/quiet" -t 10:1c.0 2>quiet.log & quiet=$!
        await grep -q "Server listening" syslog
        kill $quiet; wait $quiet
        code=0; neuron-rtd -g "$PWD/no/folder" -t 10:1c.0 2>ends.log || code=$?
        [ $code = 1 ]
        kill $hears' 2>unshare.err || fail "unexpected result for syslog: $(cat syslog)"
    [ ! -s quiet.log ] || fail "without -x the console has lines"
    grep -q 'rtd: cannot listen on' ends.log || fail "the last messages are not on the console"
    grep -qE '^<30>[A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} nrtd\[[0-9]+\]: \[NRTD:RunServer\] Server listening on unix:' syslog ||
        fail "unexpected output: $(cat syslog)"
    grep -q '\[NRTD:sig_act\] SIG: 15$' syslog || fail "unexpected output: $(cat syslog)"
fi
end two

# The daemon notifies its service manager when it listens and when it exits.
"$python" -c '
import socket
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind("manager")
open("notified", "w")
with open("notified", "a", buffering=1) as file:
    while True:
        file.write(heard.recv(4096).decode())' &
bound() { [ -e notified ] && echo yes; }
wait_for bound
NOTIFY_SOCKET=$scratch/manager begin notify
is_notified() { grep -qx "$1" notified && echo yes; }
wait_for is_notified READY=1
wait_for is_notified "STATUS=Server listening on unix:$scratch/notify"
end notify
wait_for is_notified STOPPING=1

# A long execution does not delay the exit: the client's model waits one minute for a core that
# hangs.
NEURON_SOFT_FAULT=hang:at=1 NEURON_SOFT_PACE=1 begin hangs
client hangs start_an_endless_inference
end hangs
neuron-packager example memcpy --size 1 -o model/small.neff
NEURON_SOFT_FAULT=pause:at=30,time=60s begin brief
client brief others_are_answered_while_a_brief_model_hangs
end brief
for one in hangs brief; do
    grep -q 'executions or releases of device memory are still in progress after 4 s: exiting' $one.log ||
        fail "$one: no message about executions in progress"
done

# The configuration: an option takes precedence; unknown keys and keys without effect are reported.
printf '{"init_config": {"drop_all_capabilities": true, "num_hugepages_per_device": 128, "x": 1},
    "model_cache_count": 3, "model_config": {"ninfer": 1}}' >config.json
NEURON_SOFT_FAULT=hang:at=1 NEURON_SOFT_PACE=1 begin config -c "$scratch/config.json"
grep -q 'ignoring unknown keys in the configuration: init_config.x' config.log || fail "see config.log"
grep -q 'num_hugepages_per_device has no effect' config.log || fail "see config.log"
grep -q 'model_cache_count has no effect' config.log || fail "see config.log"
! grep -v '0000000000000000' /proc/"${rtd[config]}"/task/*/status | grep -E 'Cap(Eff|Prm|Inh|Bnd):' ||
    [ "$(id -u)" != 0 ] || fail "it keeps capabilities"
"$python" - generated "$scratch" <<'END' || fail "unexpected ninfer"
import sys
sys.path.insert(0, sys.argv[1])
import grpc, nmgr_pb2 as pb
channel = grpc.insecure_channel(f'unix:{sys.argv[2]}/config')
def call(name, request, reply):
    return channel.unary_unary(f'/nrt.nmgr_v1/{name}', lambda m: m.SerializeToString(), reply.FromString)(request)
load = channel.stream_unary('/nrt.nmgr_v1/load', pb.load_request.SerializeToString, pb.load_response.FromString)
neff = open(f'{sys.argv[2]}/model/model.neff', 'rb').read()
model = load(iter([pb.load_request(neff_size=len(neff)), pb.load_request(neff_chunk=pb.file_chunk(chunk=neff)),
                   pb.load_request(model_params=pb.model_params(timeout=pb.u32(data=60)))])).h_nn
inputs = [pb.infer_io(name='in', buf=bytes(128 * 64 * 4))]
posted = [call('infer_post', pb.infer_request(h_nn=model, ifmap=inputs), pb.infer_post_response).status.code for _ in range(2)]
assert posted == [0, 7], posted
END
end config
begin config -c "$scratch/config.json" --ninfer 3
end config

# Other forms of an address: a port, which no other process gets, and a name in the working folder.
port=$(free_ports 1)
neuron-rtd -x -g 127.0.0.1:$port -t 10:1c.0 2>port.log &
rtd[port]=$!
listens_at() { grep -qF "Server listening on $1" "$2.log" && echo yes; }
wait_for listens_at 127.0.0.1:$port port
code=0
neuron-rtd -x -g 127.0.0.1:$port -t 10:1d.0 2>taken.log || code=$?
[ $code = 1 ] && grep -q "cannot listen on '127.0.0.1:$port': Address already in use" taken.log || fail "a port in use: unexpected exit code $code"
neuron-rtd -x -g here.sock -t 10:1d.0 2>here.log &
rtd[here.sock]=$!
wait_for listens_at unix:here.sock here
[ -S here.sock ] || fail "here.sock is missing"
kill "${rtd[here.sock]}"
wait "${rtd[here.sock]}" || fail "SIGTERM: unexpected exit code $?"
# Stopped while it is still trying to get its devices.
neuron-rtd -x -g "$scratch/early" 2>early.log &
early=$!
tries() { grep -q 'attempt: 1' early.log && echo yes; }
wait_for tries
kill "$early"
wait "$early" || fail "SIGTERM between attempts: unexpected exit code $?"
kill "${rtd[port]}"
wait "${rtd[port]}" || fail "SIGTERM: unexpected exit code $?"

refused 2 'between 0 (0000:10:1c.0) and 2 (0000:10:1e.0), device 1 is missing' -t 10:1c.0 -t 10:1e.0
refused 2 'duplicate device 3 (0000:10:1f.0)' -t 10:1f.0 -t 0000:10:1f.0
refused 2 "'1c': not a PCI address" -t 1c
refused 2 '--log-level must be between 3 and 7' -l 2
refused 2 "option '-c' requires a value" -c
refused 1 'there.json' -i ./there
refused 1 "there.json': No such file" -i ./there.json
# One message states the fault of an address, and gRPC prints no message.
unheard() { # SENTENCE ADDRESS
    refused 1 "$1" -g "$2"
    ! grep -q '\.cc:' refused.log || fail "$2: unexpected output"
}
unheard 'unix:: missing path' unix:
unheard "cannot listen on 'unix:$scratch': path exists and is a folder" "$scratch"
unheard "cannot listen on 'unix:$scratch/gone/s': No such file or directory" "$scratch/gone/s"
unheard 'cannot listen on '\''127.0.0.1:x'\'': Servname not supported' 127.0.0.1:x
refused 1 'no-config' -c no-config
printf '{"devices": [0, 2]}' >gap.json
refused 2 'device 1 is missing' -i ./gap
printf '{"model_config":\n{"timeout": "2"}}' >wrong
refused 1 'wrong: line 2: model_config.timeout: expected an integer' -c wrong
[ ! -e refused ] || fail "a daemon that failed to start listened"

# An empty list of devices, and devices that the machine lacks: no cores, but the daemon answers.
printf '{"devices": []}' >none.json
begin none -i ./none
says none.log '[NMGR:kmgr_init_mlas] No devices specified' '[NRTD:InitTongas] Failed to initialize devices, error:2' \
    '[NRTD:nrtd_main] Failed to initialize devices: , attempt: 1' '[NRTD:nrtd_main] Failed to initialize devices: , attempt: 3'
client none every_call_fails_without_cores
end none
printf '{"devices": [4]}' >absent.json
begin absent -i ./absent
says absent.log '[TDRV:tdrv_init_mla_phase1] Could not open the device index:4' '[TDRV:tdrv_destroy] TDRV not initialized'
client absent every_call_fails_without_cores
end absent
