/* SPDX-License-Identifier: MIT */
/* onchip_traffic - multiplies the number of runs of each slot with the size of its operands. */
#include "profiler/analysis/onchip_traffic.h"

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/open_slot.h"
#include "profiler/trace/executed.h"
#include "shared/formats/neff/vendor_slot.h"

static void add(struct ntk_onchip_traffic *traffic, enum ntk_isa_space space, bool is_write,
                uint64_t bytes_count)
{
    if (space == NTK_ISA_SPACE_SBUF) {
        *(is_write ? &traffic->sbuf_write_bytes : &traffic->sbuf_read_bytes) += bytes_count;
    } else if (space == NTK_ISA_SPACE_PSUM) {
        *(is_write ? &traffic->psum_write_bytes : &traffic->psum_read_bytes) += bytes_count;
    }
}

static void add_operands(struct ntk_onchip_traffic *traffic, const struct ntk_isa_instr *instr,
                         uint64_t times)
{
    const struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    uint64_t from_psum = 0;

    for (unsigned role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        const struct ntk_isa_operand *operand = &instr->operand[role];
        bool is_write = role == NTK_ISA_DST || role == NTK_ISA_DST2;
        uint64_t bytes_count = times * ntk_dma_rows_of(instr, role) *
                               ntk_isa_operand_elements(operand) * ntk_dtype_bytes(operand->dtype);
        if (operand->space == NTK_ISA_SPACE_NONE) {
            continue;
        }
        add(traffic, operand->space, is_write, bytes_count);
        from_psum += !is_write && operand->space == NTK_ISA_SPACE_PSUM ? bytes_count : 0;
    }
    /* A DMA that accumulates into the state buffer also reads the state buffer. */
    if (ntk_isa_ends_later(instr->op) && (instr->op_flags & NTK_ISA_OPF_ACCUMULATE)) {
        add(traffic, to->space, false,
            times * ntk_dma_rows_of(instr, NTK_ISA_DST) * ntk_isa_operand_elements(to) *
                ntk_dtype_bytes(to->dtype));
    }
    if (from_psum && to->space == NTK_ISA_SPACE_SBUF) {
        traffic->psum_to_sbuf_count += times;
        traffic->psum_to_sbuf_bytes += from_psum;
    }
}

/* Returns the bytes of the side, if it is in the state buffer. */
static uint64_t sbuf_bytes(const struct ntk_neff_subgraph *neff,
                           const struct ntk_neff_pattern *pattern)
{
    return pattern->var < neff->var_count &&
                   neff->vars[pattern->var].type == NTK_NEFF_VAR_STATE_BUFFER
               ? ntk_dma_pattern_bytes(pattern)
               : 0;
}

static bool add_groups(struct ntk_onchip_traffic *traffic, const struct ntk_trace_core *core,
                       unsigned engine, const struct ntk_isa_instr *instr, uint64_t times)
{
    const struct ntk_neff_transfer *transfer;
    struct ntk_dma_cursor cursor = { 0 };

    while ((transfer = ntk_dma_transfer_next(core, engine, instr, &cursor)) != NULL) {
        uint64_t written = sbuf_bytes(core->neff, &transfer->to);
        for (uint32_t s = 0; s < transfer->source_count; s++) {
            traffic->sbuf_read_bytes += times * sbuf_bytes(core->neff, &transfer->from[s]);
        }
        traffic->sbuf_read_bytes += ntk_dma_transfer_accumulates(transfer) ? times * written : 0;
        traffic->sbuf_write_bytes += times * written;
    }
    return cursor.has_group;
}

static bool add_open(struct ntk_onchip_traffic *traffic, const struct ntk_trace_core *core,
                     unsigned engine, const struct ntk_isa_instr *instr, uint64_t times)
{
    if (instr->op == NTK_ISA_OP_DMA_TRIGGER) {
        return add_groups(traffic, core, engine, instr, times);
    }
    add_operands(traffic, instr, times);
    return true;
}

static void add_vendor(struct ntk_onchip_traffic *traffic, const struct ntk_trace *trace,
                       const struct ntk_executed *executed)
{
    const uint8_t *slot = ntk_ntff_slot_get(executed->core->ntff, executed->instruction.engine,
                                            executed->instruction.slot);
    bool has_layout = trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation);
    uint64_t times = executed->times;
    struct ntk_vendor_work work = { .may_use_psum = true };

    if (slot && has_layout) {
        ntk_vendor_slot_work(slot, trace->metrics, &work);
    }
    if (!work.is_known) {
        traffic->sbuf_is_known = false;
        traffic->psum_is_known = traffic->psum_is_known && !work.may_use_psum;
        traffic->uncounted += times;
        return;
    }
    traffic->sbuf_read_bytes += times * work.sbuf_read_bytes;
    traffic->sbuf_write_bytes += times * work.sbuf_write_bytes;
    traffic->psum_read_bytes += times * work.psum_read_bytes;
    traffic->psum_write_bytes += times * work.psum_write_bytes;
    traffic->psum_to_sbuf_count += work.is_psum_to_sbuf ? times : 0;
    traffic->psum_to_sbuf_bytes += times * work.psum_to_sbuf_bytes;
}

/* Kinds of programs found so far. */
struct seen {
    bool has_open, has_vendor, has_trigger;
};

static void add_executed(struct ntk_onchip_traffic *traffic, const struct ntk_trace *trace,
                         const struct ntk_executed *executed, struct seen *seen)
{
    const struct ntk_trace_core *core = executed->core;
    unsigned engine = executed->instruction.engine;
    struct ntk_isa_instr instr;

    if (ntk_open_slot_decode(core, &executed->instruction, &instr)) {
        seen->has_open = true;
        traffic->sbuf_is_known =
            add_open(traffic, core, engine, &instr, executed->times) && traffic->sbuf_is_known;
        return;
    }
    seen->has_vendor = true;
    if (ntk_dma_trigger_get(core, &executed->instruction, &instr)) {
        seen->has_trigger = true;
        traffic->sbuf_is_known =
            add_groups(traffic, core, engine, &instr, executed->times) && traffic->sbuf_is_known;
    } else {
        add_vendor(traffic, trace, executed);
    }
}

void ntk_analysis_onchip_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *dma,
                                 struct ntk_onchip_traffic *out)
{
    struct ntk_onchip_traffic traffic = { .sbuf_is_known = !trace->is_cut.instructions,
                                          .psum_is_known = !trace->is_cut.instructions };
    struct seen seen = { 0 };

    for (size_t c = 0; c < trace->core_count; c++) {
        struct ntk_executed executed = { .core = &trace->cores[c] };
        while (ntk_executed_next(&executed)) {
            add_executed(&traffic, trace, &executed, &seen);
        }
    }
    /* Only the NEFF has the transfers and destinations of a vendor's prepared queues. */
    if (seen.has_vendor && !seen.has_open && !seen.has_trigger && ntk_dma_prepared_packets(dma)) {
        traffic.sbuf_is_known = false;
    }
    *out = traffic;
}
