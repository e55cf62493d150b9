#!/bin/bash
# The cost of writing and reading a Perfetto trace: `view --output-format perfetto`, from the capture to the file,
# compared with the time that Perfetto's own trace processor (WebAssembly) needs to load it. Skipped where ./dev
# could not get the processor.
. "$(dirname "$0")/lib.sh"
needs node neuron-packager neuron-profile
processor=$NTK_SOURCE_DIR/build/tools/npm/package/assets/trace-processor
[ -d "$processor" ] || skip "Perfetto's trace processor is not below build/tools/npm (./dev bench installs it)"

neuron-packager example memcpy -o m.neff -s 4096 -r "$(size 8000 20)" >/dev/null
neuron-profile capture -n m.neff -s m.ntff >/dev/null 2>capture.err || fail "the capture failed: $(tail -1 capture.err)"

best=
for _ in $(seq "$(size 5 1)"); do
    begin=$(date +%s%N)
    neuron-profile view -s m.ntff --output-format perfetto --output-file m.pftrace
    ns=$(($(date +%s%N) - begin))
    [ -n "$best" ] && [ "$best" -le $ns ] || best=$ns
done
node "$NTK_SOURCE_DIR/tests/profiler/output/trace_processor.mjs" "$processor" m.pftrace 'select count(*) from slice' >answer 2>err ||
    fail "the trace processor failed: $(tail -1 err)"
read -r bytes _ _ read_ms _ < <(grep ' bytes in ' err)
[ "$read_ms" -gt 0 ] || read_ms=1
echo "trace of $(tr -d '[]' <answer) slices, $bytes bytes"
rate() { awk -v b="$bytes" -v ns="$1" 'BEGIN { print b / ns * 1e3 }'; }
figure "trace written, best round" "$(rate "$best")" MB/s
figure "trace loaded by the trace processor" "$(rate "${read_ms}e6")" MB/s
figure "Perfetto trace, written over loaded, best round" "$(awk -v w="$best" -v r="${read_ms}e6" 'BEGIN { print r / w }')" \
    x least 1
result
