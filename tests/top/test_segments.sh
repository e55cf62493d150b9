#!/bin/bash
# test_segments - neuron-top beside applications with real segments: their numbers, many of them, one that
# is killed. 77 never: no terminal is needed.
set -u
writer=$NTK_BUILD_DIR/tests/tests_top_segment_writer
top=$NTK_BIN_DIR/neuron-top
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-top-XXXXXX")
export NEURON_HOOKS_DIR=$scratch/hooks COLUMNS=160 LC_ALL=C.UTF-8
mkdir -m 700 "$NEURON_HOOKS_DIR"
writers=()
failures=0
finish() {
    local pid
    for pid in "${writers[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT

start() { # first core, count, tag
    NEURON_HOOKS_MEMORY=128K NEURON_PROCESS_TAG=$3 "$writer" "$1" "$2" >"$scratch/ready.$3" &
    writers+=($!)
}
wait_ready() { # tag
    local i
    for ((i = 0; i < 400; i++)); do
        grep -qs ready "$scratch/ready.$1" && return 0
        sleep 0.05
    done
    echo "FAILED: $1 does not start"
    exit 1
}
shows() { # what, pattern
    grep -q -e "$2" "$scratch/frame" && return
    printf 'FAILED: %s: no "%s" in\n' "$1" "$2"
    cat "$scratch/frame"
    failures=$((failures + 1))
}

start 0 1 one
start 4 2 "zwei Kerne"
wait_ready one
wait_ready "zwei Kerne"
"$top" --once --expand >"$scratch/frame" || failures=$((failures + 1))
shows "the machine" 'running on i-local (trn1.32xlarge)'
shows "the mean" 'NeuronCore v2 Utilization (Avg: '
shows "a core that works since before" '^ND0  |*\[  100%\]'
shows "two cores of one device" '^ND2  |*\[  100%\] *|*\[  100%\]'
shows "host memory" '^Host Used Memory *Total: 19.0MB *Tensors: 0.0B *Constants: 3.0MB *DMA Buffers: 16.0MB *App. Memory: 0.0B'
shows "device memory" '^Device Used Memory *Total: 24.0MB *Tensors: 15.0MB *Constants: 0.0B *Model Code: 9.0MB *Runtime Memory: 0.0B *Model Scratchpad: 0.0B'
shows "a device" '^ \[-\] ND 2  *16.0MB *2.0MB'
shows "a core" '^     \[-\] NC 1  *8.0MB *1.0MB'
shows "a model" '^         \[-\] forever.neff  *10001  *3.0MB *1.0MB'
shows "its code" '^             Model Code  *3.0MB *0.0B'
shows "memory of no model" '^         Tensors  *5.0MB *0.0B'
shows "memory of no core" '^ \[-\] Host  *0.0B *16.0MB'
shows "both tags" '>\[1\]:all< *\[2\]:one *\[3\]:zwei Kerne'

# One is killed: nothing of it is shown as alive.
kill -KILL "${writers[0]}"
wait "${writers[0]}" 2>/dev/null
for ((i = 0; i < 100; i++)); do
    "$top" --once >"$scratch/frame"
    grep -q '\]:one' "$scratch/frame" || break
done
shows "the other one alone" '>\[1\]:all< *\[2\]:zwei Kerne'
shows "its memory" '^Device Used Memory *Total: 16.0MB'
grep -q '^ND0 .*100%.*' "$scratch/frame" && shows "an idle core" 'ND0 is idle'

# Many at once.
for ((i = 0; i < 40; i++)); do start $((i % 32)) 1 "app$i"; done
for ((i = 0; i < 40; i++)); do wait_ready "app$i"; done
"$top" --once >"$scratch/frame" || failures=$((failures + 1))
shows "all of their memory" '^Device Used Memory *Total: 336.0MB'

[ $failures = 0 ] || exit 1
echo "all checks passed"
