/* SPDX-License-Identifier: MIT */
/* queue_bytes - counts bytes moved by executed instructions over queues with a type in the NEFF. */
#include "profiler/analysis/queue_bytes.h"

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/open_slot.h"
#include "profiler/trace/executed.h"

static uint64_t transfers_bytes(const struct ntk_trace_core *core, unsigned engine,
                                const struct ntk_isa_instr *trigger)
{
    const struct ntk_neff_transfer *transfer;
    struct ntk_dma_cursor cursor = { 0 };
    uint64_t bytes_count = 0;

    while ((transfer = ntk_dma_transfer_next(core, engine, trigger, &cursor)) != NULL) {
        bytes_count += ntk_dma_pattern_bytes(&transfer->to);
    }
    return bytes_count;
}

static void add(const struct ntk_neff_subgraph *neff, uint32_t queue, uint64_t bytes_count,
                struct ntk_queue_bytes *bytes)
{
    if (queue >= neff->queue_set_count) {
        return;
    }
    switch (neff->queue_sets[queue].type) {
    case NTK_NEFF_QUEUE_IN:
        bytes->input_bytes += bytes_count;
        break;
    case NTK_NEFF_QUEUE_OUT:
        bytes->output_bytes += bytes_count;
        break;
    case NTK_NEFF_QUEUE_DATA:
    case NTK_NEFF_QUEUE_EMBEDDING_UPDATE:
        bytes->weight_bytes += bytes_count;
        break;
    case NTK_NEFF_QUEUE_DYNAMIC:
        break;
    }
}

/* Adds a core; returns true if the owner of all prepared packets is known. */
static bool add_core(const struct ntk_trace_core *core, bool may_have_prepared,
                     struct ntk_queue_bytes *bytes)
{
    struct ntk_executed executed = { .core = core };
    bool has_transfer = false;

    while (core->neff && ntk_executed_next(&executed)) {
        const struct ntk_trace_instruction *instruction = &executed.instruction;
        struct ntk_isa_instr instr;

        if (ntk_dma_trigger_get(core, instruction, &instr)) {
            add(core->neff, instr.queue,
                executed.times * transfers_bytes(core, instruction->engine, &instr), bytes);
            has_transfer = true;
        } else if (ntk_open_slot_decode(core, instruction, &instr) &&
                   ntk_isa_ends_later(instr.op)) {
            const struct ntk_isa_operand *to = &instr.operand[NTK_ISA_DST];
            add(core->neff, instr.queue,
                executed.times * ntk_dma_rows_of(&instr, NTK_ISA_DST) *
                    ntk_isa_operand_elements(to) * ntk_dtype_bytes(to->dtype),
                bytes);
            has_transfer = true;
        }
    }
    if (has_transfer || !may_have_prepared) {
        return true;
    }
    ntk_trace_each_packet(core, packet) {
        if (ntk_trace_is_prepared(packet->dma_class)) {
            return false;
        }
    }
    return true;
}

void ntk_analysis_queue_bytes(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                              struct ntk_queue_bytes *out_bytes)
{
    struct ntk_queue_bytes bytes = { .is_known = true };
    bool may_have_prepared = !traffic || ntk_dma_prepared_packets(traffic);

    for (size_t c = 0; c < trace->core_count && bytes.is_known; c++) {
        bytes.is_known = add_core(&trace->cores[c], may_have_prepared, &bytes);
    }
    *out_bytes = bytes;
}
