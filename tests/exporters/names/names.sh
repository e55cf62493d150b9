#!/bin/bash
# names - metrics under the names of other tools equal ours, on a page, through a pipe and together; the names for
# cards appear only on a machine with cards.
. "$(dirname "$0")/../../e2e/lib.sh"
needs curl jq

is_listening() { grep -q ' port [1-9]' "$1" && echo yes; }
port_of() { sed -n 's/.* port //p' "$1"; }
page() { curl -sf --max-time "$patience" "http://127.0.0.1:$(port_of "$1")/metrics"; }
# agent NAMES: starts an agent with a page; sets $agent and writes agent.log.
agent() {
    rm -f agent.log
    neuron-monitor --no-imds --quiet --verbose 1 --prometheus 127.0.0.1:0 --period 500ms --pid-label ${1:+--names "$1"} 2>agent.log &
    agent=$!
    wait_for is_listening agent.log
}
end() {
    kill "$agent"
    wait "$agent" || fail "the agent failed"
}
# value PAGE SERIES-PATTERN: the value of the only matching series.
value() { sed -nE "s/^$2 //p" "$1"; }

code=0
neuron-monitor --prometheus 127.0.0.1:0 --names own,others 2>said || code=$?
[ $code = 2 ] && grep -q "unknown list 'others'" said || fail "an invalid list: unexpected exit code $code: $(cat said)"
code=0
neuron-monitor --names observer 2>said || code=$?
[ $code = 2 ] || fail "names without an exporter: unexpected exit code $code: $(cat said)"

neuron-packager example memcpy -o memcpy.neff
NEURON_PROCESS_TAG=job neuron-bench exec memcpy.neff --rate 50 --duration 600s >bench.log 2>&1 &
bench=$!

# Both at once: Observer's figures are the same under Observer's names, and those of MLU cards are absent.
agent own,observer
agrees() {
    page agent.log >both || return
    local own other
    own=$(value both 'neuron_executions_total\{.*status_type="completed".*\}')
    other=$(value both 'neuron_core_infer_completed_sum_total\{.*\}')
    [ -n "$own" ] && [ "$own" -gt 10 ] && [ "$own" = "$other" ] || return
    own=$(value both 'neuron_runtime_memory_used_bytes\{.*memory_location="neuron_device".*\}')
    [ -n "$own" ] && [ "$own" = "$(value both 'neuron_core_mem_usage_total_device_sum\{.*\}')" ] || return
    own=$(value both 'neuroncore_total_utilization_ratio\{.*neuroncore="0".*\}')
    other=$(value both 'neuron_core_utilization_avg\{.*neuroncore="0".*\}')
    jq -ne "$own > 0 and ($own * 100 - $other | fabs) < 1e-6" >/dev/null && echo yes
}
wait_for agrees
! grep -q '^mlu_' both || fail "names of MLU cards on another machine"
end

# Each separately; and the vendor's classic names without ours.
agent observer
wait_for eval 'page agent.log | greps "^neuron_core_infer_completed_sum_total" && echo yes'
page agent.log >observer
# The exporter reports its own work under its own names.
! grep -E '^neuron(core|device)_' observer || fail "our names in addition to Observer's"
end
agent classic
wait_for eval 'page agent.log | greps "^execution_status_total" && echo yes'
page agent.log >classic
! grep -E '^(neuron_core_|mlu_|neuron_executions_total)' classic || fail "other names in addition to the classic ones"
end

# The conventions of OpenTelemetry: the same figures by device.
agent own,otel
agrees_by_device() {
    page agent.log >both || return
    local own other device='hw_id="neuron0",hw_model="[^"]+",hw_name="neuron0",.*hw_type="gpu",hw_vendor="AWS"'
    other=$(value both "hw_gpu_io_bytes_total\{.*$device.*network_io_direction=\"receive\".*\}")
    own=$(sed -n 's/^neuroncore_host_to_device_bytes_total{.*} //p' both | jq -s add)
    [ -n "$other" ] && [ "$other" = "$own" ] || return # transfers before the agent do not count
    own=$(sed -n 's/^neurondevice_memory_used_bytes{.*} //p' both | jq -s add)
    other=$(value both "hw_gpu_memory_usage_bytes\{.*$device.*\}")
    [ "$other" -gt 0 ] && [ "$other" = "$own" ] || return
    own=$(sed -n 's/^neuroncore_total_utilization_ratio{.*} //p' both | jq -s 'add / length')
    other=$(value both "hw_gpu_utilization_ratio\{.*$device.*\}")
    jq -ne "$own > 0 and ($own - $other | fabs) < 1e-9" >/dev/null &&
        [ "$(value both 'hw_status\{.*hw_state="ok".*\}') $(value both 'hw_status\{.*hw_state="failed".*\}')" = '1 0' ] && echo yes
}
wait_for agrees_by_device
[ "$(grep -c '^# TYPE hw_errors_total counter' both) $(grep -c '^hw_errors_total{.*error_type="\(un\)*corrected"' both)" = '1 2' ] ||
    fail "unexpected errors by type: $(grep hw_errors both)"
end
kill "$bench"

# Through a pipe, as on a page.
neuron-monitor --no-imds --period 500ms > >(neuron-monitor-prometheus --port 0 --address 127.0.0.1 --names observer >pipe.out 2>pipe.err) 2>/dev/null &
wait_for is_listening pipe.out
wait_for eval 'page pipe.out | greps "^neuron_system_vcpu_count" && echo yes'
! page pipe.out | greps '^system_vcpu_count' || fail "our names in the pipe"

# Cards: each has its labels, and free plus used memory is the total.
[ -z "${NTK_SANITIZE:-}" ] || exit 0 # a client without the sanitizer cannot load our library with it
export NEURON_SOFT_INSTANCE=mlu270x4 NEURON_HOOKS_DIR=$memory/hooks/mlu
mkdir -m 700 "$NEURON_HOOKS_DIR"
cat >card.c <<'C'
#include <unistd.h>
#include "neuware/g2/cnrt.h"
int main(void)
{
    cnrtDev_t device;
    void *memory;
    return cnrtInit(0) || cnrtGetDeviceHandle(&device, 1) || cnrtSetCurrentDevice(device) ||
           cnrtMalloc(&memory, 64u << 20) || sleep(600);
}
C
cc -I"$NTK_SOURCE_DIR/runtime-hooks/include" card.c -L"$NTK_LIB_DIR" -lcnrt -Wl,-rpath,"$NTK_LIB_DIR" -o card
./card &
card=$!
agent mlu
is_used() {
    page agent.log >cards || return
    local used=$(value cards 'mlu_memory_used\{.*mlu="1".*\}') free=$(value cards 'mlu_memory_free\{.*mlu="1".*\}')
    [ -n "$used" ] && [ "$used" -ge $((64 << 20)) ] && [ $((used + free)) = "$(value cards 'mlu_memory_total\{.*mlu="1".*\}')" ] &&
        [ "$(value cards "mlu_process_physical_memory_used\{.*mlu=\"1\".*pid=\"$card\".*\}")" -ge $((64 << 20)) ] &&
        [ "$(grep -c '^mlu_health{.*model="MLU270".* 1$' cards)" = 4 ] && echo yes # all cards of the tree have been written
}
wait_for is_used
[ "$(grep -c '^mlu_utilization{' cards)" = 4 ] && [ "$(grep -c '^mlu_core_utilization{' cards)" = 16 ] || fail "unexpected series of cards: $(cat cards)"
[ "$(value cards mlu_machine_mlu_nums)" = 4 ] || fail "unexpected number of cards: $(cat cards)"
end
