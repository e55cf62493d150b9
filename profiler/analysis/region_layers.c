/* SPDX-License-Identifier: MIT */
/*
 * region_layers - finds layers with names that differ only in numbers, and the times when each was
 * entered.
 *
 * It counts for every engine the number of times that it entered a prefix of a name. If all engines
 * with the prefix entered it equally often, the first entries are one instance, the second entries
 * the next; otherwise all entries are one instance.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/region_find.h"
#include "shared/base/map.h"
#include "shared/base/order.h"

#define DEPTH_MAX 8
#define ENGINES NTK_NTFF_ENGINE_COUNT
#define NOTHING UINT32_MAX

struct run {
    int64_t start_ps, end_ps;
    uint32_t instruction;
    uint64_t count;
};

struct prefix {
    char *name; /* such as "block0/attention" */
    uint32_t parent;
    uint32_t group; /* group of prefixes with names that differ only in numbers */
    uint64_t entered[ENGINES];
    struct ntk_vec runs; /* elements are struct run */
    struct run all;
};

struct group { /* becomes a region if it has enough instances */
    char *name;
    uint32_t parent;
    uint32_t region;
    struct ntk_vec runs;
};

struct layers {
    struct ntk_vec prefixes, groups;
    struct ntk_map prefix_of, group_of; /* maps a name to 1 + index */
    uint32_t (*chains)[DEPTH_MAX];      /* indexed by layer: its prefixes, shortest first */
    uint32_t current[ENGINES][DEPTH_MAX];
    size_t run_count;
};

static struct prefix *prefix_at(const struct layers *layers, uint32_t index)
{
    return ntk_vec_at(&layers->prefixes, index);
}

static struct group *group_at(const struct layers *layers, uint32_t index)
{
    return ntk_vec_at(&layers->groups, index);
}

static int find_or_add(struct ntk_map *map, struct ntk_vec *items, const char *name,
                       uint32_t *out_index, bool *out_is_new)
{
    uintptr_t known = (uintptr_t)ntk_map_get(map, name);

    *out_is_new = !known;
    if (known) {
        *out_index = (uint32_t)(known - 1);
        return 0;
    }
    *out_index = (uint32_t)items->count;
    if (!ntk_vec_add(items) ||
        ntk_map_put(map, name, (void *)((uintptr_t)*out_index + 1)) < 0) { // NOLINT
        return -ENOMEM;
    }
    return 0;
}

static int add_prefix(struct layers *layers, const char *name, uint32_t parent,
                      uint32_t *out_prefix)
{
    char plain[2 * NTK_REGION_NAME_BYTES];
    uint32_t group = 0;
    bool is_new = false;
    int ret = find_or_add(&layers->prefix_of, &layers->prefixes, name, out_prefix, &is_new);

    if (ret < 0 || !is_new) {
        return ret;
    }
    struct prefix *prefix = prefix_at(layers, *out_prefix);
    ntk_vec_init(&prefix->runs, sizeof(struct run));
    prefix->parent = parent;
    prefix->name = strdup(name);
    ret = prefix->name
              ? find_or_add(&layers->group_of, &layers->groups,
                            ntk_region_plain_name(name, plain, sizeof plain), &group, &is_new)
              : -ENOMEM;
    if (ret == 0 && is_new) {
        struct group *made = group_at(layers, group);
        ntk_vec_init(&made->runs, sizeof(struct run));
        made->name = strdup(plain);
        made->parent = parent == NOTHING ? NOTHING : prefix_at(layers, parent)->group;
        made->region = NTK_REGION_NONE;
        ret = made->name ? 0 : -ENOMEM;
    }
    prefix->group = group;
    return ret;
}

static int split(struct layers *layers, const char *name, uint32_t chain[DEPTH_MAX])
{
    char *copy = strdup(name);
    uint32_t parent = NOTHING;
    size_t depth = 0;
    int ret = copy ? 0 : -ENOMEM;

    for (char *at = copy; ret == 0 && at && depth < DEPTH_MAX; depth++) {
        char *slash = strchr(at, '/');
        if (slash) {
            *slash = '\0';
        }
        ret = add_prefix(layers, copy, parent, &chain[depth]);
        parent = chain[depth];
        if (slash) {
            *slash = '/';
        }
        at = slash ? slash + 1 : NULL;
    }
    free(copy);
    return ret;
}

static void cover(struct run *run, const struct ntk_trace_instruction *instruction, uint32_t index)
{
    if (run->count++ == 0) {
        run->start_ps = instruction->start_ps;
        run->end_ps = instruction->end_ps;
        run->instruction = index;
    }
    run->end_ps = instruction->end_ps > run->end_ps ? instruction->end_ps : run->end_ps;
}

static int enter(struct layers *layers, uint32_t index,
                 const struct ntk_trace_instruction *instruction, uint32_t at, bool is_entered)
{
    struct prefix *prefix = prefix_at(layers, index);
    uint64_t *entered = &prefix->entered[instruction->engine];

    *entered += is_entered;
    if (*entered > prefix->runs.count && layers->run_count < NTK_REGION_LAYER_RUNS_MAX) {
        if (!ntk_vec_add(&prefix->runs)) {
            return -ENOMEM;
        }
        layers->run_count++;
    }
    if (*entered && *entered <= prefix->runs.count) {
        cover(ntk_vec_at(&prefix->runs, (size_t)(*entered - 1)), instruction, at);
    }
    cover(&prefix->all, instruction, at);
    return 0;
}

static int add_instruction(struct layers *layers, const struct ntk_trace_core *core,
                           const struct ntk_trace_instruction *instruction, uint32_t layer)
{
    uint32_t *current = layers->current[instruction->engine];
    const uint32_t *chain = layers->chains[layer];
    bool is_entered = false;
    int ret = 0;

    for (size_t d = 0; d < DEPTH_MAX && chain[d] != NOTHING && ret == 0; d++) {
        is_entered = is_entered || current[d] != chain[d];
        current[d] = chain[d];
        ret = enter(layers, chain[d], instruction, (uint32_t)(instruction - core->instructions),
                    is_entered);
    }
    return ret;
}

static bool agree(const struct prefix *prefix)
{
    for (unsigned e = 0; e < ENGINES; e++) {
        if (prefix->entered[e] && prefix->entered[e] != prefix->runs.count) {
            return false;
        }
    }
    return true;
}

NTK_ORDER(compare_runs, struct run, NTK_UP(start_ps) NTK_UP(instruction));

static int gather(struct layers *layers)
{
    ntk_vec_each(struct prefix, prefix, &layers->prefixes) {
        struct ntk_vec *runs = &group_at(layers, prefix->group)->runs;
        if (prefix->all.count == 0) {
            continue;
        }
        if (!agree(prefix)) {
            if (ntk_vec_push(runs, &prefix->all) < 0) {
                return -ENOMEM;
            }
            continue;
        }
        ntk_vec_each(struct run, run, &prefix->runs) {
            if (ntk_vec_push(runs, run) < 0) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

static int make_regions(struct layers *layers, struct ntk_region_find *find, size_t core_index)
{
    int ret = 0;

    ntk_vec_each(struct group, group, &layers->groups) {
        uint32_t parent = group->parent;
        if (group->runs.count < 2) {
            continue;
        }
        ret = ntk_region_find_add(find, core_index, ENGINES, NTK_REGION_LAYER, &group->region);
        ntk_vec_sort(&group->runs, compare_runs);
        ntk_vec_each(struct run, run, &group->runs) {
            ret = ret ? ret
                      : ntk_region_find_put(find, group->region, run->start_ps, run->end_ps,
                                            run->instruction, run->count);
        }
        if (ret < 0) {
            return ret;
        }
        if (group->region == NTK_REGION_NONE) {
            continue;
        }
        while (parent != NOTHING && group_at(layers, parent)->region == NTK_REGION_NONE) {
            parent = group_at(layers, parent)->parent;
        }
        struct ntk_region *region = ntk_region_find_at(find, group->region);
        region->parent = parent == NOTHING ? NTK_REGION_NONE : group_at(layers, parent)->region;
        region->name = group->name;
        group->name = NULL;
    }
    return 0;
}

static void layers_fini(struct layers *layers)
{
    ntk_vec_each(struct prefix, prefix, &layers->prefixes) {
        free(prefix->name);
        ntk_vec_fini(&prefix->runs);
    }
    ntk_vec_each(struct group, group, &layers->groups) {
        free(group->name);
        ntk_vec_fini(&group->runs);
    }
    ntk_vec_fini(&layers->prefixes);
    ntk_vec_fini(&layers->groups);
    ntk_map_fini(&layers->prefix_of);
    ntk_map_fini(&layers->group_of);
    free(layers->chains);
}

int ntk_region_find_layers(struct ntk_region_find *find, size_t core_index)
{
    const struct ntk_program *program = find->program;
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    struct layers layers = { .prefixes = NTK_VEC_INIT(struct prefix),
                             .groups = NTK_VEC_INIT(struct group) };
    int ret = 0;

    if (!program->has_layers) {
        return 0;
    }
    layers.chains = malloc((program->layer_count + 1) * sizeof *layers.chains);
    if (!layers.chains) {
        return -ENOMEM;
    }
    memset(layers.chains, 0xff, (program->layer_count + 1) * sizeof *layers.chains);
    memset(layers.current, 0xff, sizeof layers.current);
    for (size_t l = NTK_LAYER_RUNTIME + 1; l < program->layer_count && ret == 0; l++) {
        ret = split(&layers, program->layers[l], layers.chains[l]);
    }
    if (ret == 0) {
        ntk_trace_each_instruction(core, instruction) {
            const struct ntk_slot_fact *fact = ntk_program_fact(program, core_index, instruction);
            if (fact->code->layer > NTK_LAYER_RUNTIME) {
                ret = add_instruction(&layers, core, instruction, fact->code->layer);
            }
            if (ret < 0) {
                break;
            }
        }
    }
    ret = ret ? ret : gather(&layers);
    ret = ret ? ret : make_regions(&layers, find, core_index);
    layers_fini(&layers);
    return ret;
}
