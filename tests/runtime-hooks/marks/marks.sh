#!/bin/bash
# marks CC CXX INCLUDE PYTHON-FOLDER - marks of programs in C, C++ and Python arrive, with our runtime and around the
# vendor's (a stand-in); without hooks they cost nothing.
cc=$1 cxx=$2 include=$3 python=$4
. "$(dirname "$0")/../../e2e/lib.sh"
needs jq python3
source=${NTK_SOURCE_DIR:?}/tests/runtime-hooks/marks/marking.c
"$cc" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$include" "$source" -o marking_c -ldl
"$cxx" -std=c++17 -D_GNU_SOURCE -Wall -Wextra -Werror -x c++ -I"$include" "$source" -o marking_cpp -ldl

cat >marking.py <<'PYTHON'
import ctypes, sys
import neuron_marks as marks
marks.mark('early')
library = ctypes.CDLL(sys.argv[1]) if len(sys.argv) > 1 else None
if library and library.nrt_init(1, b'', b'') != 0:
    sys.exit('does not start')
for step in range(1, 6):
    with marks.range('step', step):
        pass
try:
    with marks.range('fails'):
        raise ValueError
except ValueError:
    pass
marks.mark('Zürich', -1)
good = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
answers = [marks.set_traceparent(text) for text in (good, None, 'wrong', good + '\0', 'ä', good)]
if answers != ([True, True, False, False, False, True] if library else [False] * 6):
    sys.exit('traceparents: %s' % answers)
try:
    with marks.traceparent(good):
        raise ValueError
except ValueError:
    pass
if library:
    library.nrt_close()
PYTHON
export PYTHONPATH=$python PYTHONDONTWRITEBYTECODE=1
skip_sanitized

# Without a runtime, and with disabled hooks: marks have no effect.
./marking_c && ./marking_cpp && python3 marking.py || fail "the job fails without hooks"
NEURON_HOOKS=0 ./marking_c "$NTK_LIB_DIR/libnrt.so.1" || fail "the job fails with disabled hooks"

marked() { neuron-monitor query events --db marks.db --kind mark --json; }
has() { [ "$(marked | jq length)" -ge "$1" ] && echo yes; }
neuron-monitor --quiet --db marks.db 2>agent.txt &
agent=$!
wait_for sh -c "sqlite3 -readonly marks.db 'SELECT 1 FROM machine_sample LIMIT 1' 2>/dev/null | sed s/1/yes/"
NEURON_PROCESS_TAG=c ./marking_c "$NTK_LIB_DIR/libnrt.so.1"
NEURON_PROCESS_TAG=cpp ./marking_cpp "$NTK_LIB_DIR/libnrt.so.1"
NEURON_PROCESS_TAG=python python3 marking.py "$NTK_LIB_DIR/libnrt.so.1"
NEURON_PROCESS_TAG=around LD_PRELOAD=$NTK_LIB_DIR/libneuron-hooks.so NEURON_HOOKS_LIBNRT=$NTK_LIB_DIR/vendor/libnrt.so.1 \
    ./marking_c libnrt.so.1
# Hooks around a runtime with built-in hooks leave the marks to it.
NEURON_PROCESS_TAG=inner LD_PRELOAD=$NTK_LIB_DIR/libneuron-hooks.so NEURON_HOOKS_LIBNRT=$NTK_LIB_DIR/libnrt.so.1 \
    ./marking_c libnrt.so.1
wait_for has 39
kill "$agent"
wait "$agent" || fail "the agent failed: $(cat agent.txt)"

marked >marks.json
for tag in c cpp python around inner; do
    steps=$(jq -c --arg tag $tag '[.[] | select(.tag == $tag and .what == "step") | .value]' marks.json)
    [ "$steps" = '[1,2,3,4,5]' ] || fail "$tag: the steps are $steps"
done
for tag in c cpp around inner; do
    [ "$(jq --arg tag $tag '[.[] | select(.tag == $tag)] | length' marks.json)" = 8 ] || fail "$tag: expected eight marks: $(cat marks.json)"
    jq -e --arg tag $tag '[.[] | select(.tag == $tag and .what == "step") | .duration_ns >= 2000000] | all' marks.json >/dev/null ||
        fail "$tag: a step is shorter than it was"
    jq -e --arg tag $tag '[.[] | select(.tag == $tag and (.what | startswith("nnn")))][0].what | length == 256' marks.json >/dev/null ||
        fail "$tag: unexpected long name: $(cat marks.json)"
done
[ "$(jq -r '[.[] | select(.tag == "c" and .what == "largest")][0].value' marks.json)" = "$(jq -n 18446744073709551615)" ] || fail "unexpected largest value"
[ "$(jq -c '[.[] | select(.tag == "python" and .what != "step") | .what]' marks.json)" = '["fails","Zürich"]' ] || fail "unexpected marks of Python: $(cat marks.json)"
# Hostile names are harmless to terminals.
neuron-monitor query events --db marks.db --kind mark >table.txt
! grep -q "$(printf '\033')" table.txt || fail "an escape reaches the terminal"
[ "$(grep -c 'red' table.txt)" = 4 ] || fail "a name with a line feed breaks the table: $(cat table.txt)"
[ "$(neuron-monitor query events --db marks.db --json | jq '[.[] | select(.kind == "mark")] | length')" = 0 ] || fail "marks are shown without a request"

# A recording of a running process has them as spans.
NEURON_PROCESS_TAG=recorded python3 - "$NTK_LIB_DIR/libnrt.so.1" <<'PYTHON' &
import ctypes, sys, time
import neuron_marks as marks
library = ctypes.CDLL(sys.argv[1])
library.nrt_init(1, b'', b'')
while True:
    with marks.range('step', 3):
        time.sleep(0.01)
PYTHON
job=$!
recorded() { rm -rf "$1" && neuron-profile inspect --pid $job --duration 300ms -o "$1" >out.txt 2>&1 && find "$1" -name '*.pb' | xargs cat | greps step && echo yes; }
wait_for recorded live
kill "$job"

# The trace of a program contains 5 steps with their numbers, and moments as moments.
traced() { neuron-profile view -d "$1" --output-format json --output-file "$1.json" 2>"$1.txt" || fail "the export of $1 failed: $(cat "$1.txt")"; }
traced live
jq -e '[.trace_event[] | select(.name == "mark")] | length > 0 and all(.[]; .mark == "step" and .value == 3 and .duration >= 10000000)' \
    live.json >/dev/null || fail "unexpected marks in the recording: $(jq -c '[.trace_event[] | select(.name == "mark")][0:3]' live.json)"
NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_SYSTEM_PROFILE=1 NEURON_RT_INSPECT_DEVICE_PROFILE=0 NEURON_RT_INSPECT_OUTPUT_DIR=own \
    ./marking_c "$NTK_LIB_DIR/libnrt.so.1"
traced own
[ "$(jq -c '[.trace_event[] | select(.mark == "step") | .value]' own.json)" = '[1,2,3,4,5]' ] || fail "unexpected marks in the trace: $(cat own.json)"
jq -e '[.trace_event[] | select(.mark == "step") | .duration >= 2000000] | all' own.json >/dev/null || fail "a step of the trace is too short"
jq -e '[.trace_event[] | select(.mark == "largest") | .duration == 0] == [true]' own.json >/dev/null || fail "unexpected duration of a mark with an invalid time"
neuron-profile view -d own --output-format chrome --output-file own_chrome.json 2>own_chrome.txt || fail "unexpected output: $(cat own_chrome.txt)"
jq -e '[(.traceEvents? // .)[] | select(.name == "step") | .args.value] == [1,2,3,4,5]' own_chrome.json >/dev/null || fail "no steps in the Chrome trace"
