#!/bin/bash
# Programs of each generation compile against only the installed headers, without a warning, run on cards, and appear
# in the tools like every other job. With a sanitizer they are only compiled.
cc=$1 cxx=$2 include=$3 lib=$4 make_offline=$5
here=$PWD
unset $(compgen -v | grep -E '^(NEURON|MLU)_')
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export NEURON_SOFT_INSTANCE=mlu270

sanitized=${NTK_SANITIZE:-}
build() { # program, source, generation, compiler and flags...
    local name=$1 source=$here/$2 generation=$3
    shift 3
    local link=(-o "$name" "$source" -L"$lib" -lcnrt)
    [ "$name" != both_fronts ] || link+=(-lnrt)
    [ -z "$sanitized" ] || link=(-fsyntax-only "$source")
    "$@" -Wall -Wextra -Werror -I"$include/neuware/$generation" -I"$include" "${link[@]}" || complain "cannot compile $name: $*"
}
prints() { # expected, program...
    local expected=$1 got
    shift
    [ -z "$sanitized" ] || return 0
    got=$(LD_LIBRARY_PATH=$lib "$@" 2>"$scratch/err") || complain "$1 fails"
    [ "$got" = "$expected" ] || complain "$1 prints '$got', not '$expected'"
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
[ -z "$sanitized" ] || exit 0

# While one runs: the machine, its models, its memory, and the work of each cluster.
LD_LIBRARY_PATH=$lib ./queue_client model.mlu 1000000 >/dev/null 2>&1 &
client=$!
is_shown() { neuron-top --once -d 200ms >top.log 2>&1 && grep -q slow_adder top.log && echo yes; }
wait_for is_shown
grep -q 'mlu270' top.log || complain "neuron-top shows no mlu270"
neuron-ls >ls.log 2>&1 || complain "neuron-ls failed"
grep -q "^instance-type: mlu270" ls.log || complain "neuron-ls shows no mlu270"
grep -q " $client " ls.log || complain "neuron-ls shows no process $client"
works() {
    neuron-monitor --period 1s 2>agent.err | head -2 >reports.json
    python3 - "$client" reports.json 2>works.err <<'PY' && echo yes
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
assert len(cores) == 4 and sum(c["neuroncore_utilization"] for c in cores.values()) > 0, cores
memory = report["memory_used"]["neuron_runtime_used_bytes"]
tensors = sum(c["tensors"] for c in memory["usage_breakdown"]["neuroncore_memory_usage"].values())
assert tensors >= 4 * 128 * 64 * 4, memory
PY
}
# A report has no executions if the client got no processor in that period; the next one has.
wait_for works
kill $client
