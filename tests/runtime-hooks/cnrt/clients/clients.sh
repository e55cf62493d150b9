#!/bin/bash
# Programs of each generation compile against the installed headers alone, without a warning, run on cards, and are
# seen by the tools like every other job. With a sanitizer they are only compiled.
set -u
cc=$1 cxx=$2 include=$3 lib=$4 make_offline=$5
here=$PWD
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0
bad() { echo "FAILED: $*"; failed=1; }
unset $(compgen -v | grep -E '^(NEURON|MLU)_')
export NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=mlu270
mkdir "$NEURON_HOOKS_DIR"
cd "$scratch" || exit 1

sanitized=${NTK_SANITIZE:-}
build() { # program, source, generation, compiler and flags...
    local name=$1 source=$here/$2 generation=$3
    shift 3
    local link=(-o "$name" "$source" -L"$lib" -lcnrt)
    [ "$name" != both_fronts ] || link+=(-lnrt)
    [ -z "$sanitized" ] || link=(-fsyntax-only "$source")
    "$@" -Wall -Wextra -Werror -I"$include/neuware/$generation" -I"$include" "${link[@]}" || bad "$name: $*"
}
prints() { # expected, program...
    local expected=$1 got
    shift
    [ -z "$sanitized" ] || return 0
    got=$(LD_LIBRARY_PATH=$lib "$@" 2>"$scratch/said") || bad "$1 fails: $(cat "$scratch/said")"
    [ "$got" = "$expected" ] || bad "$1 prints '$got', not '$expected'"
}

"$make_offline" model.mlu || exit 1
build stream_client stream_client.cpp g1 "$cxx" -std=c++17
prints '1 1 6 timed' ./stream_client model.mlu
build queue_client queue_client.c g2 "$cc" -std=c11
prints '7 fast first timed' ./queue_client model.mlu
build queue_client_plus queue_client.c g2 "$cxx" -std=c++17 -x c++
prints '7 fast first timed' ./queue_client_plus model.mlu 3
build queue_client_default queue_client.c . "$cc" -std=c11
build context_client context_client.c g3 "$cc" -std=c11
prints 'MLU270 16 1 1 209' ./context_client model.mlu
NEURON_SOFT_INSTANCE=mlu100 prints 'MLU100 32 1 1 209' ./context_client model.mlu
build context_client_plus context_client.c g3 "$cxx" -std=c++17 -x c++
prints 'MLU270 16 1 1 209' ./context_client_plus model.mlu
build both_fronts both_fronts.c g2 "$cc" -std=c11
prints '0 632016' ./both_fronts nrt
prints '0 1' ./both_fronts cnrt
[ -n "$sanitized" ] && exit $failed

# While one runs: the machine, its models, memory, what each cluster does.
LD_LIBRARY_PATH=$lib ./queue_client model.mlu 1000000 >/dev/null 2>&1 &
client=$!
trap 'kill $client 2>/dev/null; rm -rf "$scratch"' EXIT
until "$NTK_BIN_DIR/neuron-top" --once >top.txt 2>&1 && grep -q slow_adder top.txt; do
    kill -0 $client || { bad "neuron-top: $(cat top.txt)" && break; }
    sleep 0.1
done
grep -q 'mlu270' top.txt || bad "neuron-top shows no mlu270"
"$NTK_BIN_DIR/neuron-ls" >ls.txt 2>&1 || bad "neuron-ls"
grep -q "^instance-type: mlu270" ls.txt || bad "neuron-ls shows no mlu270"
grep -q " $client " ls.txt || bad "neuron-ls shows no process $client"
works() {
    "$NTK_BIN_DIR/neuron-monitor" --period 1s 2>/dev/null | head -2 >reports.json
    python3 - "$client" reports.json 2>works.err <<'PY'
import json, sys
reports = [json.loads(line) for line in open(sys.argv[2])]
hardware = reports[-1]["neuron_hardware_info"]
assert hardware["neuron_device_type"] == "mlu270", hardware
assert hardware["neuroncore_per_device_count"] == 4, hardware
runtime, = [r for r in reports[-1]["neuron_runtime_data"] if r["pid"] == int(sys.argv[1])]
report = runtime["report"]
summary = report["execution_stats"]["execution_summary"]
assert summary["completed"] > 0 and sum(summary.values()) == summary["completed"], summary
assert report["execution_stats"]["latency_stats"]["total_latency"]["p50"] > 0, report["execution_stats"]
cores = report["neuroncore_counters"]["neuroncores_in_use"]
assert len(cores) == 4 and sum(c["neuroncore_utilization"] for c in cores.values()) > 10, cores
memory = report["memory_used"]["neuron_runtime_used_bytes"]
tensors = sum(c["tensors"] for c in memory["usage_breakdown"]["neuroncore_memory_usage"].values())
assert tensors >= 4 * 128 * 64 * 4, memory
PY
}
# A report of a time in which the client got no processor has no executions: the next one has.
until works; do
    kill -0 $client && [ $SECONDS -lt $((240 * ${NTK_TEST_PATIENCE:-1})) ] || { bad "neuron-monitor: $(tail -1 works.err)" && break; }
done
kill $client
[ $failed = 0 ] || cat top.txt ls.txt reports.json
exit $failed
