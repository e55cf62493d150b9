/* SPDX-License-Identifier: MIT */
/* hbm_traffic - adds up the DMA instructions that ran. */
#include "profiler/analysis/hbm_traffic.h"

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/moves.h"
#include "profiler/analysis/open_slot.h"
#include "shared/formats/neff/vendor_slot.h"
#include "profiler/trace/executed.h"
#include "shared/formats/neff/neff.h"

struct sums {
    bool is_known;
    bool has_open, has_trigger;
    uint64_t times; /* number of runs of the instruction */
    uint64_t read_bytes, write_bytes;
    bool has_lost; /* true if some bytes belong to a variable that is not named in the files */
    uint64_t save_bytes, reload_bytes;
    ntk_hbm_visit *visit; /* may be NULL */
    void *ctx;
};

static void add_read(struct sums *sums, const struct ntk_neff_var *var, uint64_t bytes_count)
{
    sums->read_bytes += sums->times * bytes_count;
    sums->has_lost = sums->has_lost || (bytes_count && !var);
    if (var && var->type != NTK_NEFF_VAR_INPUT && var->type != NTK_NEFF_VAR_FILE) {
        sums->reload_bytes += sums->times * bytes_count;
    }
    if (sums->visit && bytes_count) {
        sums->visit(var, false, bytes_count, sums->ctx);
    }
}

static void add_write(struct sums *sums, const struct ntk_neff_var *var, uint64_t bytes_count)
{
    sums->write_bytes += sums->times * bytes_count;
    sums->has_lost = sums->has_lost || (bytes_count && !var);
    if (var && var->type != NTK_NEFF_VAR_OUTPUT) {
        sums->save_bytes += sums->times * bytes_count;
    }
    if (sums->visit && bytes_count) {
        sums->visit(var, true, bytes_count, sums->ctx);
    }
}

static uint64_t operand_bytes(const struct ntk_isa_operand *operand)
{
    return ntk_isa_operand_elements(operand) * ntk_dtype_bytes(operand->dtype);
}

static bool pattern_is_hbm(const struct ntk_neff_subgraph *subgraph,
                           const struct ntk_neff_pattern *pattern)
{
    return pattern->var < subgraph->var_count &&
           subgraph->vars[pattern->var].type != NTK_NEFF_VAR_STATE_BUFFER;
}

static void add_transfer(struct sums *sums, const struct ntk_neff_subgraph *neff,
                         const struct ntk_neff_transfer *transfer)
{
    for (uint32_t s = 0; s < transfer->source_count; s++) {
        if (pattern_is_hbm(neff, &transfer->from[s])) {
            add_read(sums, &neff->vars[transfer->from[s].var],
                     ntk_dma_pattern_bytes(&transfer->from[s]));
        }
    }
    if (pattern_is_hbm(neff, &transfer->to)) {
        const struct ntk_neff_var *var = &neff->vars[transfer->to.var];
        add_read(sums, var,
                 ntk_dma_transfer_accumulates(transfer) ? ntk_dma_pattern_bytes(&transfer->to) : 0);
        add_write(sums, var, ntk_dma_pattern_bytes(&transfer->to));
    }
}

/* Adds the descriptors of a group in the NEFF. */
static void add_group(struct sums *sums, const struct ntk_trace_core *core, unsigned engine,
                      const struct ntk_isa_instr *instr)
{
    const struct ntk_neff_transfer *transfer;
    struct ntk_dma_cursor cursor = { 0 };

    while ((transfer = ntk_dma_transfer_next(core, engine, instr, &cursor)) != NULL) {
        add_transfer(sums, core->neff, transfer);
    }
    sums->is_known = sums->is_known && cursor.has_group;
}

/* Returns the bytes in the rows of an operand, if it is in device memory */
static uint64_t hbm_bytes(const struct ntk_isa_operand *operand, uint64_t rows)
{
    return operand->space == NTK_ISA_SPACE_VAR ? rows * operand_bytes(operand) : 0;
}

static const struct ntk_neff_var *operand_var(const struct ntk_trace_core *core,
                                              const struct ntk_isa_operand *operand)
{
    return core->neff && operand->space == NTK_ISA_SPACE_VAR
               ? ntk_neff_var_by_id(core->neff, operand->var_id)
               : NULL;
}

static void add_open(struct sums *sums, const struct ntk_trace_core *core,
                     const struct ntk_trace_instruction *instruction,
                     const struct ntk_isa_instr *instr)
{
    const struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];

    sums->has_open = true;
    switch (instr->op) {
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
        /* The operand of an indexed side is one row. */
        add_read(sums, operand_var(core, &instr->operand[NTK_ISA_SRC0]),
                 hbm_bytes(&instr->operand[NTK_ISA_SRC0], ntk_dma_rows_of(instr, NTK_ISA_SRC0)));
        break;
    case NTK_ISA_OP_DMA_COPY:
    case NTK_ISA_OP_DMA_TRANSPOSE:
    case NTK_ISA_OP_DMA_COMPUTE:
        for (int s = 0; s < NTK_ISA_DMA_SOURCES; s++) {
            const struct ntk_isa_operand *from = &instr->operand[ntk_isa_dma_sources[s]];
            add_read(sums, operand_var(core, from), hbm_bytes(from, 1));
        }
        break;
    case NTK_ISA_OP_DMA_TRIGGER:
        add_group(sums, core, instruction->engine, instr);
        return;
    default:
        return;
    }
    uint64_t written = hbm_bytes(to, ntk_dma_rows_of(instr, NTK_ISA_DST));
    add_read(sums, operand_var(core, to), instr->op_flags & NTK_ISA_OPF_ACCUMULATE ? written : 0);
    add_write(sums, operand_var(core, to), written);
}

static void add_vendor(struct sums *sums, const struct ntk_trace_core *core,
                       const struct ntk_trace_instruction *instruction)
{
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    struct ntk_vendor_work work;

    /* transfers are the same in both versions */
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    add_read(sums, ntk_moves_vendor_var(core, instruction, NTK_MOVES_SOURCE), work.hbm_read_bytes);
    add_write(sums, ntk_moves_vendor_var(core, instruction, NTK_MOVES_DEST), work.hbm_write_bytes);
}

bool ntk_hbm_traffic_is_dma(uint8_t opcode)
{
    return opcode == NTK_NTFF_OPCODE_DMA_DIRECT2D || opcode == NTK_NTFF_OPCODE_DMA_TRIGGER ||
           opcode == NTK_NTFF_OPCODE_DMA_INDIRECT_COPY || opcode == NTK_NTFF_OPCODE_DMA_TRANSPOSE ||
           opcode == NTK_NTFF_OPCODE_DMA_COMPUTE;
}

static void add_instruction(struct sums *sums, const struct ntk_trace *trace,
                            const struct ntk_trace_core *core,
                            const struct ntk_trace_instruction *instruction)
{
    struct ntk_isa_instr open;

    if (ntk_open_slot_decode(core, instruction, &open)) {
        add_open(sums, core, instruction, &open);
    } else if (instruction->opcode == NTK_NTFF_OPCODE_DMA_DIRECT2D && trace->has_chip &&
               ntk_vendor_slot_has_layout(trace->chip.generation)) {
        add_vendor(sums, core, instruction);
    } else {
        sums->is_known = false;
    }
}

bool ntk_hbm_traffic_visit(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                           const struct ntk_trace_instruction *instruction, ntk_hbm_visit *visit,
                           void *ctx)
{
    struct sums sums = { .is_known = true, .times = 1, .visit = visit, .ctx = ctx };
    struct ntk_isa_instr trigger;

    if (ntk_hbm_traffic_is_dma(instruction->opcode)) {
        add_instruction(&sums, trace, core, instruction);
    } else if (ntk_dma_trigger_get(core, instruction, &trigger)) {
        add_group(&sums, core, instruction->engine, &trigger);
    } else {
        return false;
    }
    return sums.is_known;
}

void ntk_analysis_hbm_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                              struct ntk_hbm_traffic *out_hbm)
{
    struct sums sums = { .is_known = !trace->is_cut.instructions };
    struct sums groups = { .is_known = true }; /* groups of a vendor's triggers */

    for (size_t c = 0; c < trace->core_count && sums.is_known; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        struct ntk_executed executed = { .core = core };
        while (sums.is_known && ntk_executed_next(&executed)) {
            struct ntk_isa_instr trigger;
            if (ntk_hbm_traffic_is_dma(executed.instruction.opcode)) {
                sums.times = executed.times;
                add_instruction(&sums, trace, core, &executed.instruction);
            } else if (ntk_dma_trigger_get(core, &executed.instruction, &trigger)) {
                groups.times = executed.times;
                groups.has_trigger = true;
                add_group(&groups, core, executed.instruction.engine, &trigger);
            }
        }
    }
    /* Only the NEFF describes the data of a vendor's prepared queues. */
    if (ntk_dma_prepared_packets(traffic) && !sums.has_open && !groups.has_trigger) {
        sums.is_known = false;
    }
    bool is_known = sums.is_known && groups.is_known;
    *out_hbm =
        (struct ntk_hbm_traffic){ .is_known = is_known,
                                  .read_bytes = sums.read_bytes + groups.read_bytes,
                                  .write_bytes = sums.write_bytes + groups.write_bytes,
                                  .has_spills = is_known && !sums.has_lost && !groups.has_lost,
                                  .save_bytes = sums.save_bytes + groups.save_bytes,
                                  .reload_bytes = sums.reload_bytes + groups.reload_bytes };
}
