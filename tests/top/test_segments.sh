# test_segments - neuron-top next to applications with real segments: their numbers, many of them, and one that is
# killed. No terminal is needed.
. "$(dirname "$0")/../e2e/lib.sh"
export COLUMNS=160 LC_ALL=C.UTF-8
unset NEURON_SOFT_INSTANCE

start() { # first core, count, tag
    NEURON_HOOKS_MEMORY=128K NEURON_PROCESS_TAG=$3 "$NTK_BUILD_DIR/tests/tests_top_segment_writer" "$1" "$2" >"ready.$3" &
    writers[$1]=$!
}
ready() { grep -qs ready "ready.$1" && echo yes; }
shows() { # what, pattern
    grep -q -e "$2" frame || fail "$1: no \"$2\" in $(cat frame)"
}

# A process that cannot be read is reported, and not shown as idle.
mkfifo "$NEURON_HOOKS_DIR/1-1"
neuron-top --once -d 200ms >frame 2>err
shows "why" '1-1 is not a regular file'
shows "no readable process" '^ no readable Neuron application'
shows "unknown memory" '^Device Used Memory *Total: - '
neuron-top --json --once -d 200ms 2>err | greps '"host_memory_bytes":null.*"device_memory_bytes":null' || fail "JSON has zeros for unknown values"
rm "$NEURON_HOOKS_DIR/1-1"

start 0 1 one
start 4 2 "zwei Kerne"
wait_for ready one
wait_for ready "zwei Kerne"
neuron-top --once -d 200ms --expand >frame
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

# One is killed: none of its data is shown as alive.
kill -KILL "${writers[0]}"
wait "${writers[0]}" 2>/dev/null || true
is_gone() { neuron-top --once -d 200ms >frame && ! grep -q '\]:one' frame && echo yes; }
wait_for is_gone
shows "the other one alone" '>\[1\]:all< *\[2\]:zwei Kerne'
shows "its memory" '^Device Used Memory *Total: 16.0MB'
! grep -q '^ND0 .*100%.*' frame || fail "a core is busy without its application: $(cat frame)"

# Many at once.
for ((i = 0; i < 40; i++)); do start $((i % 32)) 1 "app$i"; done
for ((i = 0; i < 40; i++)); do wait_for ready "app$i"; done
neuron-top --once -d 200ms >frame
shows "all of their memory" '^Device Used Memory *Total: 336.0MB'
