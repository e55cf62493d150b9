/* SPDX-License-Identifier: MIT */
/* chip_lives - keeps the value of each cell, and reports it when it is overwritten. */
#include "profiler/analysis/chip_lives.h"

#include <errno.h>
#include <stdlib.h>

struct value { /* value in a cell */
    bool is_there;
    uint32_t layer, writer;
    int64_t from_ps, until_ps;
};

struct lives {
    struct ntk_chip_accesses accesses;
    struct value *values[NTK_CHIP_SPACE_COUNT]; /* values by cell */
    ntk_chip_life_put *put;
    void *ctx;
    int failed;
};

/* Ends the values of cells from `first` to `end`; neighbours with the same life are merged. */
static void end_values(struct lives *lives, unsigned space, size_t first, size_t end)
{
    const uint32_t *lows = lives->accesses.cells[space].lows;
    const struct value *values = lives->values[space];

    for (size_t b = first; b < end && lives->failed == 0;) {
        size_t next = b + 1;
        const struct value *value = &values[b];
        while (next < end && values[next].is_there == value->is_there &&
               values[next].writer == value->writer && values[next].from_ps == value->from_ps &&
               values[next].until_ps == value->until_ps) {
            next++;
        }
        if (value->is_there && value->until_ps > value->from_ps) {
            struct ntk_chip_life life = { .low = lows[b],
                                          .high = lows[next],
                                          .writer = value->writer,
                                          .from_ps = value->from_ps,
                                          .until_ps = value->until_ps };
            lives->failed = lives->put(lives->ctx, space, &life, value->layer);
        }
        b = next;
    }
}

static void apply(struct lives *lives, size_t index, uint32_t layer, uint32_t writer,
                  int64_t end_ps)
{
    const struct ntk_chip_access *access = ntk_vec_at(&lives->accesses.list, index);
    struct ntk_chip_span span = lives->accesses.spans[index];
    struct value *values = lives->values[access->space];

    if (!(access->views & NTK_CHIP_AS_IT_IS)) {
        return;
    }
    if (access->is_write && !access->is_read) {
        end_values(lives, access->space, span.first, span.end);
    }
    for (size_t c = span.first; c < span.end; c++) {
        if (access->is_write && (!access->is_read || !values[c].is_there)) {
            values[c] = (struct value){ true, layer, writer, end_ps, end_ps };
        } else if (values[c].is_there && end_ps > values[c].until_ps) {
            values[c].until_ps = end_ps;
        }
    }
}

static int follow(struct lives *lives, const struct ntk_program *program, size_t core_index)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];

    ntk_trace_each_instruction(core, instruction) {
        const struct ntk_chip_slot *slot = ntk_chip_slot_of(&lives->accesses, instruction);
        uint32_t layer = NTK_LAYER_NONE;

        if (slot->count) { /* the facts of others are not needed */
            layer = ntk_program_fact(program, core_index, instruction)->code->layer;
        }
        for (uint32_t a = 0; a < slot->count; a++) {
            apply(lives, slot->first + a, layer, (uint32_t)(instruction - core->instructions),
                  instruction->end_ps);
        }
        if (lives->failed) {
            return lives->failed;
        }
    }
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        end_values(lives, s, 0, lives->accesses.cells[s].count);
    }
    return lives->failed;
}

int ntk_analysis_chip_lives(const struct ntk_program *program, size_t core_index,
                            ntk_chip_life_put *put, void *ctx)
{
    struct lives lives = { .put = put, .ctx = ctx };
    int ret = ntk_chip_accesses_init(&lives.accesses, program, core_index);

    if (ret == 0 &&
        !ntk_chip_accesses_is_complete(&lives.accesses, &program->trace->cores[core_index])) {
        ret = -ENODATA;
    }
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT && ret == 0; s++) {
        lives.values[s] = calloc(lives.accesses.cells[s].count + 1, sizeof *lives.values[s]);
        ret = lives.values[s] ? 0 : -ENOMEM;
    }
    if (ret == 0 && lives.accesses.list.count) {
        ret = follow(&lives, program, core_index);
    }
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        free(lives.values[s]);
    }
    ntk_chip_accesses_fini(&lives.accesses);
    return ret;
}
