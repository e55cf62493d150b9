/* SPDX-License-Identifier: MIT */
/* region_at - keeps a heap of the next instances, and a list of running instances. */
#include "profiler/analysis/region_at.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/vec.h"

#define ENGINES NTK_NTFF_ENGINE_COUNT

struct next {
    uint32_t instruction; /* first instruction of the instance */
    uint32_t region;
    size_t instance; /* index in the instances of the region */
};

struct running {
    int64_t start_ps, end_ps;
    uint32_t region, depth;
};

struct ntk_region_at {
    const struct ntk_regions *regions;
    size_t next_count;
    struct next *heap;               /* the earliest instance is on top */
    struct ntk_vec running[ENGINES]; /* elements are struct running */
    uint64_t looks;
};

static void sift_down(struct ntk_region_at *at, size_t i)
{
    struct next item = at->heap[i];

    for (size_t child; (child = 2 * i + 1) < at->next_count; i = child) {
        if (child + 1 < at->next_count &&
            at->heap[child + 1].instruction < at->heap[child].instruction) {
            child++;
        }
        if (at->heap[child].instruction >= item.instruction) {
            break;
        }
        at->heap[i] = at->heap[child];
    }
    at->heap[i] = item;
}

struct ntk_region_at *ntk_region_at_create(const struct ntk_regions *regions, size_t core_index)
{
    struct ntk_region_at *at = calloc(1, sizeof *at);

    if (!at) {
        return NULL;
    }
    at->regions = regions;
    for (unsigned e = 0; e < ENGINES; e++) {
        ntk_vec_init(&at->running[e], sizeof(struct running));
    }
    at->heap = calloc(regions->region_count + 1, sizeof *at->heap);
    if (!at->heap) {
        ntk_region_at_destroy(at);
        return NULL;
    }
    for (uint32_t r = 0; r < regions->region_count; r++) {
        const struct ntk_region *region = &regions->regions[r];
        if (region->core_index == core_index && region->engine < ENGINES && region->count > 0) {
            at->heap[at->next_count++] =
                (struct next){ ntk_region_instances(regions, region)->instruction, r, 0 };
        }
    }
    for (size_t i = at->next_count / 2; i-- > 0;) {
        sift_down(at, i);
    }
    return at;
}

void ntk_region_at_destroy(struct ntk_region_at *at)
{
    if (!at) {
        return;
    }
    for (unsigned e = 0; e < ENGINES; e++) {
        ntk_vec_fini(&at->running[e]);
    }
    free(at->heap);
    free(at);
}

/* Starts the next instance of a region, which replaces the previous one. */
static int begin(struct ntk_region_at *at)
{
    struct next *next = &at->heap[0];
    const struct ntk_region *region = &at->regions->regions[next->region];
    const struct ntk_region_instance *instances = ntk_region_instances(at->regions, region);
    struct running fresh = { instances[next->instance].start_ps, instances[next->instance].end_ps,
                             next->region, region->depth };
    struct ntk_vec *list = &at->running[region->engine];

    if (++at->looks % NTK_TRACE_LOOKS == 0) {
        ntk_long_list_give_back(&at->regions->instances);
    }
    if (++next->instance < region->count) {
        next->instruction = instances[next->instance].instruction;
    } else {
        *next = at->heap[--at->next_count];
    }
    sift_down(at, 0);
    ntk_vec_each(struct running, old, list) {
        if (old->region == fresh.region) {
            *old = fresh;
            return 0;
        }
    }
    return ntk_vec_push(list, &fresh);
}

int ntk_region_at_get(struct ntk_region_at *at, size_t index,
                      const struct ntk_trace_instruction *instruction, uint32_t *out_region)
{
    struct ntk_vec *list = &at->running[instruction->engine];
    const struct running *innermost = NULL;

    while (at->next_count > 0 && at->heap[0].instruction <= index) {
        if (begin(at) < 0) {
            return -ENOMEM;
        }
    }
    for (size_t i = list->count; i-- > 0;) {
        const struct running *one = ntk_vec_at(list, i);
        if (one->end_ps <= instruction->start_ps && one->start_ps < instruction->start_ps) {
            ntk_vec_remove(list, i);
        }
    }
    ntk_vec_each(const struct running, one, list) {
        if (!innermost || one->depth >= innermost->depth) {
            innermost = one;
        }
    }
    *out_region = innermost ? innermost->region : NTK_REGION_NONE;
    return 0;
}
