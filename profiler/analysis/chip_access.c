/* SPDX-License-Identifier: MIT */
/* chip_access - operands of the open encoding, prepared transfers, and a vendor's slots as ranges. */
#include "profiler/analysis/chip_access.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/open_slot.h"
#include "profiler/trace/executed.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/vendor_slot.h"

#define PARTITIONS 128

struct learning {
    struct ntk_chip_accesses *accesses;
    const struct ntk_trace_core *core;
    int failed;
};

const char *ntk_chip_space_name(enum ntk_chip_space space)
{
    return space == NTK_CHIP_SBUF ? "sbuf" : "psum";
}

static void add(struct learning *l, unsigned space, int64_t low, int64_t high, unsigned samples,
                bool is_write, bool is_read)
{
    const int64_t most = NTK_ISA_SBUF_PARTITION_BYTES_MAX;

    low = low < 0 ? 0 : low;
    high = high > most ? most : high;
    if (low >= high) {
        return;
    }
    struct ntk_chip_access access = {
        .low = (uint32_t)low,
        .high = (uint32_t)high,
        .space = (uint8_t)space,
        .samples = (uint8_t)samples,
        .is_write = is_write,
        .is_read = is_read,
    };
    if (ntk_vec_push(&l->accesses->list, &access) < 0) {
        l->failed = -ENOMEM;
    }
}

/* count partitions from first on, each so many behind the one before. */
static unsigned samples_of(int64_t first, uint64_t count, int64_t step)
{
    unsigned samples = 0;

    for (uint64_t i = 0; i < count && i < PARTITIONS; i++, first += step) {
        if (first >= 0 && first < PARTITIONS && first % NTK_CHIP_SAMPLE_STEP == 0) {
            samples |= 1U << (first / NTK_CHIP_SAMPLE_STEP);
        }
    }
    return samples;
}

static void add_operand(struct learning *l, const struct ntk_isa_operand *operand, bool is_write,
                        bool is_read)
{
    int64_t low;
    int64_t high;

    if (operand->space != NTK_ISA_SPACE_SBUF && operand->space != NTK_ISA_SPACE_PSUM) {
        return;
    }
    ntk_isa_operand_extent(operand, &low, &high);
    add(l, operand->space == NTK_ISA_SPACE_SBUF ? NTK_CHIP_SBUF : NTK_CHIP_PSUM, low, high,
        samples_of(operand->partition_start, operand->partition_count, operand->partition_step),
        is_write, is_read);
}

/* A side of a prepared transfer: steps of whole partitions do not lengthen what is touched in
 * each. */
static void add_pattern(struct learning *l, const struct ntk_neff_pattern *pattern, bool is_write)
{
    const struct ntk_neff_subgraph *neff = l->core->neff;
    const uint64_t most = NTK_NEFF_SBUF_PARTITION_STEP;
    uint64_t low = pattern->offset % most;
    uint64_t length = pattern->dim_count ? pattern->sizes[0] : 0;
    int64_t first = (int64_t)(pattern->offset / most);
    unsigned samples = samples_of(first, 1, 0);

    if (pattern->var >= neff->var_count ||
        neff->vars[pattern->var].type != NTK_NEFF_VAR_STATE_BUFFER) {
        return;
    }
    length = length > most ? most : length;
    for (uint32_t d = 1; d < pattern->dim_count; d++) {
        /* A dimension of one element may have any step, also the one whose opposite no int64_t
         * holds. */
        uint64_t step =
            pattern->steps[d] < 0 ? -(uint64_t)pattern->steps[d] : (uint64_t)pattern->steps[d];
        if (step >= most && pattern->sizes[d] > 1) {
            samples |= samples_of(first, pattern->sizes[d], pattern->steps[d] / (int64_t)most);
        }
        if (step < most && pattern->sizes[d] > 1 && pattern->sizes[d] < most) {
            length += (pattern->sizes[d] - 1) * step;
            length = length > most ? most : length;
        }
    }
    add(l, NTK_CHIP_SBUF, (int64_t)low, (int64_t)(low + length), samples, is_write, !is_write);
}

static bool add_group(struct learning *l, unsigned engine, const struct ntk_isa_instr *instr)
{
    const struct ntk_neff_dma_group *group;
    uint32_t index = 0;
    bool is_found = false;

    while ((group = ntk_dma_group_next(l->core, engine, instr, &index)) != NULL) {
        is_found = true;
        for (uint32_t t = 0; t < group->transfer_count; t++) {
            for (uint32_t s = 0; s < group->transfers[t].source_count; s++) {
                add_pattern(l, &group->transfers[t].from[s], false);
            }
            add_pattern(l, &group->transfers[t].to, true);
        }
    }
    return is_found;
}

static bool add_open(struct learning *l, unsigned engine, const struct ntk_isa_instr *instr)
{
    bool adds = (instr->op_flags & NTK_ISA_OPF_ACCUMULATE) != 0;
    bool is_known = instr->op != NTK_ISA_OP_DMA_TRIGGER || add_group(l, engine, instr);

    for (int o = 0; o < NTK_ISA_OPERAND_COUNT; o++) {
        if (o != NTK_ISA_DST && o != NTK_ISA_DST2) {
            add_operand(l, &instr->operand[o], false, true);
        }
    }
    add_operand(l, &instr->operand[NTK_ISA_DST], true, adds);
    add_operand(l, &instr->operand[NTK_ISA_DST2], true, adds);
    return is_known;
}

/* Which partitions a tile begins at does not stand where its other numbers do: all of them. */
static bool add_vendor(struct learning *l, const uint8_t *slot)
{
    struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];
    int count = ntk_vendor_slot_ranges(slot, ranges);

    for (int i = 0; i < count; i++) {
        add(l, ranges[i].is_psum ? NTK_CHIP_PSUM : NTK_CHIP_SBUF, ranges[i].low, ranges[i].high,
            NTK_CHIP_SAMPLES_ALL, ranges[i].is_write, !ranges[i].is_write);
    }
    return count >= 0;
}

static void learn(struct learning *l, const struct ntk_program *program, size_t core_index,
                  const struct ntk_trace_instruction *instruction, struct ntk_chip_slot *slot)
{
    const struct ntk_trace *trace = program->trace;
    const uint8_t *bytes = ntk_ntff_slot_get(l->core->ntff, instruction->engine, instruction->slot);
    struct ntk_isa_instr open;

    slot->has_run = true;
    slot->first = (uint32_t)l->accesses->list.count;
    if (ntk_program_fact(program, core_index, instruction)->is_runtime) {
        slot->is_known = true;
    } else if (ntk_open_slot_decode(l->core, instruction, &open)) {
        l->accesses->has_open = true;
        slot->is_known = add_open(l, instruction->engine, &open);
    } else {
        l->accesses->has_vendor = true;
        slot->is_known = bytes && trace->has_chip &&
                         trace->chip.generation == NTK_VENDOR_SLOT_GENERATION &&
                         add_vendor(l, bytes);
    }
    slot->count = (uint32_t)l->accesses->list.count - slot->first;
    l->accesses->is_known = l->accesses->is_known && slot->is_known;
}

int ntk_chip_accesses_init(struct ntk_chip_accesses *accesses, const struct ntk_program *program,
                           size_t core_index)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    struct learning l = { .accesses = accesses, .core = core };
    struct ntk_executed executed = { .core = core };

    *accesses = (struct ntk_chip_accesses){ .is_known = true };
    ntk_vec_init(&accesses->list, sizeof(struct ntk_chip_access));
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[e];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        accesses->slots[e] = calloc(slots + 1, sizeof *accesses->slots[e]);
        l.failed = accesses->slots[e] ? l.failed : -ENOMEM;
    }
    while (l.failed == 0 && ntk_executed_next(&executed)) {
        struct ntk_chip_slot *slot =
            &accesses->slots[executed.instruction.engine][executed.instruction.slot];
        if (!slot->has_run) {
            learn(&l, program, core_index, &executed.instruction, slot);
        }
    }
    if (l.failed < 0) {
        ntk_chip_accesses_fini(accesses);
    }
    return l.failed;
}

void ntk_chip_accesses_fini(struct ntk_chip_accesses *accesses)
{
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(accesses->slots[e]);
    }
    ntk_vec_fini(&accesses->list);
    *accesses = (struct ntk_chip_accesses){ 0 };
}
