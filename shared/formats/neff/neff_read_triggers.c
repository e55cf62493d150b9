/* SPDX-License-Identifier: MIT */
/* neff_read_triggers - checks groups that one trigger starts together. */
#include "shared/formats/neff/neff_read_private.h"

#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"

/* The groups that one trigger starts, and the distance by which it moves the tail of the ring. */
struct trigger {
    uint32_t queue_set;
    uint32_t function; /* number of the queue set's functions that began up to here */
    uint32_t id;
    const char *instance;
    uint64_t descriptors;
};

NTK_ORDER(compare, struct trigger, NTK_UP(queue_set) NTK_UP(function) NTK_UP(instance) NTK_UP(id));

/* The name of an instance, kept once per queue set, so equal texts have equal pointers. */
static const char *instance_of(const struct ntk_neff_queue_set *set, const char *name)
{
    for (uint32_t i = 0; name && i < set->instance_count; i++) {
        if (strcmp(set->instances[i], name) == 0) {
            return set->instances[i];
        }
    }
    return NULL;
}

int neff_check_triggers(const struct group_reader *g, const struct ntk_neff_engine *engine)
{
    const struct ntk_neff_subgraph *subgraph = g->subgraph;
    struct trigger *triggers;
    uint32_t *functions;
    int ret = 0;

    if (engine->group_count < 2) {
        return 0;
    }
    triggers = calloc(engine->group_count, sizeof *triggers);
    functions = calloc(subgraph->queue_set_count, sizeof *functions);
    if (!triggers || !functions) {
        ret = NO_MEMORY(g->r);
        goto out;
    }
    for (uint32_t i = 0; i < engine->group_count; i++) {
        const struct ntk_neff_dma_group *group = &engine->groups[i];

        functions[group->queue_set] += group->function_start[0] != '\0';
        triggers[i] = (struct trigger){
            .queue_set = group->queue_set,
            .function = functions[group->queue_set],
            .id = group->id,
            .instance = instance_of(&subgraph->queue_sets[group->queue_set], group->instance),
        };
        for (uint32_t t = 0; t < group->transfer_count; t++) {
            triggers[i].descriptors += ntk_neff_transfer_descriptors(&group->transfers[t]);
        }
    }
    qsort(triggers, engine->group_count, sizeof *triggers, compare);
    for (uint32_t i = 1; i < engine->group_count; i++) {
        const struct trigger *one = &triggers[i - 1];
        const struct trigger *other = &triggers[i];

        if (compare(one, other) == 0 && one->descriptors != other->descriptors) {
            ret =
                BAD(g->r,
                    "%s: two groups with id %u in queue set '%s' are started by the same trigger, "
                    "one with %llu descriptors and one with %llu",
                    g->where, one->id, subgraph->queue_sets[one->queue_set].name,
                    (unsigned long long)one->descriptors, (unsigned long long)other->descriptors);
            break;
        }
    }

out:
    free(functions);
    free(triggers);
    return ret;
}
