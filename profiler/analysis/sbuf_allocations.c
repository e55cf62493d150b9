/* SPDX-License-Identifier: MIT */
/* sbuf_allocations - keeps the value of each cell in each partition, and passes it to a sorter when
 * it is overwritten. */
#include "profiler/analysis/sbuf_allocations.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/trace/sorter.h"
#include "shared/base/order.h"

struct value { /* value in a cell of a partition */
    int64_t start_ps, end_ps;
    uint32_t writer;
    bool is_there;
};

struct item {
    int64_t start_ps, end_ps;
    uint32_t low, high, instruction;
    uint32_t samples; /* bits, same as in struct ntk_chip_access */
};
static_assert(sizeof(struct item) == 32, "a sorter item has 16 or 32 bytes");

struct tracking {
    const struct ntk_transfers *transfers;
    size_t core_index;
    struct ntk_chip_accesses accesses;
    bool is_uniform; /* every access covers all partitions, so the first represents them */
    struct value *values[NTK_CHIP_SAMPLES];
    struct ntk_sorter items;
    int failed;
};

static unsigned plane_count(const struct tracking *t)
{
    return t->is_uniform ? 1 : NTK_CHIP_SAMPLES;
}

static int prepare(struct tracking *t)
{
    t->is_uniform = true;
    ntk_vec_each(const struct ntk_chip_access, access, &t->accesses.list) {
        if (access->space == NTK_CHIP_SBUF && access->samples != NTK_CHIP_SAMPLES_ALL) {
            t->is_uniform = false;
        }
    }
    for (unsigned p = 0; p < plane_count(t); p++) {
        t->values[p] = calloc(t->accesses.cells[NTK_CHIP_SBUF].count + 1, sizeof *t->values[p]);
        if (!t->values[p]) {
            return -ENOMEM;
        }
    }
    return 0;
}

static bool is_one(const struct value *a, const struct value *b)
{
    return a->is_there == b->is_there && a->writer == b->writer && a->start_ps == b->start_ps &&
           a->end_ps == b->end_ps;
}

/* Ends the values of these cells. */
static void end_values(struct tracking *t, unsigned plane, struct ntk_chip_span span)
{
    const uint32_t *lows = t->accesses.cells[NTK_CHIP_SBUF].lows;
    const struct value *values = t->values[plane];

    for (uint32_t c = span.first, next; c < span.end; c = next) {
        next = c + 1;
        while (next < span.end && is_one(&values[c], &values[next])) {
            next++;
        }
        struct item *item = values[c].is_there ? ntk_sorter_add(&t->items) : NULL;
        if (item) {
            *item = (struct item){ .start_ps = values[c].start_ps,
                                   .end_ps = values[c].end_ps,
                                   .low = lows[c],
                                   .high = lows[next],
                                   .instruction = values[c].writer,
                                   .samples = t->is_uniform ? NTK_CHIP_SAMPLES_ALL : 1U << plane };
        } else if (values[c].is_there) {
            t->failed = t->items.failed;
        }
    }
}

static void apply(struct tracking *t, size_t index, const struct value *now)
{
    const struct ntk_chip_access *access = ntk_vec_at(&t->accesses.list, index);
    struct ntk_chip_span span = t->accesses.spans[index];

    if (access->space != NTK_CHIP_SBUF || !(access->views & NTK_CHIP_AS_IT_IS)) {
        return;
    }
    for (unsigned p = 0; p < plane_count(t); p++) {
        struct value *values = t->values[p];
        if (!(access->samples >> p & 1)) {
            continue;
        }
        if (access->is_write && !access->is_read) {
            end_values(t, p, span);
        }
        for (uint32_t c = span.first; c < span.end; c++) {
            if (access->is_write && (!access->is_read || !values[c].is_there)) {
                values[c] = *now;
            } else if (values[c].is_there && values[c].end_ps < now->end_ps) {
                values[c].end_ps = now->end_ps;
            }
        }
    }
}

static void follow(struct tracking *t)
{
    const struct ntk_program *program = t->transfers->program;
    const struct ntk_trace_core *core = &program->trace->cores[t->core_index];

    ntk_trace_each_instruction(core, instruction) {
        const struct ntk_chip_slot *slot = ntk_chip_slot_of(&t->accesses, instruction);
        struct value now = { .start_ps = instruction->start_ps,
                             .end_ps = instruction->end_ps,
                             .writer = (uint32_t)(instruction - core->instructions),
                             .is_there = true };
        const struct ntk_transfer *transfer =
            slot->count && ntk_program_fact(program, t->core_index, instruction)->code->is_transfer
                ? ntk_transfer_of_instruction(t->transfers, t->core_index, now.writer)
                : NULL;

        if (transfer && transfer->packet_count) {
            now.start_ps = transfer->start_ps;
            now.end_ps = transfer->end_ps;
        }
        for (uint32_t a = slot->first; a < slot->first + slot->count; a++) {
            apply(t, a, &now);
        }
        if (t->failed) {
            return;
        }
        if (now.writer % NTK_TRACE_LOOKS == 0) {
            ntk_transfers_give_back(t->transfers, t->core_index);
        }
    }
    for (unsigned p = 0; p < plane_count(t); p++) {
        struct ntk_chip_span all = { 0, (uint32_t)t->accesses.cells[NTK_CHIP_SBUF].count };
        end_values(t, p, all);
    }
}

NTK_ORDER(compare_items, struct item, NTK_UP(low) NTK_UP(samples));

static int put_items(const struct ntk_sorted *sorted, ntk_sbuf_allocation_put *put, void *ctx)
{
    const struct item *items = sorted->items;
    int ret = 0;

    for (size_t i = 0; i < sorted->count && ret == 0; i++) {
        struct ntk_sbuf_allocation allocation = { .start_ps = items[i].start_ps,
                                                  .end_ps = items[i].end_ps,
                                                  .low = items[i].low,
                                                  .high = items[i].high,
                                                  .instruction = items[i].instruction };

        (void)ntk_trace_scan_step(sorted->is_mapped, items, &items[i], items + sorted->count);
        for (unsigned p = 0; p < NTK_CHIP_SAMPLES && ret == 0; p++) {
            allocation.partition = p * NTK_CHIP_SAMPLE_STEP;
            ret = items[i].samples >> p & 1 ? put(ctx, &allocation) : 0;
        }
    }
    return ret;
}

int ntk_sbuf_allocations_are_known(const struct ntk_program *program, size_t core_index,
                                   bool *out_is_known)
{
    struct ntk_chip_accesses accesses;
    int ret = program->trace->has_chip ? ntk_chip_accesses_init(&accesses, program, core_index) : 0;

    *out_is_known = false;
    if (ret == 0 && program->trace->has_chip) {
        *out_is_known =
            ntk_chip_accesses_is_complete(&accesses, &program->trace->cores[core_index]);
        ntk_chip_accesses_fini(&accesses);
    }
    return ret;
}

int ntk_analysis_sbuf_allocations(const struct ntk_transfers *transfers, size_t core_index,
                                  ntk_sbuf_allocation_put *put, void *ctx)
{
    const struct ntk_trace *trace = transfers->program->trace;
    struct tracking t = { .transfers = transfers, .core_index = core_index };
    size_t list_bytes = ntk_trace_list_bytes_get(trace);
    struct ntk_sorted sorted = { 0 };

    if (!trace->has_chip) {
        return 0;
    }
    int ret = ntk_chip_accesses_init(&t.accesses, transfers->program, core_index);
    if (ret < 0) {
        return ret;
    }
    ntk_sorter_init(&t.items, sizeof(struct item), compare_items, list_bytes,
                    ntk_trace_folder_get(trace));
    if (ntk_chip_accesses_is_complete(&t.accesses, &trace->cores[core_index])) {
        ret = prepare(&t);
        if (ret == 0) {
            follow(&t);
            ret = t.failed;
        }
        ret = ret ? ret : ntk_sorter_finish(&t.items, list_bytes, &sorted, NULL);
        if (ret == 0) {
            ret = put_items(&sorted, put, ctx);
            ntk_sorted_fini(&sorted, sizeof(struct item));
        }
    }
    ntk_sorter_fini(&t.items);
    ntk_chip_accesses_fini(&t.accesses);
    for (unsigned p = 0; p < NTK_CHIP_SAMPLES; p++) {
        free(t.values[p]);
    }
    return ret;
}
