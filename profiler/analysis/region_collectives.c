/* SPDX-License-Identifier: MIT */
/*
 * region_collectives - finds instructions that the program or compiler names after a collective
 * operation.
 *
 * No opcode of a collective is known: a program starts them with instructions that move data, and
 * collectives core records cannot be read yet. They can only be recognised by their names.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/region_find.h"

#define WORDS 6
#define ENGINES NTK_NTFF_ENGINE_COUNT
#define TEXT_BYTES 512

static const struct {
    const char *letters, *name;
} words[WORDS] = {
    { "allreduce", "all_reduce" },
    { "allgather", "all_gather" },
    { "reducescatter", "reduce_scatter" },
    { "alltoall", "all_to_all" },
    { "collectivepermute", "collective_permute" },
    { "sendrecv", "send_recv" },
};

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
    uint8_t *of_layer; /* indexed by layer: 1 + word */
    uint8_t *of_name;  /* by name of the compiler: 1 + word */
    bool has_any;
    uint32_t regions[ENGINES][WORDS];
    struct open_run open[ENGINES];
};

/* Returns 1 + index of the word in a text such as "AllReduce" or "all-reduce.3", with any
 * separators between its letters. */
static uint8_t word_in(const char *text)
{
    char letters[TEXT_BYTES];
    size_t count = 0;

    for (; text && *text && count + 1 < sizeof letters; text++) {
        if (isalpha((unsigned char)*text)) {
            letters[count++] = (char)tolower((unsigned char)*text);
        } else if (*text != '_' && *text != '-') {
            letters[count++] = ' ';
        }
    }
    letters[count] = '\0';
    for (uint8_t w = 0; w < WORDS; w++) {
        if (strstr(letters, words[w].letters)) {
            return w + 1;
        }
    }
    return 0;
}

static int find_names(struct collectives *c)
{
    const struct ntk_program *program = c->find->program;
    const struct ntk_neff_debug *names = program->names[c->core_index];

    c->of_layer = calloc(program->layer_count + 1, 1);
    c->of_name = calloc(names ? names->instruction_count + 1 : 1, 1);
    if (!c->of_layer || !c->of_name) {
        return -ENOMEM;
    }
    for (size_t l = NTK_LAYER_RUNTIME + 1; l < program->layer_count; l++) {
        c->of_layer[l] = word_in(program->layers[l]);
        c->has_any = c->has_any || c->of_layer[l];
    }
    for (size_t i = 0; names && i < names->instruction_count; i++) {
        c->of_name[i] = word_in(names->instructions[i].name);
        if (!c->of_name[i]) {
            c->of_name[i] = word_in(names->instructions[i].penguin_text);
        }
        c->has_any = c->has_any || c->of_name[i];
    }
    return 0;
}

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
            char *name = strdup(words[open->word - 1].name);
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
    const struct ntk_neff_debug *names = c->find->program->names[c->core_index];
    struct open_run *open = &c->open[instruction->engine];
    unsigned word = fact->named ? c->of_name[fact->named - names->instructions]
                                : c->of_layer[fact->code->layer];
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
    int ret = find_names(&c);

    memset(c.regions, 0xff, sizeof c.regions);
    if (ret == 0 && c.has_any) {
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
    free(c.of_layer);
    free(c.of_name);
    return ret;
}
