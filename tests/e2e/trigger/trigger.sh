#!/bin/bash
# trigger - ranks of a running job record executions on request, all from the same execution on, with the time before
# it; and the messages when that is impossible.
. "$(dirname "$0")/../lib.sh"
needs jq
export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_NUM_CORES=1 NEURON_RT_ROOT_COMM_ID=127.0.0.1:46833
job=$NEURON_RT_ROOT_COMM_ID # a name: the software machine opens no port
export NEURON_RT_LOG_LEVEL=QUIET
rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank
neuron-packager example conv -s 4 -o m.neff >/dev/null
ranks=()
for i in 0 1 2 3; do
    "$rank" "$i" 4 1000000 40 '' m.neff 2>"rank$i.err" &
    ranks[i]=$!
done
has_progressed() {
    neuron-monitor hang --json --all >hang.json || true
    [ "$(jq '[.communicators[] | select(.model_id != 0) | .sequence] | max' hang.json)" -gt "${1:-5}" ] && echo yes
}
wait_for has_progressed

# is_recorded FOLDER ARGUMENT...: asks again if a process got no processor in time.
is_recorded() { rm -rf "$1" && neuron-profile trigger "${@:2}" -o "$1" >text 2>err && echo yes; }
# All of them: the same three executions each.
wait_for is_recorded out --job $job --executions 3
[ "$(ls out/*.ntff | wc -l)" = 4 ] && [ "$(wc -l <text)" = 4 ] || fail "expected four files and four lines: $(cat text; ls out)"
grep -q 'to see the timeline: neuron-profile view -d out$' err || fail "the next command is not named: $(cat err)"
[ "$(ls out/*.ntff | sed 's/.*_exec_//' | sort -u | wc -l)" = 1 ] || fail "the files have different executions: $(ls out)"
for i in 0 1 2 3; do
    greps "^process ${ranks[i]} (.*), rank $i: executions [0-9]* to [0-9]* in 1 file" text || fail "unexpected line for rank $i: $(cat text)"
    capture=$(ls out/pid_"${ranks[i]}"_nc_*.ntff)
    [ "$(neuron-profile view -s "$capture" -n m.neff --output-format summary-json | jq 'keys | length')" -gt 0 ] || fail "$capture cannot be read"
    # Three executions of the same program have three times the instructions of one.
    neuron-profile query -s "$capture" -n m.neff --json 'SELECT count(*) AS n FROM Instruction' >"n$i.json"
done
[ "$(cat n?.json | jq -s '[.[][0].n] | unique | length')" = 1 ] || fail "the captures have different numbers of instructions: $(cat n?.json)"
wait_for is_recorded one --pid "${ranks[0]}" --json
mv text one.json
one=$(neuron-profile query -s one/*.ntff -n m.neff --json 'SELECT count(*) AS n FROM Instruction' | jq '.[0].n')
[ "$(jq '.[0].n' n0.json)" = $((3 * one)) ] || fail "three executions have $(cat n0.json), one has $one"
jq -e --argjson pid "${ranks[0]}" '.execution_count == 1 and .processes[0].pid == $pid and .processes[0].file_count == 1 and .processes[0].error == ""' \
    one.json >/dev/null || fail "unexpected answer for one process: $(cat one.json)"
# The time before is included: executions with lower numbers.
first=$(jq .first_execution one.json)
before=$(jq -r '.processes[0].before' one.json)
neuron-profile view -d "$before" --output-format json --output-file before.json
[ "$(jq --argjson first "$first" '[.trace_event[] | select(.name == "nrt_execute" and .exec_id < $first)] | length' before.json)" -gt 3 ] ||
    fail "no events before execution $first"
# The time of the recording is that of its events, not of reading the rings.
neuron-profile view -d one --output-format summary-json --output-file before.json
jq -e '.sessions[] | select(.executions != []) | .begin_ns <= ([.executions[].start_ns] | min) and .end_ns >= ([.executions[].start_ns] | max)' \
    before.json >/dev/null || fail "the recording begins after its first event: $(jq -c '.sessions[] | {begin_ns, end_ns}' before.json)"
# The name of a capture has its execution and process.
jq -e --argjson first "$first" '[.sessions[].captures[].exec_id] == [$first]' before.json >/dev/null || fail "the capture has no execution: $(jq -c '.sessions[].captures' before.json)"
neuron-profile query -d one --json 'SELECT process_id, nc_id FROM DeviceProfileList' >captures.json
jq -e --argjson pid "${ranks[0]}" '. == [{"process_id": $pid, "nc_id": 0}]' captures.json >/dev/null || fail "the capture has no process: $(cat captures.json)"

# One number for all processes, far enough ahead; how far depends on the load of the machine.
echo 100 >ahead
is_taken_at_once() {
    local at ahead
    ahead=$(cat ahead)
    neuron-profile trigger --job $job --look --json >look.json 2>err && at=$(($(jq '[.processes[].execution] | max' look.json) + ahead)) &&
        neuron-profile trigger --job $job --at-execution $at -o at >text 2>err && echo yes && return
    grep -qE 'is in the past: the processes have reached|has already started|does not respond' err || echo "never: at $at"
    echo $((2 * ahead)) >ahead
}
wait_for is_taken_at_once
[ "$(ls at/pid_*_exec_*.ntff | sed 's/.*_exec_//' | sort -u | wc -l)" = 1 ] && [ "$(ls at/*.ntff | wc -l)" = 4 ] || fail "expected four files of one execution: $(ls at) $(cat text err)"

# refused TEXT ARGUMENT...: exit code 1 and a message with TEXT, once the process answers in time.
is_refused() {
    local code=0
    neuron-profile trigger -o refused "${@:2}" >text 2>err || code=$?
    [ $code = 1 ] && grep -qF -- "$1" err && echo yes
}
refused() { wait_for is_refused "$@"; }
refused 'is in the past: the processes have reached' --pid "${ranks[1]}" --at-execution 1
refused 'no execution numbered 100000000 or higher before the timeout' --pid "${ranks[1]}" --at-execution 100000000 --timeout 300ms
refused "no process of job 'absent' found" --job absent
refused 'process 1 has no readable hooks' --pid 1
# A recording that comes too late is rejected: the requesting program gets the error at once, and requests a later one.
mkdir late
answer=$("$NTK_BIN_DIR/../tests/tests_e2e_ask_late" "$(ls "$NEURON_HOOKS_DIR/${ranks[1]}"-*)" "${ranks[1]}" 1 "$PWD/late")
[ "$answer" = "1 -11 0 process ${ranks[1]} (): execution 1 has already started" ] && [ -z "$(ls late)" ] || fail "unexpected answer for an execution that has started: $answer $(ls late)"
code=0
neuron-profile trigger >text 2>err || code=$?
[ $code = 2 ] || fail "unexpected exit code without a process: $code"
code=0
neuron-profile trigger --pid "${ranks[1]}" --executions 100001 2>err || code=$?
[ $code = 2 ] && grep -q 'at most 100000' err || fail "unexpected exit code for too many executions: $code"

# Root requests a recording of another user's process: the recording belongs to root afterwards, with the three
# capabilities of the unit. The process cannot even access the folder. In the other direction nothing is visible: a
# segment is readable only by its owner.
if [ "$(id -u)" = 0 ]; then
    mkdir -m 1777 "$memory/all" theirs
    chmod 755 "$memory"
    open_to_others "$scratch"
    as_other() { as_user 65534 env -u NEURON_RT_ROOT_COMM_ID NEURON_HOOKS_DIR="$memory/all" TMPDIR="$scratch/theirs" "$@"; }
    as_other neuron-bench exec m.neff --rate 50 --duration 600s >theirs/out 2>theirs/err &
    theirs=$!
    NEURON_HOOKS_DIR=$memory/all neuron-bench exec m.neff --rate 50 --duration 600s --cores 4 >own.out 2>own.err &
    own=$!
    powers=-all,+dac_override,+dac_read_search,+sys_ptrace
    of_tag() { (umask 027 && NEURON_HOOKS_DIR=$memory/all setpriv --inh-caps -all --bounding-set $powers neuron-profile trigger "$@" >text 2>err); }
    other() { pgrep -P "$theirs"; }
    is_asked() { of_tag --pid "$(other)" --timeout 10s -o for-root && echo yes; }
    wait_for is_asked
    [ "$(find for-root ! -user 0)" = "" ] && [ "$(stat -c '%h %a' for-root/pid_"$(other)"_*.ntff | sort -u)" = '1 640' ] ||
        fail "the files do not belong to root with mode 640: $(ls -lR for-root) $(cat text err)"
    neuron-profile query -s "$(ls for-root/*.ntff | head -1)" -n m.neff --json 'SELECT count(*) AS n FROM Instruction' | jq -e '.[0].n > 10' >/dev/null || fail "the capture has no instructions"
    keeps_nothing() { [ -z "$(find "/proc/$(other)/fd" -lname '*neuron-trigger*')" ] && [ -z "$(find theirs -name 'neuron-trigger-*')" ] && echo yes; }
    wait_for keeps_nothing
    is_own() { rm -rf own && of_tag --pid "$own" -o own && echo yes; }
    wait_for is_own
    [ "$(ls own/*.ntff | wc -l)" -gt 0 ] || fail "no files of the requester's own process: $(ls own)"
    code=0
    as_other neuron-profile trigger --pid "$own" -o theirs/not >text 2>err || code=$?
    [ $code = 1 ] && grep -q "process $own has no readable hooks" err || fail "another user asks: unexpected exit code $code: $(cat text err)"
    kill "$own" "$(other)"
fi

# A limit that is too small for any record still applies: the file lacks records, which is an error.
is_small() {
    code=0
    rm -rf small
    neuron-profile trigger --pid "${ranks[1]}" --size 1 -o small --json >small.json 2>err || code=$?
    [ $code = 1 ] || echo "never: exit code $code"
    jq -e '.processes[0] | .file_count == 1 and .error != ""' small.json >/dev/null && echo yes
}
wait_for is_small

# If the time is too short, the part recorded so far is kept and reported.
is_short() { # needs an execution within that time
    code=0
    rm -rf short
    neuron-profile trigger --pid "${ranks[1]}" --executions 90000 --timeout 2s -o short --json >short.json 2>err || code=$?
    [ $code = 1 ] && grep -q 'only [0-9]* of 90000 executions before the timeout' err && echo yes
}
wait_for is_short
jq -e '.processes[0] | .file_count == 1 and .last_execution > 0' short.json >/dev/null || fail "unexpected answer after a short time: $(cat short.json)"
[ "$(jq '.processes[0].last_execution - .first_execution < 80000' short.json)" = true ] || fail "it reports more than existed: $(cat short.json)"

# Two requests at once: one succeeds, the other names it as the cause of its rejection.
neuron-profile trigger --pid "${ranks[2]}" --at-execution 100000000 --timeout 600s -o two >two.txt 2>&1 &
two=$!
asks() { [ "$(grep -c "rw-s.*$NEURON_HOOKS_DIR" "/proc/$1/maps")" = "$2" ] && echo yes; } # asks PID PROCESSES
records_to() { grep -qaF "/$1" "$NEURON_HOOKS_DIR/$2"-* && echo yes; } # records_to FOLDER PID: the segment of the process names the folder
wait_for records_to two "${ranks[2]}"
refused "is already handling a request from process $two" --pid "${ranks[2]}"
# An asking program that was killed does not block others; its recording ends.
kill -9 "$two"
wait "$two" 2>/dev/null || true
wait_for is_recorded three --pid "${ranks[2]}"

# The helper of a killed program exits, too.
bash -c 'neuron-profile trigger --pid "$1" --at-execution 100000000 --timeout 600s --parent $$ -o orphan >orphan.txt 2>&1 & echo $! >orphan.pid; exec sleep 600' \
    parent "${ranks[2]}" &
parent=$!
has_orphan() { [ -s orphan.pid ] && records_to orphan "${ranks[2]}"; }
wait_for has_orphan
kill -9 "$parent"
has_none() { are_gone "$(cat orphan.pid)" && echo yes; }
wait_for has_none

# A rank that dies during the recording is reported; the others have complete recordings.
neuron-profile trigger --job $job --at-execution 100000000 --timeout 600s -o dies >dies.txt 2>dies.err &
dies=$!
wait_for asks "$dies" 4
for i in 0 1 2 3; do wait_for records_to dies "${ranks[i]}"; done
kill -9 "${ranks[3]}"
wait "${ranks[3]}" 2>/dev/null || true
kill -INT "$dies"
code=0
wait "$dies" || code=$?
[ $code = 1 ] && greps "process ${ranks[3]} .* exited or closed its runtime during the request" dies.err || fail "unexpected result for a process that exits: $code $(cat dies.txt dies.err)"

end_jobs "${ranks[@]:0:3}" # the others may have exited after the loss of a rank

# Processes without hooks or with other runtimes cannot record.
NEURON_HOOKS=0 neuron-bench exec m.neff --count 1 >/dev/null || fail "runs without hooks"

# Around another runtime (a stand-in for the vendor's) no process records on request. The time before is kept, and
# the other processes of the job still record.
if [ -z "${NTK_SANITIZE:-}" ] && [ -e "$NTK_LIB_DIR/libneuron-hooks.so" ]; then # the sanitizer's library must come first
    export NEURON_PROCESS_TAG=mixed
    unset NEURON_RT_ROOT_COMM_ID
    LD_PRELOAD=$NTK_LIB_DIR/libneuron-hooks.so LD_LIBRARY_PATH=$NTK_LIB_DIR/vendor "$rank" 0 1 1000000 40 '' m.neff 2>stand-in.err &
    vendor=$!
    "$rank" 0 1 1000000 40 '' m.neff 2>own.err &
    own=$!
    both_are_reported() {
        code=0
        neuron-profile trigger --job mixed --executions 2 --timeout 20s -o mixed --json >mixed.json 2>err || code=$?
        [ $code = 1 ] && jq -e --argjson own "$own" --argjson vendor "$vendor" '(.processes | length) == 2 and
            (.processes[] | select(.pid == $own) | .error == "" and .file_count == 1) and
            (.processes[] | select(.pid == $vendor) | .file_count == 0 and .before != null and (.error | contains("runs a runtime that cannot record on request")))' mixed.json >/dev/null && echo yes
    }
    wait_for both_are_reported
    [ -n "$(find mixed -path "*_pid_$vendor/*" -name 'ntrace.pb')" ] || fail "no events before the request: $(find mixed)"
    neuron-profile trigger --pid "$vendor" --look >text 2>err && fail "another runtime: expected no message, found: $(cat text)"
    grep -q 'runs a runtime that cannot record on request' err || fail "no message about a runtime that cannot record"
fi
