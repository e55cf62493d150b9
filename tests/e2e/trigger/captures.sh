#!/bin/bash
# captures - an agent takes captures automatically when a rank is slow, an execution is stuck, or a latency is high; not
# too often, and not too many.
. "$(dirname "$0")/../lib.sh"
needs jq
export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_NUM_CORES=1 NEURON_RT_LOG_LEVEL=QUIET
at_failure() { tail -n 20 kept/*/trigger.log >kept.log; }
neuron-packager example conv -s 4 -o m.neff >/dev/null

code=0
neuron-monitor --capture-on hang,fire --capture-folder kept >text 2>err || code=$?
[ $code = 2 ] && grep -q "invalid value 'fire' for --capture-on: expected hang, " err || fail "an unknown reason: unexpected exit code $code"
code=0
neuron-monitor --capture-on p99 --capture-folder kept >text 2>err || code=$?
[ $code = 2 ] && grep -q 'p99 requires a time' err || fail "p99 without a time: unexpected exit code $code"
code=0
neuron-monitor --capture-every 5m >text 2>err || code=$?
[ $code = 2 ] && grep -q 'requires --capture-folder' err || fail "without a folder: unexpected exit code $code"

# A folder owned by another process, and old captures, which are deleted to make room.
mkdir -p kept/20200101T000000Z-slow kept/20200102T000000Z-slow kept/mine
head -c 3000000 /dev/urandom >kept/20200101T000000Z-slow/old.ntff
head -c 3000000 /dev/urandom >kept/20200102T000000Z-slow/old.ntff
head -c 3000000 /dev/urandom >kept/mine/other
neuron-monitor --quiet --period 1s --capture-folder kept --capture-on stuck,p99=1us --capture-size 4M 2>agent.log &
agent=$!

# Any execution takes longer than a microsecond.
neuron-bench exec m.neff --rate 50 --duration 600s >busy.txt 2>&1 &
busy=$!
has_captures() { [ "$(find kept -path "*-$1/*.ntff" | wc -l)" -ge "$2" ] && echo yes; }
wait_for has_captures p99 1
capture=$(find kept -path '*-p99/*.ntff' | head -1)
greps "pid_${busy}_" <<<"$capture" || fail "the capture belongs to another process: $capture"
[ "$(neuron-profile query -s "$capture" -n m.neff --json 'SELECT count(*) AS n FROM Instruction' | jq '.[0].n')" -gt 100 ] || fail "$capture is empty"
gave_way() { [ ! -e kept/20200101T000000Z-slow ] && echo yes; }
wait_for gave_way
[ -e kept/mine/other ] || fail "a foreign object was removed"
# If no capture program is installed, a message reports it, and no folder remains.
mkdir lonely
cp "$NTK_BIN_DIR/neuron-monitor" lonely
PATH=/usr/bin:/bin lonely/neuron-monitor --quiet --period 1s --capture-folder none --capture-on p99=1us 2>lonely.txt &
lonely=$!
says() { grep -q "$2" "$1" && echo yes; }
wait_for says lonely.txt 'no capture for p99: cannot run '\''neuron-profile'\'': No such file'
kill "$lonely"
wait "$lonely" || fail "the agent without neuron-profile failed: $(cat lonely.txt)"
[ -z "$(ls none)" ] || fail "a failed capture left files: $(ls none)"
# An execution that does not end yields no capture, only the time before it.
NEURON_RT_EXEC_TIMEOUT=10000 NEURON_SOFT_FAULT=hang:at=20 neuron-bench exec m.neff --count 40 >lone.txt 2>&1 &
lone=$!
has_before() { [ -n "$(find kept -path "*-stuck/*_pid_$lone/*/ntrace.pb")" ] && echo yes; }
wait_for has_before
# Once in ten minutes, except for captures that got no processor in time. The first job ran all the time, and nothing
# else of it is kept.
incomplete=$(grep -c 'capture incomplete: see kept/.*-p99/' agent.log || true)
[ "$(ls -d kept/*-p99 | wc -l)" -le $((1 + incomplete)) ] || fail "more captures than allowed: $(ls kept)"
kill -9 "$lone" "$busy"
kill "$agent"
wait "$agent" || fail "the agent failed"
greps "stuck: capturing process $lone to kept/" agent.log || fail "expected a message of the agent"

# An agent of root with the capabilities of the unit, and two users: each gets a capture, which root owns.
[ "$(id -u)" = 0 ] || exit 0
mkdir -m 1777 "$memory/all"
chmod 755 "$memory"
open_to_others "$scratch"
for user in 65533 65534; do
    NEURON_HOOKS_DIR=$memory/all setpriv --reuid $user --regid $user --clear-groups env TMPDIR=/tmp \
        neuron-bench exec m.neff --rate 50 --duration 600s --cores 1 >"busy$user.txt" 2>&1 &
done
(umask 027 && NEURON_HOOKS_DIR=$memory/all exec setpriv --inh-caps -all --bounding-set -all,+dac_override,+dac_read_search,+sys_ptrace \
    neuron-monitor --quiet --period 500ms --capture-folder theirs --capture-on p99=1us 2>users.txt) &
agent=$!
has_both() { [ -n "$(find theirs -path '*-uid_65533/*.ntff')" ] && [ -n "$(find theirs -path '*-uid_65534/*.ntff')" ] && echo yes; }
wait_for has_both
are_done() { [ "$(grep -c 'capturing .* to theirs/' users.txt)" -ge 2 ] && echo yes; }
wait_for are_done
[ -z "$(find theirs ! -user 0)" ] || fail "a file does not belong to root: $(find theirs ! -user 0)"
kill -9 "$agent"
