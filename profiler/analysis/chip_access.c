/* SPDX-License-Identifier: MIT */
/* chip_access - finds ranges of operands in the open encoding, in prepared transfers, and in a
 * vendor's slots. */
#include "profiler/analysis/chip_access.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/open_slot.h"
#include "shared/base/order.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/vendor_slot.h"

#define PARTITIONS 128

struct learning {
    bool is_unknown[256]; /* indexed by opcode: true if a slot with it is not decoded */
    struct ntk_chip_accesses *accesses;
    const struct ntk_trace_core *core;
    int64_t most[NTK_CHIP_SPACE_COUNT]; /* maximum bytes per partition */
    int failed;
};

const char *ntk_chip_space_name(enum ntk_chip_space space)
{
    return space == NTK_CHIP_SBUF ? "sbuf" : "psum";
}

static void add(struct learning *l, unsigned space, int64_t low, int64_t high,
                struct ntk_chip_access how)
{
    low = low < 0 ? 0 : low;
    high = high > l->most[space] ? l->most[space] : high;
    if (low >= high) {
        return;
    }
    how.space = (uint8_t)space;
    how.low = (uint32_t)low;
    how.high = (uint32_t)high;
    if (ntk_vec_push(&l->accesses->list, &how) < 0) {
        l->failed = -ENOMEM;
    }
}

/* Returns the samples for `count` partitions from `first` on, at this distance. */
static uint8_t samples_of(int64_t first, uint64_t count, int64_t step)
{
    uint8_t samples = 0;

    for (uint64_t i = 0; i < count && i < PARTITIONS; i++, first += step) {
        if (first >= 0 && first < PARTITIONS && first % NTK_CHIP_SAMPLE_STEP == 0) {
            samples |= (uint8_t)(1U << (first / NTK_CHIP_SAMPLE_STEP));
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
        (struct ntk_chip_access){
            .samples = samples_of(operand->partition_start, operand->partition_count,
                                  operand->partition_step),
            .views = NTK_CHIP_VIEWS_ALL,
            .is_write = is_write,
            .is_read = is_read,
        });
}

/* Adds one side of a prepared transfer: steps of whole partitions do not extend the range within a
 * partition. */
static void add_pattern(struct learning *l, const struct ntk_neff_pattern *pattern, unsigned views,
                        bool is_write, bool is_read)
{
    const struct ntk_neff_subgraph *neff = l->core->neff;
    const uint64_t most = NTK_NEFF_SBUF_PARTITION_STEP;
    uint64_t low = pattern->offset % most;
    uint64_t length = pattern->dim_count ? pattern->sizes[0] : 0;
    int64_t first = (int64_t)(pattern->offset / most);
    uint8_t samples = samples_of(first, 1, 0);

    if (pattern->var >= neff->var_count ||
        neff->vars[pattern->var].type != NTK_NEFF_VAR_STATE_BUFFER) {
        return;
    }
    length = length > most ? most : length;
    for (uint32_t d = 1; d < pattern->dim_count; d++) {
        /* A dimension of one element may have any step, even one that int64_t cannot negate. */
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
    add(l, NTK_CHIP_SBUF, (int64_t)low, (int64_t)(low + length),
        (struct ntk_chip_access){ .samples = samples,
                                  .views = (uint8_t)views,
                                  .is_write = is_write,
                                  .is_read = is_read });
}

static bool add_groups(struct learning *l, unsigned engine, const struct ntk_isa_instr *instr,
                       unsigned views)
{
    const struct ntk_neff_transfer *transfer;
    struct ntk_dma_cursor cursor = { 0 };

    while ((transfer = ntk_dma_transfer_next(l->core, engine, instr, &cursor)) != NULL) {
        for (uint32_t s = 0; s < transfer->source_count; s++) {
            add_pattern(l, &transfer->from[s], views, false, true);
        }
        add_pattern(l, &transfer->to, views, true, ntk_dma_transfer_accumulates(transfer));
    }
    return cursor.has_group;
}

static bool add_open(struct learning *l, unsigned engine, const struct ntk_isa_instr *instr)
{
    bool adds = (instr->op_flags & NTK_ISA_OPF_ACCUMULATE) != 0;
    bool is_known =
        instr->op != NTK_ISA_OP_DMA_TRIGGER || add_groups(l, engine, instr, NTK_CHIP_VIEWS_ALL);

    for (int o = 0; o < NTK_ISA_OPERAND_COUNT; o++) {
        if (o != NTK_ISA_DST && o != NTK_ISA_DST2) {
            add_operand(l, &instr->operand[o], false, true);
        }
    }
    add_operand(l, &instr->operand[NTK_ISA_DST], true, adds);
    add_operand(l, &instr->operand[NTK_ISA_DST2], true, adds);
    return is_known;
}

static void add_range(struct learning *l, const struct ntk_vendor_range *range, unsigned views)
{
    /* A tile does not record its first partition, so assume all. */
    add(l, range->is_psum ? NTK_CHIP_PSUM : NTK_CHIP_SBUF, range->low, range->high,
        (struct ntk_chip_access){
            .samples = range->partition_count ? samples_of(range->partition, range->partition_count,
                                                           range->partition_step)
                                              : NTK_CHIP_SAMPLES_ALL,
            .views = (uint8_t)views,
            .is_write = range->is_write,
            .is_read = !range->is_write || range->adds,
        });
}

static bool is_same(const struct ntk_vendor_range *a, const struct ntk_vendor_range *b)
{
    return a->is_psum == b->is_psum && a->is_write == b->is_write && a->adds == b->adds &&
           a->low == b->low && a->high == b->high;
}

/* Adds ranges of a vendor's slot; returns the views that have complete information. */
static uint8_t add_vendor(struct learning *l, const uint8_t *slot)
{
    struct ntk_vendor_range is[NTK_VENDOR_RANGES_MAX];
    struct ntk_vendor_range reported[NTK_VENDOR_RANGES_MAX];
    int is_count = ntk_vendor_slot_ranges(slot, false, is);
    int reported_count = ntk_vendor_slot_ranges(slot, true, reported);
    unsigned same = 0; /* bits of equal ranges among the reported ones */

    for (int i = 0; i < is_count; i++) {
        unsigned views = NTK_CHIP_AS_IT_IS;
        for (int t = 0; t < reported_count && views == NTK_CHIP_AS_IT_IS; t++) {
            if (is_same(&is[i], &reported[t]) && !(same >> t & 1)) {
                views = NTK_CHIP_VIEWS_ALL;
                same |= 1U << t;
            }
        }
        add_range(l, &is[i], views);
    }
    for (int t = 0; t < reported_count; t++) {
        if (!(same >> t & 1)) {
            add_range(l, &reported[t], NTK_CHIP_AS_REPORTED);
        }
    }
    return (uint8_t)((is_count >= 0 ? NTK_CHIP_AS_IT_IS : 0) |
                     (reported_count >= 0 ? NTK_CHIP_AS_REPORTED : 0));
}

/* Notes an unknown slot. Slots are passed in order of engine and position, or of time. */
static void note_unknown(struct learning *l, const struct ntk_trace_instruction *instruction)
{
    struct ntk_chip_unknown *unknown = &l->accesses->unknown;

    if (!unknown->is_instruction || instruction->engine < unknown->engine ||
        (instruction->engine == unknown->engine && instruction->slot < unknown->slot)) {
        unknown->is_instruction = true;
        unknown->engine = instruction->engine;
        unknown->opcode = instruction->opcode;
        unknown->slot = instruction->slot;
    }
    unknown->opcode_count += !l->is_unknown[instruction->opcode];
    l->is_unknown[instruction->opcode] = true;
}

static void learn(struct learning *l, const struct ntk_program *program,
                  const struct ntk_trace_instruction *instruction, struct ntk_chip_slot *slot)
{
    const struct ntk_trace *trace = program->trace;
    const uint8_t *bytes = ntk_ntff_slot_get(l->core->ntff, instruction->engine, instruction->slot);
    const struct ntk_slot_fact *fact =
        ntk_program_fact(program, l->accesses->core_index, instruction);
    struct ntk_isa_instr open;

    slot->first = (uint32_t)l->accesses->list.count;
    if (fact->code->is_runtime) {
        slot->known_views = NTK_CHIP_VIEWS_ALL;
    } else if (fact->code->is_open && !fact->code->is_transfer &&
               !ntk_open_slot_has_operands(l->core, instruction)) {
        /* The instruction waits, jumps or signals. Decoding it again would take longer than all
         * other work here. */
        slot->known_views = NTK_CHIP_VIEWS_ALL;
    } else if (ntk_open_slot_decode(l->core, instruction, &open)) {
        slot->known_views = add_open(l, instruction->engine, &open) ? NTK_CHIP_VIEWS_ALL : 0;
    } else if (ntk_dma_trigger_get(l->core, instruction, &open)) {
        bool is_known = add_groups(l, instruction->engine, &open, NTK_CHIP_AS_IT_IS);
        l->accesses->has_vendor = l->accesses->has_trigger = true;
        l->accesses->has_lost_trigger = l->accesses->has_lost_trigger || !is_known;
        slot->known_views = NTK_CHIP_VIEWS_ALL;
    } else {
        bool has_layout =
            bytes && trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation);
        l->accesses->has_vendor = true;
        slot->known_views = has_layout ? add_vendor(l, bytes) : 0;
    }
    if (!(slot->known_views & NTK_CHIP_AS_IT_IS)) {
        note_unknown(l, instruction);
    }
    slot->count = (uint32_t)l->accesses->list.count - slot->first;
    l->accesses->known_views &= slot->known_views;
}

/* ---- cells ---- */

NTK_ORDER_NUMBERS(compare_numbers, uint32_t);

static uint32_t cell_at(const struct ntk_chip_cells *cells, uint32_t low)
{
    const uint32_t *found =
        bsearch(&low, cells->lows, cells->count + 1, sizeof *cells->lows, compare_numbers);

    return (uint32_t)(found - cells->lows);
}

static int cut(struct ntk_chip_accesses *accesses, unsigned space)
{
    struct ntk_chip_cells *cells = &accesses->cells[space];
    size_t count = 0;
    size_t kept = 0;

    cells->lows = calloc(2 * accesses->list.count + NTK_CHIP_BANKS + 1, sizeof *cells->lows);
    if (!cells->lows) {
        return -ENOMEM;
    }
    for (uint32_t bank = 0; space == NTK_CHIP_PSUM && bank <= NTK_CHIP_BANKS; bank++) {
        cells->lows[count++] = bank * NTK_ISA_PSUM_BANK_BYTES;
    }
    ntk_vec_each(const struct ntk_chip_access, access, &accesses->list) {
        if (access->space == space) {
            cells->lows[count++] = access->low;
            cells->lows[count++] = access->high;
        }
    }
    qsort(cells->lows, count, sizeof *cells->lows, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || cells->lows[kept - 1] != cells->lows[i]) {
            cells->lows[kept++] = cells->lows[i];
        }
    }
    cells->count = kept ? kept - 1 : 0;
    return 0;
}

static int cut_all(struct ntk_chip_accesses *accesses)
{
    accesses->spans = calloc(accesses->list.count + 1, sizeof *accesses->spans);
    if (!accesses->spans || cut(accesses, NTK_CHIP_SBUF) < 0 || cut(accesses, NTK_CHIP_PSUM) < 0) {
        return -ENOMEM;
    }
    for (size_t a = 0; a < accesses->list.count; a++) {
        const struct ntk_chip_access *access = ntk_vec_at(&accesses->list, a);
        const struct ntk_chip_cells *cells = &accesses->cells[access->space];
        accesses->spans[a] =
            (struct ntk_chip_span){ cell_at(cells, access->low), cell_at(cells, access->high) };
    }
    return 0;
}

int ntk_chip_accesses_init(struct ntk_chip_accesses *accesses, const struct ntk_program *program,
                           size_t core_index)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    const struct ntk_trace *trace = program->trace;
    struct learning l = { .accesses = accesses,
                          .core = core,
                          .most = { [NTK_CHIP_SBUF] = NTK_ISA_SBUF_PARTITION_BYTES_MAX,
                                    [NTK_CHIP_PSUM] =
                                        (int64_t)NTK_CHIP_BANKS * NTK_ISA_PSUM_BANK_BYTES } };

    if (trace->has_chip) {
        l.most[NTK_CHIP_SBUF] = (int64_t)trace->chip.sbuf_partition_bytes;
    }
    *accesses = (struct ntk_chip_accesses){ .known_views = NTK_CHIP_VIEWS_ALL,
                                            .program = program,
                                            .core_index = core_index };
    ntk_vec_init(&accesses->list, sizeof(struct ntk_chip_access));
    accesses->slots = calloc(program->code_count + 1, sizeof *accesses->slots);
    l.failed = accesses->slots ? 0 : -ENOMEM;
    for (size_t i = 0; i < program->code_count && l.failed == 0; i++) {
        const struct ntk_slot_code *code = ntk_program_code(program, i);
        struct ntk_trace_instruction first = { .engine = code->engine,
                                               .opcode = code->opcode,
                                               .slot = code->slot };
        if (code->core_index == core_index) {
            learn(&l, program, &first, &accesses->slots[i]);
        }
    }
    l.failed = l.failed == 0 ? cut_all(accesses) : l.failed;
    if (l.failed < 0) {
        ntk_chip_accesses_fini(accesses);
    }
    return l.failed;
}

static bool has_prepared(const struct ntk_trace_core *core)
{
    ntk_trace_each_packet(core, packet) {
        if (ntk_trace_is_prepared(packet->dma_class)) {
            return true;
        }
    }
    return false;
}

/* Prepared transfers in a vendor's program are not in its slots: the NEFF lists the data that each
 * trigger moves, but not transfers without a trigger. */
bool ntk_chip_accesses_is_complete(const struct ntk_chip_accesses *accesses,
                                   const struct ntk_trace_core *core)
{
    return (accesses->known_views & NTK_CHIP_AS_IT_IS) && !accesses->has_lost_trigger &&
           (accesses->has_trigger || !accesses->has_vendor || !has_prepared(core));
}

int ntk_chip_find_unknown(const struct ntk_program *program, struct ntk_chip_unknown *out_unknown)
{
    bool is_complete = true;

    for (size_t c = 0; c < program->trace->core_count && is_complete; c++) {
        struct ntk_chip_accesses accesses;
        int ret = ntk_chip_accesses_init(&accesses, program, c);
        if (ret < 0) {
            return ret;
        }
        is_complete = ntk_chip_accesses_is_complete(&accesses, &program->trace->cores[c]);
        *out_unknown = accesses.unknown;
        ntk_chip_accesses_fini(&accesses);
    }
    return !is_complete;
}

void ntk_chip_accesses_fini(struct ntk_chip_accesses *accesses)
{
    free(accesses->slots);
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        free(accesses->cells[s].lows);
    }
    free(accesses->spans);
    ntk_vec_fini(&accesses->list);
    *accesses = (struct ntk_chip_accesses){ 0 };
}
