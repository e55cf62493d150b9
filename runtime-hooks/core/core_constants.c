/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_constants.h"

#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_model.h"

/* A member that was inflated into HBM, or found already inflated. */
struct core_landing {
    struct core_allocation allocation; /* owned until a model takes it; then it has no bytes */
    const void *landed;                /* where the reader stored it */
    const char *address;               /* where the content is now */
    struct core_weight *pinned;        /* weight with this content that is kept for this load */
};

struct core_weight_user {
    const struct ntk_core_model *model;
    uint32_t physical_core;
};

/* The constants of one member of one file on one device. */
struct core_weight {
    uint8_t digest[32];
    char *member;
    char *name;
    struct core_allocation allocation; /* accounted to users[0] if there is a user */
    struct ntk_vec users;              /* elements are struct core_weight_user */
    uint32_t pins;                     /* number of loads that rely on the content */
};

static bool is_aligned(const struct core_allocation *allocation, uint64_t alignment)
{
    return alignment == 0 || allocation->offset % alignment == 0;
}

/* ---- weights: the caller holds weights_lock ------------------------------------------------- */

static struct core_weight *weight_find(const struct core_constants *constants, const char *member,
                                       uint32_t physical_core, uint64_t bytes, uint64_t alignment)
{
    struct ntk_core *core = constants->core;
    uint32_t device = physical_core / core->row->facts.cores_per_device;

    ntk_vec_each(struct core_weight *, found, &core->weights) {
        struct core_weight *weight = *found;

        if (weight->allocation.stack->device == device && weight->allocation.bytes == bytes &&
            is_aligned(&weight->allocation, alignment) &&
            memcmp(weight->digest, constants->digest, sizeof weight->digest) == 0 &&
            strcmp(weight->member, member) == 0) {
            return weight;
        }
    }
    return NULL;
}

/* Frees a weight without users; its memory was then accounted to no model. */
static void weight_settle(struct ntk_core *core, struct core_weight *weight)
{
    if (weight->pins > 0 || weight->users.count > 0) {
        return;
    }
    for (size_t i = 0; i < core->weights.count; i++) {
        if (*(struct core_weight **)ntk_vec_at(&core->weights, i) == weight) {
            ntk_vec_remove(&core->weights, i);
            break;
        }
    }
    core_memory_unreserve(core, &weight->allocation);
    ntk_vec_fini(&weight->users);
    free(weight->member);
    free(weight->name);
    free(weight);
}

static struct core_memory_request request_make(const struct ntk_core_model *model,
                                               uint32_t physical_core, const char *name,
                                               uint64_t bytes, uint64_t alignment)
{
    return (struct core_memory_request){ .physical_core = physical_core,
                                         .category = NTK_MEMORY_CONSTANTS,
                                         .bytes = bytes,
                                         .align = alignment,
                                         .name = name,
                                         .model = model->hook,
                                         .model_name = model->name };
}

/* Turns an accounted allocation into a weight without users; NULL if out of memory. */
static struct core_weight *weight_make(const struct core_constants *constants,
                                       const struct ntk_neff_var *var,
                                       const struct core_allocation *allocation)
{
    struct core_weight *weight = calloc(1, sizeof *weight);

    if (!weight) {
        return NULL;
    }
    memcpy(weight->digest, constants->digest, sizeof weight->digest);
    ntk_vec_init(&weight->users, sizeof(struct core_weight_user));
    weight->allocation = *allocation;
    weight->member = strdup(var->member);
    weight->name = strdup(var->name);
    if (!weight->member || !weight->name || ntk_vec_push(&constants->core->weights, &weight) < 0) {
        free(weight->member);
        free(weight->name);
        free(weight);
        return NULL;
    }
    return weight;
}

void core_weight_drop(struct ntk_core *core, struct core_weight *weight,
                      const struct ntk_core_model *model, uint32_t physical_core)
{
    pthread_mutex_lock(&core->weights_lock);
    for (size_t i = 0; i < weight->users.count; i++) {
        const struct core_weight_user *user = ntk_vec_at(&weight->users, i);

        if (user->model != model || user->physical_core != physical_core) {
            continue;
        }
        ntk_vec_remove(&weight->users, i);
        if (i == 0) {
            core_memory_disown(core, &weight->allocation);
        }
        if (i == 0 && weight->users.count > 0) {
            const struct core_weight_user *next = ntk_vec_at(&weight->users, 0);
            struct core_memory_request request = request_make(
                next->model, next->physical_core, weight->name, weight->allocation.bytes, 0);

            core_memory_adopt(core, &request, &weight->allocation);
        }
        break;
    }
    weight_settle(core, weight);
    pthread_mutex_unlock(&core->weights_lock);
}

/* --- landing ---------------------------------------------------------------------------------- */

void *core_constants_take(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                          bool *out_is_there)
{
    struct core_constants *constants = ctx;
    struct ntk_core *core = constants->core;
    struct core_landing *landing;

    /* If a second member has the same name, it replaces the first, which the reader may keep. */
    if (ntk_map_get(&constants->members, member)) {
        return NULL;
    }
    landing = calloc(1, sizeof *landing);
    if (!landing || ntk_map_put(&constants->members, member, landing) < 0) {
        free(landing);
        return NULL;
    }
    if (constants->is_shared) {
        pthread_mutex_lock(&core->weights_lock);
        landing->pinned =
            weight_find(constants, member, constants->physical_core, bytes_count, alignment);
        if (landing->pinned) {
            landing->pinned->pins++;
        }
        pthread_mutex_unlock(&core->weights_lock);
    }
    if (landing->pinned) {
        *out_is_there = true;
        landing->address = landing->pinned->allocation.address;
    } else if (core_memory_reserve(core, constants->physical_core, bytes_count, alignment,
                                   &landing->allocation) == 0) {
        landing->address = landing->allocation.address;
    }
    landing->landed = landing->address;
    return (void *)(uintptr_t)landing->address;
}

void core_constants_fini(struct core_constants *constants)
{
    struct ntk_core *core = constants->core;

    ntk_map_each(entry, &constants->members) {
        struct core_landing *landing = entry->value;

        if (landing->pinned) {
            pthread_mutex_lock(&core->weights_lock);
            landing->pinned->pins--;
            weight_settle(core, landing->pinned);
            pthread_mutex_unlock(&core->weights_lock);
        }
        if (landing->allocation.bytes > 0) {
            core_memory_unreserve(core, &landing->allocation);
        }
        free(landing);
    }
    ntk_map_fini(&constants->members);
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Finds the landing with the variable's content; if two members have the same name, the last
 * one. */
static struct core_landing *landing_find(const struct core_constants *constants,
                                         const struct ntk_neff_var *var)
{
    struct core_landing *landing = ntk_map_get(&constants->members, var->member);

    return landing && landing->landed == var->data ? landing : NULL;
}

/* Returns accounted memory with the content: the landed memory, if it is aligned and not taken yet;
 * otherwise a copy. */
static int content_take(struct core_constants *constants, const struct core_memory_request *request,
                        const struct ntk_neff_var *var, struct core_landing *landing,
                        struct core_allocation *out_allocation, struct ntk_err *err)
{
    const void *content = landing ? landing->address : (const char *)var->data;
    struct ntk_core *core = constants->core;
    bool is_free = landing && landing->allocation.bytes > 0;
    int ret;

    if (is_free && core_memory_is_local(core, &landing->allocation, request->physical_core) &&
        is_aligned(&landing->allocation, request->align)) {
        *out_allocation = landing->allocation;
        landing->allocation = (struct core_allocation){ 0 };
        core_memory_adopt(core, request, out_allocation);
        return 0;
    }
    ret = core_memory_take(core, request, out_allocation, err);
    if (ret < 0) {
        return ret;
    }
    memcpy(out_allocation->address, content, request->bytes);
    if (is_free) {
        landing->address = out_allocation->address;
        core_memory_unreserve(core, &landing->allocation);
    }
    return 0;
}

static int shared_place(struct core_constants *constants, const struct core_memory_request *request,
                        const struct ntk_neff_var *var, const struct ntk_core_model *model,
                        struct core_landing *landing, struct core_allocation *out_allocation,
                        struct core_weight **out_weight, struct ntk_err *err)
{
    struct ntk_core *core = constants->core;
    struct core_weight_user user = { model, request->physical_core };
    struct core_weight *weight;
    bool is_first;
    int ret = 0;

    pthread_mutex_lock(&core->weights_lock);
    weight =
        weight_find(constants, var->member, request->physical_core, request->bytes, request->align);
    is_first = !weight || weight->users.count == 0;
    if (!weight) {
        ret = content_take(constants, request, var, landing, out_allocation, err);
        if (ret == 0) {
            weight = weight_make(constants, var, out_allocation);
        }
        if (ret == 0 && !weight) {
            core_memory_release(core, out_allocation);
            ret = ntk_err_no_memory(err);
        }
    } else if (is_first) {
        core_memory_adopt(core, request, &weight->allocation);
    }
    if (ret < 0) {
        goto out;
    }
    if (ntk_vec_push(&weight->users, &user) < 0) {
        if (is_first) {
            core_memory_disown(core, &weight->allocation);
        }
        weight_settle(core, weight);
        *out_allocation = (struct core_allocation){ 0 };
        ret = ntk_err_no_memory(err);
        goto out;
    }
    *out_allocation = weight->allocation;
    out_allocation->bytes = is_first ? request->bytes : 0;
    *out_weight = weight;

out:
    pthread_mutex_unlock(&core->weights_lock);
    return ret;
}

int core_constant_place(struct core_constants *constants, const struct ntk_core_model *model,
                        uint32_t physical_core, const struct ntk_neff_var *var,
                        struct core_allocation *out_allocation, struct core_weight **out_weight,
                        struct ntk_err *err)
{
    struct core_memory_request request =
        request_make(model, physical_core, var->name, var->bytes_count, var->alignment);
    struct core_landing *landing;

    if (var->bytes_count == 0) {
        return 0;
    }
    landing = landing_find(constants, var);
    if (constants->is_shared) {
        return shared_place(constants, &request, var, model, landing, out_allocation, out_weight,
                            err);
    }
    return content_take(constants, &request, var, landing, out_allocation, err);
}
