#!/bin/bash
# vendor_advice - findings of analyze for captures of real hardware, compared with the records that they refer to.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq
[ -n "${NTK_VENDOR_CAPTURES:-}" ] || skip "NTK_VENDOR_CAPTURES is not set"
ask() { # CAPTURE ANALYSES [OPTION]...: prints JSON
    neuron-profile analyze -s "$NTK_VENDOR_CAPTURES/$1.ntff" -n "$NTK_VENDOR_CAPTURES/$1.neff" --json "${@:3}" $2 2>err
}
holds() { # FILE WHAT FILTER
    jq -e "$3" "$1" >/dev/null || fail "$2: $(jq -c '.advice | map(.text)' "$1")"
}

# From 19.62 to 41.57 us, Tensor waits for DMA. Transfers take 12.1 us of it, and TENSOR_REDUCE 5.4 us.
ask v6_baseline_bf16_s512 "advice idle" >baseline.json
holds baseline.json "the wait of Tensor names a part of DMA" '[.advice[] | select(.id == "wait" and (.text | test("^Tensor .*waiting for DMA"))) |
    select(.text | test("for (Vector|TENSOR_REDUCE)") | not)] | length == 1'
holds baseline.json "the chain of the same wait has another root" '[.idle.engines[].chains[] | select(.idle_ns > 21900 and .idle_ns < 22000) |
    select(.root | startswith("DMA queue"))] | length == 1'
holds baseline.json "the root of a chain is not its largest part" 'all(.idle.engines[].chains[] | select(.root_waited_for_unknown | not);
    . as $chain | ([.links[].part_ns] | max) as $most | any(.links[]; .part_ns == $most and .name == $chain.root))'

# The range is inside the execution of 38.1 us, and the tensor engine works for more than half of it.
ask v6_fused_fp32_s512 "advice" --from 13.3us --to 23.8us >part.json
holds part.json "a prologue or epilogue inside the execution" 'all(.advice[]; .id != "runtime")'
ask v6_fused_fp32_s512 "advice" >whole.json
holds whole.json "no prologue or epilogue of the execution" 'any(.advice[]; .id == "runtime")'

# The last MATMUL ends at 30.62 us; the core is throttled from 31.55 us on.
ask v5_transpose_1024 "advice" >transpose.json
holds transpose.json "throttling after the last product" 'all(.advice[]; .id != "throttling")'

# 6 of 407 changes are missing: a note. 70% of v6_attn_tkg: the first item, and causes are uncertain.
holds baseline.json "a few missing changes come first" '.advice[0].id != "incomplete" and .advice[-1].id == "incomplete"'
ask v6_attn_tkg "advice" >attention.json
holds attention.json "many missing changes are not first" '.advice[0].id == "incomplete" and (.advice[0].what_to_do | test("disk") | not)'
holds attention.json "waits are certain" 'all(.advice[] | select(.id == "wait"); .text | test("uncertain: 70%"))'

# GpSimd is occupied for 67% of v6_attn_tkg: it writes the descriptors of 324 transfers. 2560 packets of 8 bytes are on
# the critical path for 12%, although their queue is active for less than 5%.
holds attention.json "GpSimd's control code is not reported" 'any(.advice[]; .id == "gpsimd-control" and (.text | test("DMA_DIRECT2D")) and
    .estimated_gain_ns > 0 and .largest_gain_ns >= .estimated_gain_ns)'
holds attention.json "packets of 8 bytes are not reported" 'any(.advice[]; .id == "small-packets" and (.text | test("qSyncDynamicHW .*8B on average.*100.0% of its bytes")))'

# Scratch tensors take 2.0 MB each way, by queues that are not named spill queues: one statement has both.
ask v6_baseline_bf16_s512 "dma" >dma.json
jq -e '.dma.spill_save_bytes == 2097152 and .dma.spill_reload_bytes == 2097152 and .dma.spill_bytes == 0' dma.json >/dev/null ||
    fail "spilled values: $(jq -c '.dma | [.spill_save_bytes, .spill_reload_bytes, .spill_bytes]' dma.json)"

# 16 DMA engines move 435 GB/s, but MBU is a share of 716: the text says so.
neuron-profile analyze -s "$NTK_VENDOR_CAPTURES/v6_fused_fp32_s512.ntff" roofline >roofline 2>err || fail "roofline: $(cat err)"
grep -q '^Memory: 435 GB/s, limited by the DMA engines' roofline && grep -q '^MBU in the summary is a share of the peak of one memory stack' roofline ||
    fail "roofline does not say what MBU is a share of: $(cat roofline)"

# Only Tensor changes semaphore 5, and the idle analysis agrees. No row is about a barrier of the runtime.
ask v6_attn_tkg "what-if idle" >what_if.json
jq -e '(.["what-if"].changes[] | select(.change == "wait:5") | .semaphore_changed_by) as $by |
    ([.idle.engines[].waits[] | select(.semaphore == 5) | .changed_by] | unique) as $engines | $by == "Tensor" and $engines == ["tensor"] and
    all(.["what-if"].changes[]; .semaphore_changed_by != "the runtime")' \
    what_if.json >/dev/null || fail "semaphore 5: $(jq -c '[.["what-if"].changes[] | [.change, .semaphore_changed_by]]' what_if.json)"

# docs/formats/ntff.md: activity_0 has k = n, lasts a whole number of windows of 4096 cycles of 1.2 GHz, and products
# take less time from its beginning on.
for c in v6_baseline_bf16_s512 v6_fused_fp32_s512 v5_transpose_1024; do
    neuron-profile query -s "$NTK_VENDOR_CAPTURES/$c.ntff" --json "select t.k = t.n as is_full,
        abs(t.duration / 3413.333 - round(t.duration / 3413.333)) off,
        (select min(duration_ns) from Instruction where opcode = 'MATMUL' and end_ts < t.timestamp) before,
        (select min(duration_ns) from Instruction where opcode = 'MATMUL' and start_ts > t.timestamp) after
        from Throttle t where t.type = 'activity_0'" >activity.json 2>err || fail "$c: $(cat err)"
    jq -e 'flatten | .[0] | .is_full == 1 and .off < 0.01 and .after < .before' activity.json >/dev/null || fail "$c: activity_0: $(cat activity.json)"
done
