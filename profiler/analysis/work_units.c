/* SPDX-License-Identifier: MIT */
/* work_units - adds instructions in order of time to the words of their layer or region. */
#include "profiler/analysis/work_units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/analysis/work_words.h"

/* Number of remembered items, because programs repeat: most items were found shortly before. */
#define RECENT 1024
struct recent_item {
    uint64_t key;
    uint32_t number; /* 0 if none */
};

struct gathering {
    struct ntk_work_units *out;
    const struct ntk_program *program;
    struct ntk_map unit_numbers; /* maps a key to 1 + unit */
    struct ntk_map item_numbers; /* maps unit << 32 | word to 1 + item */
    struct ntk_map word_numbers;
    uint32_t *regions; /* indexed by instruction of the core: 1 + region; 0 if none */
    /* Units by layer, region and, outside regions, engine of the core: 1 + index; 0 if not
     * determined yet. */
    uint32_t *of_layers, *of_regions;
    uint32_t of_engines[NTK_NTFF_ENGINE_COUNT];
    struct recent_item recent[RECENT];
};

/* Returns 1 + its index; 0 if out of memory. */
static uintptr_t unit_number(struct gathering *g, const char *key, const char *name, bool is_layer)
{
    uintptr_t number = (uintptr_t)ntk_map_get(&g->unit_numbers, key);
    struct ntk_work_unit unit = { .is_layer = is_layer };

    if (number) {
        return number;
    }
    unit.name = strdup(name);
    unit.key = strdup(key);
    if (!unit.name || !unit.key || ntk_vec_push(&g->out->units, &unit) < 0) {
        free(unit.name);
        free(unit.key);
        return 0;
    }
    number = g->out->units.count;
    return ntk_map_put(&g->unit_numbers, key, (void *)number) < 0 ? 0 : number;
}

/* Marks inner regions after outer regions, so that inner regions have priority. */
static int mark_regions(struct gathering *g, const struct ntk_regions *regions, size_t core_index)
{
    const struct ntk_trace_core *core = &g->program->trace->cores[core_index];
    uint32_t deepest = 0;

    free(g->regions);
    free(g->of_layers);
    free(g->of_regions);
    memset(g->of_engines, 0, sizeof g->of_engines);
    g->regions = calloc(core->instruction_count + 1, sizeof *g->regions);
    g->of_layers = calloc(g->program->layer_count + 1, sizeof *g->of_layers);
    g->of_regions = calloc(regions->region_count + 1, sizeof *g->of_regions);
    if (!g->regions || !g->of_layers || !g->of_regions) {
        return -ENOMEM;
    }
    for (size_t r = 0; r < regions->region_count; r++) {
        deepest = regions->regions[r].depth > deepest ? regions->regions[r].depth : deepest;
    }
    for (uint32_t depth = 0; depth <= deepest; depth++) {
        for (size_t r = 0; r < regions->region_count; r++) {
            const struct ntk_region *region = &regions->regions[r];
            const struct ntk_region_instance *instances = ntk_region_instances(regions, region);
            if (region->depth != depth || region->core_index != core_index ||
                region->engine >= NTK_NTFF_ENGINE_COUNT) {
                continue;
            }
            for (size_t i = 0; i < region->count; i++) {
                for (size_t n = instances[i].instruction;
                     n < core->instruction_count &&
                     core->instructions[n].start_ps < instances[i].end_ps;
                     n++) {
                    if (core->instructions[n].engine == region->engine) {
                        g->regions[n] = (uint32_t)r + 1;
                    }
                }
            }
        }
    }
    return 0;
}

/* Returns 1 + its index; 0 if out of memory. */
static uintptr_t unit_of(struct gathering *g, const struct ntk_regions *regions, size_t core_index,
                         size_t instruction)
{
    const struct ntk_trace_core *core = &g->program->trace->cores[core_index];
    const struct ntk_trace_instruction *of = &core->instructions[instruction];
    const struct ntk_slot_fact *fact = ntk_program_fact(g->program, core_index, of);
    uint32_t region = g->regions[instruction];
    bool has_layer = fact->code->layer > NTK_LAYER_RUNTIME;
    uint32_t *known = has_layer ? &g->of_layers[fact->code->layer]
                      : region  ? &g->of_regions[region - 1]
                                : &g->of_engines[of->engine];
    char name[128];

    if (*known) {
        return *known;
    }
    if (g->out->units.count < NTK_WORK_UNITS_MAX && has_layer) {
        const char *layer = g->program->layers[fact->code->layer];
        *known = (uint32_t)unit_number(g, layer, layer, true);
        return *known;
    }
    if (g->out->units.count < NTK_WORK_UNITS_MAX && region) {
        const struct ntk_region *one = &regions->regions[region - 1];
        *known = (uint32_t)unit_number(g, one->key, one->shown, false);
        return *known;
    }
    known = &g->of_engines[of->engine];
    if (!*known) {
        snprintf(name, sizeof name, "NC %u %s outside of regions", core->ntff->core,
                 ntk_ntff_engine_name(of->engine));
        *known = (uint32_t)unit_number(g, name, name, false);
    }
    return *known;
}

static int item_add(struct gathering *g, uint32_t unit, uint32_t word,
                    const struct ntk_trace_instruction *of)
{
    uint64_t key = (uint64_t)unit << 32 | word;
    struct recent_item *recent = &g->recent[(unit * 31 + word) % RECENT];
    uintptr_t number = recent->key == key && recent->number
                           ? recent->number
                           : (uintptr_t)ntk_map_get_number(&g->item_numbers, key);
    int64_t time_ps = of->end_ps > of->start_ps ? of->end_ps - of->start_ps : 0;
    struct ntk_work_unit *owner = ntk_vec_at(&g->out->units, unit);

    if (!number) {
        struct ntk_work_item item = { .unit = unit, .word = word, .first_ps = of->start_ps };
        if (ntk_vec_push(&g->out->items, &item) < 0) {
            return -ENOMEM;
        }
        number = g->out->items.count;
        if (ntk_map_put_number(&g->item_numbers, key, (void *)number) < 0) {
            return -ENOMEM;
        }
    }
    *recent = (struct recent_item){ key, (uint32_t)number };
    struct ntk_work_item *item = ntk_vec_at(&g->out->items, number - 1);
    item->time_ps = ntk_ps_sum(item->time_ps, time_ps);
    owner->time_ps = ntk_ps_sum(owner->time_ps, time_ps);
    return 0;
}

static int gather_core(struct gathering *g, const struct ntk_regions *regions, size_t core_index)
{
    const struct ntk_trace_core *core = &g->program->trace->cores[core_index];
    struct ntk_work_words *words =
        ntk_work_words_create(g->program, core_index, &g->out->words, &g->word_numbers);
    int failed = words ? mark_regions(g, regions, core_index) : -ENOMEM;

    for (size_t i = 0; i < core->instruction_count && failed == 0; i++) {
        uint32_t word = ntk_work_words_next(words, &core->instructions[i], &failed);
        if (word != NTK_WORK_NO_WORD && failed == 0) {
            uintptr_t unit = unit_of(g, regions, core_index, i);
            failed = unit ? item_add(g, (uint32_t)unit - 1, word, &core->instructions[i]) : -ENOMEM;
        }
    }
    ntk_work_words_destroy(words);
    return failed;
}

int ntk_work_units_init(struct ntk_work_units *units, const struct ntk_program *program,
                        const struct ntk_regions *regions)
{
    struct gathering g = { .out = units, .program = program };
    int ret = 0;

    *units = (struct ntk_work_units){ 0 };
    ntk_vec_init(&units->units, sizeof(struct ntk_work_unit));
    ntk_vec_init(&units->items, sizeof(struct ntk_work_item));
    ntk_vec_init(&units->words, sizeof(struct ntk_work_word));
    for (size_t c = 0; c < program->trace->core_count && ret == 0; c++) {
        ret = gather_core(&g, regions, c);
    }
    ntk_map_fini(&g.unit_numbers);
    ntk_map_fini(&g.item_numbers);
    ntk_map_fini(&g.word_numbers);
    free(g.regions);
    free(g.of_layers);
    free(g.of_regions);
    if (ret < 0) {
        ntk_work_units_fini(units);
    }
    return ret;
}

void ntk_work_units_fini(struct ntk_work_units *units)
{
    ntk_vec_each(struct ntk_work_unit, unit, &units->units) {
        free(unit->name);
        free(unit->key);
    }
    ntk_vec_each(struct ntk_work_word, word, &units->words) {
        ntk_work_word_fini(word);
    }
    ntk_vec_fini(&units->units);
    ntk_vec_fini(&units->items);
    ntk_vec_fini(&units->words);
}
