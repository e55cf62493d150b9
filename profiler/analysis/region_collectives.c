/* SPDX-License-Identifier: MIT */
/* region_collectives - finds runs of instructions that are named after a collective operation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/collective_names.h"
#include "profiler/analysis/region_find.h"

#define ENGINES NTK_NTFF_ENGINE_COUNT

struct open_run {
    unsigned word; /* 1 + index; 0 if none */
    uint64_t of;   /* instruction of the compiler, or layer */
    int64_t start_ps, end_ps;
    uint32_t instruction;
    uint64_t count;
};

struct collectives {
    struct ntk_region_find *find;
    size_t core_index;
    struct ntk_collective_names names;
    uint32_t regions[ENGINES][NTK_COLLECTIVE_WORDS];
    struct open_run open[ENGINES];
};

static int close_run(struct collectives *c, unsigned engine)
{
    struct open_run *open = &c->open[engine];
    uint32_t *region;
    int ret = 0;

    if (!open->word) {
        return 0;
    }
    region = &c->regions[engine][open->word - 1];
    if (*region == NTK_REGION_NONE) {
        ret = ntk_region_find_add(c->find, c->core_index, engine, NTK_REGION_COLLECTIVE, region);
        if (ret == 0 && *region != NTK_REGION_NONE) {
            char *name = strdup(ntk_collective_word_name(open->word - 1));
            ntk_region_find_at(c->find, *region)->name = name;
            ret = name ? 0 : -ENOMEM;
        }
    }
    ret = ret ? ret
              : ntk_region_find_put(c->find, *region, open->start_ps, open->end_ps,
                                    open->instruction, open->count);
    *open = (struct open_run){ 0 };
    return ret;
}

static int add_instruction(struct collectives *c, const struct ntk_trace_core *core,
                           const struct ntk_trace_instruction *instruction)
{
    const struct ntk_slot_fact *fact =
        ntk_program_fact(c->find->program, c->core_index, instruction);
    struct open_run *open = &c->open[instruction->engine];
    unsigned word = ntk_collective_names_find(&c->names, c->find->program, c->core_index, fact);
    uint64_t of = fact->named ? fact->bir_id : fact->code->layer;
    int ret = 0;

    if (ntk_region_is_sync(fact, instruction->opcode)) {
        return 0;
    }
    if (open->word != word || open->of != of) {
        ret = close_run(c, instruction->engine);
    }
    if (!word) {
        return ret;
    }
    if (!open->word) {
        *open = (struct open_run){ .word = word,
                                   .of = of,
                                   .start_ps = instruction->start_ps,
                                   .end_ps = instruction->end_ps,
                                   .instruction = (uint32_t)(instruction - core->instructions) };
    }
    open->end_ps = instruction->end_ps > open->end_ps ? instruction->end_ps : open->end_ps;
    open->count++;
    return ret;
}

int ntk_region_find_collectives(struct ntk_region_find *find, size_t core_index)
{
    const struct ntk_trace_core *core = &find->program->trace->cores[core_index];
    struct collectives c = { .find = find, .core_index = core_index };
    int ret = ntk_collective_names_init(&c.names, find->program, core_index);

    memset(c.regions, 0xff, sizeof c.regions);
    if (ret == 0 && c.names.has_any) {
        ntk_trace_each_instruction(core, instruction) {
            ret = add_instruction(&c, core, instruction);
            if (ret < 0) {
                break;
            }
        }
    }
    for (unsigned e = 0; e < ENGINES && ret == 0; e++) {
        ret = close_run(&c, e);
    }
    ntk_collective_names_fini(&c.names);
    return ret;
}
