/* SPDX-License-Identifier: MIT */
/* onchip_traffic - how often each slot ran, times what its operands are. */
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
    /* A DMA that folds with what the state buffer holds reads it. */
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

/* Bytes of the side, when it lies in the state buffer. */
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

/* Of hardware: as the original tool counts, of what engines compute one partition. */
static bool add_vendor(struct ntk_onchip_traffic *traffic, const struct ntk_trace_core *core,
                       const struct ntk_trace_instruction *instruction, uint64_t times)
{
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    struct ntk_vendor_work work;

    if (!slot) {
        return false;
    }
    ntk_vendor_slot_work(slot, &work);
    traffic->sbuf_read_bytes += times * work.sbuf_read_bytes;
    traffic->sbuf_write_bytes += times * work.sbuf_write_bytes;
    traffic->psum_read_bytes += times * work.psum_read_bytes;
    traffic->psum_write_bytes += times * work.psum_write_bytes;
    traffic->psum_to_sbuf_count += work.is_psum_to_sbuf ? times : 0;
    traffic->psum_to_sbuf_bytes += times * work.psum_to_sbuf_bytes;
    return work.is_known;
}

void ntk_analysis_onchip_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *dma,
                                 struct ntk_onchip_traffic *out)
{
    struct ntk_onchip_traffic traffic = { .is_known = !trace->is_cut.instructions };
    bool has_chip = trace->has_chip && trace->chip.generation == NTK_VENDOR_SLOT_GENERATION;
    bool has_open = false, has_vendor = false, has_trigger = false;

    for (size_t c = 0; c < trace->core_count && traffic.is_known; c++) {
        struct ntk_executed executed = { .core = &trace->cores[c] };
        while (traffic.is_known && ntk_executed_next(&executed)) {
            struct ntk_isa_instr instr;
            bool is_open = ntk_open_slot_decode(executed.core, &executed.instruction, &instr);
            has_open = has_open || is_open;
            has_vendor = has_vendor || !is_open;
            if (!is_open && ntk_dma_trigger_get(executed.core, &executed.instruction, &instr)) {
                has_trigger = true;
                traffic.is_known =
                    has_chip && add_groups(&traffic, executed.core, executed.instruction.engine,
                                           &instr, executed.times);
                continue;
            }
            traffic.is_known = is_open
                                   ? add_open(&traffic, executed.core, executed.instruction.engine,
                                              &instr, executed.times)
                                   : has_chip && add_vendor(&traffic, executed.core,
                                                            &executed.instruction, executed.times);
        }
    }
    /* Nobody but the NEFF says what a vendor's prepared queues move, and where to. */
    if (has_vendor && !has_open && !has_trigger && ntk_dma_prepared_packets(dma)) {
        traffic.is_known = false;
    }
    *out = traffic;
}
