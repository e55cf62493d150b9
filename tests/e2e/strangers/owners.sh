#!/bin/bash
# owners - two users run jobs with the same names, and one of them forges every field of a segment. Each job keeps
# its own ranks, totals and captures, and no device is judged by a process that does not hold its cores.
. "$NTK_SOURCE_DIR/tests/support/apart.sh"
. "$(dirname "$0")/../lib.sh"
needs jq setpriv curl
rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank
open_to_others "$scratch"
cp "$rank" "$NTK_BIN_DIR"
export LD_LIBRARY_PATH=$NTK_LIB_DIR # of that copy
export NEURON_RT_LOG_LEVEL=QUIET
export -n NEURON_HOOKS_DIR # each user has a folder
rank=$NTK_BIN_DIR/${rank##*/}

as() { # USER COMMAND...: runs in the background
    setpriv --reuid "$1" --regid "$1" --clear-groups env NEURON_RT_NUM_CORES=1 NEURON_PROCESS_TAG=job \
        NEURON_RT_ROOT_COMM_ID=127.0.0.1:46834 "${@:2}" &
}
# world USER [FAULT]: starts two ranks at the default rendezvous; rank 1 has the fault.
world() {
    as "$1" "$rank" 0 2 1000000 5
    as "$1" "$rank" 1 2 1000000 5 "${2:-}"
}
neuron-packager example conv -s 4 -o m.neff >/dev/null
chmod 644 m.neff

# The ranks of one user wait for each other; the other user's ranks at the same rendezvous continue. They are two
# communicators.
world 1001 sleep@20 2>/dev/null
hangs() {
    neuron-monitor hang --json --all --after 300ms >hang.json || true
    [ "$(jq -r '[.communicators[] | "\(.kind) \([.ranks[].where] | join(" "))"] | sort | join(", ")' hang.json)" = "$1" ] && echo yes
}
wait_for hangs "hangs arrived elsewhere"
world 1002 2>/dev/null
wait_for hangs "goes_on arrived arrived, hangs arrived elsewhere"

# Reports of a process count only for cores that it holds, and never take a node out of service. Here
# two users share a hooks folder; each has a software machine, and the agent judges root's.
mkdir -m 1777 "$memory/all"
chmod 755 "$memory"
export NEURON_HOOKS_DIR=$memory/all
neuron-bench machine >/dev/null
neuron-monitor --period 200ms >reports.jsonl 2>agent.log &
wait_for has_reports reports.jsonl
# fails USER TAG: runs a job with an execution that hangs on core 0 of its machine, as the reports show it.
fails() {
    setpriv --reuid "$1" --regid "$1" --clear-groups env NEURON_PROCESS_TAG="$2" NEURON_SOFT_FAULT=hang:at=1 \
        neuron-bench exec "$scratch/m.neff" -n 2 --cores 0 >bench.out 2>&1 && fail "no execution fails"
    is_reported() { grep -c "\"neuron_runtime_tag\":\"$1\".*\"timed_out\":1" reports.jsonl >/dev/null && echo yes; }
    wait_for is_reported "$2"
}
verdicts() { jq -r '.neuron_ext.devices[]?.health | "\(.verdict) \([.reasons[]?.reason] | join(" "))"' reports.jsonl | sort -u; }
fails 1002 forger
greps -v '^healthy $' <<<"$(verdicts)" && fail "a process of another machine made a device unhealthy: $(verdicts)"
fails 0 own
is_unhealthy() { greps '^unhealthy execution_timeout' <<<"$(verdicts)" && echo yes; }
wait_for is_unhealthy

# Another user's process with the name of root's job: one already has a request, one does not answer. Root's is
# recorded, and the exit code shows that not all were.
busy() { # USER CORE: starts a job that runs for a long time; its pid is in $job
    setpriv --reuid "$1" --regid "$1" --clear-groups env NEURON_PROCESS_TAG=same \
        neuron-bench exec "$scratch/m.neff" --duration 600s --rate 200 --cores "$2" >"$scratch/busy$1.out" 2>&1 &
    job=$!
}
busy 0 1
own=$job
busy 1002 1
foreign=$job
is_seen() { neuron-profile trigger --pid "$1" --look >/dev/null 2>&1 && echo yes; }
wait_for is_seen "$own"
wait_for is_seen "$foreign"
neuron-profile trigger --pid "$foreign" --at-execution 1000000000 --timeout 3600s -o held >/dev/null 2>&1 &
holder=$!
# The segment names the asking process in four bytes. Any of them may be a newline.
is_held() {
    python3 -c 'import sys
asker = int(sys.argv[1]).to_bytes(4, "little")
print("yes" if any(asker in open(path, "rb").read() for path in sys.argv[2:]) else "no")' "$holder" "$NEURON_HOOKS_DIR/$foreign"-*
}
wait_for is_held
own_is_recorded() { # asks again if it got no processor in time
    code=0
    rm -rf busy
    neuron-profile trigger --job same -o busy --json >busy.json 2>err || code=$?
    [ $code = 1 ] || echo "never: exit code $code"
    jq -e --argjson pid "$own" '.processes | length == 1 and (.[0] | .pid == $pid and .uid == 0 and .file_count == 1 and .error == "")' \
        busy.json >/dev/null && greps '^neuron-profile: processes of user 1002: .*is already handling a request from process' err && echo yes
}
wait_for own_is_recorded
chosen_is_recorded() { rm -rf chosen && neuron-profile trigger --job same --user 0 -o chosen >text 2>&1 && echo yes; }
wait_for chosen_is_recorded
kill -9 "$holder"
wait "$holder" 2>/dev/null || true
kill -STOP "$foreign"
own_is_first() { # before the other user's process counts as stopped; asks again if it got no processor in time
    rm -rf stopped
    neuron-profile trigger --job same --timeout 3600s -o stopped >text 2>err &
    until greps "^process $own .* in 1 file" text || ! runs $!; do pause 0.1; done
    [ -s err ] || echo yes
    ! runs $! || kill $! 2>/dev/null || true
    wait $! || true
}
wait_for own_is_first

# A user who may not read a process does not report it as missing.
unreadable() { # COMMAND: its output is in text
    local code=0
    setpriv --reuid 65534 --regid 65534 --clear-groups neuron-monitor "$@" >text 2>err || code=$?
    [ $code = 3 ] && greps '^no readable process is a rank of a communicator' text &&
        greps '^permission denied for [1-9][0-9]* process\(es\)\?: run as root' text || fail "$*: unexpected exit code $code: $(cat text err)"
}
setpriv --reuid 65534 --regid 65534 --clear-groups neuron-profile trigger --job same -o "$scratch/all" >text 2>&1 && fail "a trigger of a process that is not visible succeeded: $(cat text)"
greps "no process of job 'same' found: .*; [1-9][0-9]* unreadable process\(es\)\?: Permission denied" text || fail "no message about a process that is not visible: $(cat text)"
unreadable hang
unreadable slow --for 200ms
setpriv --reuid 65534 --regid 65534 --clear-groups neuron-top --once -d 200ms --layout overview >text 2>err || fail "neuron-top fails: $(cat err)"
grep -q '^permission denied for [1-9][0-9]* applications\?: run as root' text || fail "neuron-top does not say what it cannot read: $(cat text)"
code=0
setpriv --reuid 65534 --regid 65534 --clear-groups env -u NEURON_HOOKS_DIR neuron-monitor hang >text || code=$?
[ $code = 3 ] && greps '^permission denied for processes of 2 other users' text || fail "other users' folders: unexpected exit code $code: $(cat text)"
