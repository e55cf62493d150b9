#!/bin/bash
# A job on the stand-in for the vendor's runtime is observed when our library is preloaded, and the counts are its
# own. A process that never opens the runtime leaves no segment, our own core is counted once, and without a runtime
# calls fail.
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq nm
skip_sanitized
hooks=$NTK_LIB_DIR/libneuron-hooks.so
export NEURON_LIBNRT=libnrt.so.1

segments() { find "$NEURON_HOOKS_DIR" -maxdepth 1 -name "$1-*" | wc -l; }
preloaded=(env "LD_PRELOAD=$hooks")

# Every name of the table, under its version.
exports=$(nm -D --defined-only --with-symbol-versions "$hooks" | awk '$2 == "T" && $3 ~ /@NRT_|@@NRT_/' | wc -l)
rows=$(grep -cE '^NRT_CALL(_[23])?\(.*, ' "$NTK_SOURCE_DIR/runtime-hooks/nrt/nrt_calls.def")
[ "$exports" = "$rows" ] || fail "the library exports $exports of $rows names"

neuron-packager example conv -s 4 -o conv.neff >/dev/null
"${preloaded[@]}" LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor" neuron-bench exec conv.neff --rate 20 --duration 600s >bench.out &
job=$!
wait_for has_executed $job 3
[ "$(segments $job)" = 1 ] || fail "expected one segment, found $(segments $job)"
[ "$(jq -r '.applications[0].runtime_version' top.json)" = 2.31.24.0 ] || fail "unexpected version of the runtime"
[ "$(jq -r '.models[0].name' top.json)" = conv ] || fail "unexpected name of the model"
[ "$(jq '.models[0].device_latency_p50_seconds' top.json)" = null ] || fail "a device time is shown although none is known"
[ "$(jq '.models[0].total_latency_p50_seconds > 0' top.json)" = true ] || fail "no latency"
[ "$(jq '.cores[0].device_memory_bytes > 0' top.json)" = true ] || fail "no tensors"
kill $job
wait $job || true

# No constructor, so no segment.
find "$NEURON_HOOKS_DIR" -maxdepth 1 -name '[0-9]*-*' -delete
"${preloaded[@]}" LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor" sh -c 'ls / >/dev/null; kill -9 $$' || true
[ "$(segments '[0-9]*')" = 0 ] || fail "a shell has a segment"

# Opened by its path: the auditing library redirects the calls to us.
NEURON_LIBNRT=$NTK_LIB_DIR/vendor/libnrt.so.1 "${preloaded[@]}" LD_AUDIT="$NTK_LIB_DIR/libneuron-hooks-audit.so" \
    neuron-bench exec conv.neff --rate 20 --duration 600s >/dev/null &
job=$!
wait_for has_executed $job 3
kill $job
wait $job || true

# Our own core has built-in hooks.
"${preloaded[@]}" LD_LIBRARY_PATH="$NTK_LIB_DIR" neuron-bench exec conv.neff --rate 20 --duration 600s >/dev/null &
job=$!
wait_for has_executed $job 3
[ "$(segments $job)" = 1 ] || fail "our own core has $(segments $job) segments"
[ "$(jq '.models[0].device_latency_p50_seconds > 0' top.json)" = true ] || fail "our own core lost its device time"
kill $job
wait $job || true

# The hooks in place of the runtime, with the real one configured.
LD_LIBRARY_PATH=$NTK_LIB_DIR/neuron-hooks NEURON_HOOKS_LIBNRT=$NTK_LIB_DIR/vendor-node2/libnrt.so.1 \
    neuron-bench exec conv.neff --count 3 --json >out.json
[ "$(jq .executions out.json)" = 3 ] || fail "with the hooks in place of the runtime, expected three executions"

# No runtime anywhere: one message, and an error status.
if "${preloaded[@]}" LD_LIBRARY_PATH="$scratch" neuron-bench exec conv.neff --count 1 >none.out 2>none.err; then fail "the job succeeds without a runtime"; fi
[ "$(grep -c 'no libnrt.so.1 to wrap' none.err)" = 1 ] || fail "see none.err"

# A configured library that is not a runtime is reported once, and another one is used if there is one.
"${preloaded[@]}" NEURON_HOOKS_LIBNRT="$scratch/conv.neff" LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor" \
    neuron-bench exec conv.neff --count 3 --json >out.json 2>named.err || fail "the job fails with an invalid NEURON_HOOKS_LIBNRT"
[ "$(jq .executions out.json)" = 3 ] || fail "the job fails with an invalid NEURON_HOOKS_LIBNRT"
[ "$(cat named.err)" = "libneuron-hooks: $scratch/conv.neff is not a libnrt.so.1 (NEURON_HOOKS_LIBNRT); the hooks wrap \
$NTK_LIB_DIR/vendor/libnrt.so.1" ] || fail "unexpected message about an invalid NEURON_HOOKS_LIBNRT"
if "${preloaded[@]}" NEURON_HOOKS_LIBNRT=/nowhere LD_LIBRARY_PATH="$scratch" neuron-bench exec conv.neff --count 1 >none.out 2>none.err; then fail "the job succeeds without a runtime and with an invalid NEURON_HOOKS_LIBNRT"; fi
[ "$(grep -c 'every call fails (NEURON_HOOKS_LIBNRT is /nowhere, which is not a libnrt.so.1)$' none.err)" = 1 ] || fail "see none.err"

# A runtime with a missing dependency cannot be opened.
mkdir broken
sed 's/libm\.so\.6/libQ.so.6/' "$NTK_LIB_DIR/vendor/libnrt.so.1" >broken/libnrt.so.1
if "${preloaded[@]}" LD_LIBRARY_PATH="$scratch/broken" neuron-bench exec conv.neff --count 1 >none.out 2>none.err; then fail "the job succeeds with a broken runtime"; fi
[ "$(grep -c 'cannot open the wrapped runtime: libQ.so.6: .*; every call fails' none.err)" = 1 ] || fail "see none.err"
