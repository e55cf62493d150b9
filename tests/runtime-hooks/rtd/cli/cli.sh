#!/bin/bash
# cli - neuron-cli against a daemon: the whole life of groups and models, and every rejection.
. "$(dirname "$0")/../../../e2e/lib.sh"
export NEURON_SOFT_INSTANCE=inf1.6xlarge NEURON_RTD_ADDRESS=$scratch/socket
needs jq
here=$(dirname "$0")

# cli CODE TEXT COMMAND...: checks its exit code, and a line that it prints on either stream.
cli() {
    local code=0
    neuron-cli "${@:3}" >out 2>err || code=$?
    [ $code = "$1" ] || fail "${*:3}: unexpected exit code $code"
    [ $code = 0 ] || [ ! -s out ] || fail "${*:3}: a command that failed printed to stdout"
    [ -z "$2" ] || grep -qxF -- "$2" out err -h || fail "${*:3}: unexpected output"
}

cli 1 "neuron-cli: no daemon responds at unix:$scratch/socket: No such file or directory" list-ncg
neuron-rtd -x -g "$scratch/socket" 2>rtd.log &
rtd=$!
listens() { grep -q 'Server listening' "$1" && echo yes; }
wait_for listens rtd.log
neuron-packager example memcpy --size 64 -o one.neff
neuron-packager example two-node-core --dtype float32 -o two.neff

cli 0 "Found 0 NCG's" list-ncg
cli 0 'Found 0 models' list-model
cli 0 'Created NCG 1 with 2 NCs' create-ncg 2
cli 0 'Created NCG 2 with 4 NCs' create-ncg 4
cli 0 'Created NCG 3 with 3 NCs' create-ncg 3
cli 0 'Created NCG 4 with 1 NC' create-ncg 1
cli 0 '' list-ncg
diff - out <<'END' || fail "unexpected table of groups"
Device count 4 NC count 16
Found 4 NCG's
+--------+----------+--------------------+----------------+
| NCG ID | NC COUNT | DEVICE START INDEX | NC START INDEX |
+--------+----------+--------------------+----------------+
|      1 |        2 |                  0 |              0 |
|      2 |        4 |                  0 |              2 |
|      3 |        3 |                  1 |              2 |
|      4 |        1 |                  2 |              1 |
+--------+----------+--------------------+----------------+
END
cli 1 'neuron-cli: cannot create a group: NERR_RESOURCE_NC (9): Requested number of NCs: 17 exceeds the total available number: 16' create-ncg 17
cli 1 'neuron-cli: cannot create a group: NERR_RESOURCE_NC (9): Insufficient number of VNCs: 6, required: 7' create-ncg 7
cli 0 'Created NCG 5 with 6 NCs' create-ncg
cli 1 'neuron-cli: cannot destroy NCG 99: NERR_INVALID_HANDLE (3): Failed to find EG: 99' destroy-ncg 99
cli 0 'Destroyed NCG 5' destroy-ncg 5
cli 0 'Destroyed NCG 2' destroy-ncg 2

# A model of each kind of group, in the stream and by its path.
cli 0 'Loaded model 10001 on NCG 1' load one.neff --ncg-id 1
cli 0 'Loaded model 10002 on NCG 1' load one.neff --ncg-id=1 --enable-direct-file-load --ninfer 2 --timeout 9
cli 0 'Loaded model 10003 on NCG 6' load two.neff --ncg-id 0
cli 0 'Loaded model 10004' load one.neff --ncg-id -1
cli 1 'neuron-cli: cannot load '\''one.neff'\'': NERR_INVALID_HANDLE (3): Failed to find EG: 77' load one.neff --ncg-id 77
cli 0 'Started model 10001' start 10001
cli 1 'neuron-cli: cannot start model 10002: NERR_INVALID (2): another model is running on the NCG' start 10002
cli 1 'neuron-cli: cannot unload model 10001: NERR_INVALID (2): model is running' unload 10001
cli 1 'neuron-cli: cannot destroy NCG 1: NERR_INVALID (2): EG has loaded models' destroy-ncg 1
cli 0 'Found 4 models' list-model
[ "$(sed -n 's/^| [0-9a-f-]* *| \([0-9]*\) | \([A-Z]*\) .*| *\([0-9]*\) | [^|]*|$/\1 \2 \3/p' out | tr '\n' ';')" = \
    '10001 READY 1;10002 STANDBY 1;10003 STANDBY 6;10004 READY 7;' ] || fail "see out"
cli 0 '' list-model --json
jq -e --arg uuid "$(neuron-packager info --json one.neff | jq -r .uuid)" '.models | length == 4 and
    (.[0] | .model_id == 10001 and .status == "READY" and .ncg_id == 1 and .nc_count == 1 and .device_memory_bytes > 0 and
    (.uuid | gsub("-"; "")) == ($uuid | gsub("-"; "")))' out >/dev/null || fail "see out"
cli 0 '' list-ncg -j
jq -e '.device_count == 4 and .nc_count == 16 and ([.ncgs[].ncg_id] | sort) == [1, 3, 4, 6, 7]' out >/dev/null || fail "see out"
cli 0 'Stopped model 10001' stop 10001
cli 0 'Unloaded model 10001' unload 10001
cli 0 'Unloaded model 10004' unload 10004
cli 0 '' create-ncg 1 --json
jq -e '.ncg_id == 8 and .nc_count == 1' out >/dev/null || fail "see out"
cli 0 '' destroy-ncg 8 --json
jq -e '.ncg_id == 8' out >/dev/null || fail "see out"
cli 0 '' load one.neff --json --ncg-id 0
jq -e '.model_id == 10005 and .ncg_id == 9' out >/dev/null || fail "see out"
cli 0 'Unloaded all models and destroyed all NCGs' reset
cli 0 "Found 0 NCG's" list-ncg
cli 0 '{}' reset --json

# A model that cannot be loaded leaves no group behind.
cli 1 'neuron-cli: cannot read '\''nothing'\'': No such file or directory' load nothing
cli 1 'neuron-cli: .: not a regular file' load .
: >empty
cli 1 'neuron-cli: empty: empty file' load empty
head -c 1000 one.neff >short
cli 1 'neuron-cli: short: not a NEFF: the file ends inside the header' load short --ncg-id 0
head -c 3000 one.neff >cut
cli 1 '' load cut --ncg-id 0
grep -q '^neuron-cli: cannot load '\''cut'\'': NERR_INVALID (2): .' err || fail "see err"
cli 1 '' load cut
cli 0 "Found 0 NCG's" list-ncg

cli 2 '' frobnicate
cli 2 ''
cli 2 'neuron-cli: missing argument MODEL-ID' start
cli 2 "neuron-cli: start MODEL-ID: '-': expected a number from 1 to 4294967295" start -- -
cli 2 "neuron-cli: start MODEL-ID: '0': expected a number from 1 to 4294967295" start 0
cli 2 "neuron-cli: unexpected argument '2'" start 1 2
cli 2 "neuron-cli: unexpected argument '2'" list-ncg 2
cli 2 'neuron-cli: --ncg-id, --enable-direct-file-load, --timeout and --ninfer apply to load only' list-ncg --ncg-id 1
cli 2 'neuron-cli: --ncg-id must be between -1 and 4294967295' load one.neff --ncg-id -2

# A daemon that hangs, one that does not exist, and one without cores.
kill -STOP "$rtd"
cli 1 "neuron-cli: the daemon at unix:$scratch/socket did not respond within 1 s" list-ncg --wait 1
kill -CONT "$rtd"
cli 0 "Found 0 NCG's" list-ncg
cli 1 'neuron-cli: no daemon responds at 127.0.0.1:1: Connection refused' -a 127.0.0.1:1 reset
if [ -e /dev/full ]; then
    code=0
    neuron-cli list-ncg >/dev/full 2>err || code=$?
    [ $code = 1 ] || fail "a full disk: unexpected exit code $code"
fi
kill "$rtd"
wait "$rtd" || fail "SIGTERM: unexpected exit code $?"
NEURON_SOFT_INSTANCE=none neuron-rtd -x -g "$scratch/socket" 2>none.log &
wait_for listens none.log
cli 1 '' list-model
grep -q '^neuron-cli: cannot list models: NERR_HW_ERROR (6): ' err || fail "see err"
cli 1 '' load one.neff
grep -q '^neuron-cli: cannot load '\''one.neff'\'': NERR_HW_ERROR (6): ' err || fail "see err"
