/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_models.h"

#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/abi/result.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff_layout.h"

#define MODELS_MAX 4096u /* maximum living models; further handles replace the oldest */
#define RUNNING_MAX 16384u

struct model {
    struct ntk_hooks_model_ref ref;
    uint16_t core;
    uint16_t core_count;
};

struct running {
    uint64_t start_ns;
    struct ntk_hooks_model_ref ref;
    uint16_t core;
    uint16_t core_count;
};

/* The part of a sum that was processed before. */
struct taken {
    struct ntk_attach_missed_key key;
    struct ntk_attach_missed sum;
};

void ntk_attach_models_init(struct ntk_attach_models *models)
{
    memset(models, 0, sizeof *models);
    models->id = NTK_MODEL_ID_FIRST;
}

static void fini_map(struct ntk_map *map)
{
    ntk_map_each(entry, map) {
        free(entry->value);
    }
    ntk_map_fini(map);
}

void ntk_attach_models_fini(struct ntk_attach_models *models)
{
    fini_map(&models->models);
    fini_map(&models->running);
    fini_map(&models->missed);
}

bool ntk_attach_models_knows(const struct ntk_attach_models *models, uint64_t handle)
{
    return ntk_map_get_number(&models->models, handle) != NULL;
}

/* ---- models ---- */

static void unload(struct ntk_attach_models *models, uint64_t handle, uint64_t start_ns,
                   uint32_t status)
{
    struct model *model = ntk_map_remove_number(&models->models, handle);

    if (model) {
        ntk_hooks_model_unloaded(model->ref, start_ns, status);
        free(model);
    }
}

static struct model *add(struct ntk_attach_models *models, uint64_t handle,
                         const struct ntk_hooks_model *about)
{
    struct model *model = calloc(1, sizeof *model);

    if (!model || models->models.count >= MODELS_MAX ||
        ntk_map_put_number(&models->models, handle, model) < 0) {
        free(model);
        return NULL;
    }
    model->core = about->core;
    model->core_count = about->core_count;
    ntk_hooks_model_begin(about, &model->ref);
    return model;
}

void ntk_attach_models_load(struct ntk_attach_models *models, const struct ntk_attach_load *load,
                            const char *path, uint16_t core, uint16_t core_count)
{
    const struct ntk_attach_event *event = &load->event;
    struct ntk_neff_layout_header header = { 0 };
    char name[sizeof header.name + 1];
    struct ntk_hooks_model about = {
        .id = models->id++, .name = name, .neff_path = path, .core = core, .core_count = core_count
    };
    struct ntk_hooks_model_ref failed;

    memcpy(&header, load->neff, load->has_neff ? sizeof header : 0);
    memcpy(name, header.name, sizeof header.name);
    name[sizeof header.name] = '\0';
    (void)ntk_str_clean(name, strlen(name));
    memcpy(about.uuid, header.uuid, sizeof about.uuid);
    if (event->status != 0) {
        ntk_hooks_model_begin(&about, &failed);
        ntk_hooks_model_loaded(failed, event->start_ns, (uint32_t)event->status, 0);
        return;
    }
    /* The unload of the previous model with this handle was missed. */
    unload(models, event->handle, event->start_ns, 0);
    struct model *model = add(models, event->handle, &about);
    if (model) {
        ntk_hooks_model_loaded(model->ref, event->start_ns, 0, 0);
    }
}

void ntk_attach_models_unload(struct ntk_attach_models *models,
                              const struct ntk_attach_event *event)
{
    if (event->status == 0) {
        unload(models, event->handle, event->start_ns, 0);
    }
}

void ntk_attach_models_unload_all(struct ntk_attach_models *models, uint64_t at_ns)
{
    while (models->models.count > 0) {
        unload(models, models->models.entries[models->models.count - 1].number, at_ns, 0);
    }
}

/* Finds the model of an execution. An unknown model was loaded before the probes were set. */
static struct model find(struct ntk_attach_models *models, uint64_t handle, uint16_t core,
                         uint16_t core_count)
{
    struct ntk_hooks_model about = { .name = "", .core = core, .core_count = core_count };
    const struct model *model = ntk_map_get_number(&models->models, handle);

    if (!model) {
        about.id = models->id++;
        model = add(models, handle, &about);
        if (model) {
            ntk_hooks_behalf_model_found(model->ref);
        }
    }
    /* If out of memory, the execution counts only for its core. */
    return model ? *model : (struct model){ .core = core, .core_count = core_count };
}

/* ---- executions ---- */

static void cancel(struct ntk_attach_models *models, uint64_t tid)
{
    struct running *running = ntk_map_remove_number(&models->running, tid);

    if (running) {
        const struct ntk_hooks_exec exec = { .model = running->ref,
                                             .core = running->core,
                                             .core_count = running->core_count };

        ntk_hooks_exec_cancel(&exec);
        free(running);
    }
}

static void begin(struct ntk_attach_models *models, const struct ntk_attach_event *event,
                  const struct model *model)
{
    struct running *running = calloc(1, sizeof *running);

    if (!running || models->running.count >= RUNNING_MAX ||
        ntk_map_put_number(&models->running, event->tid, running) < 0) {
        free(running);
        return; /* the execution is counted when it ends */
    }
    *running = (struct running){ event->start_ns, model->ref, model->core, model->core_count };
    (void)ntk_hooks_exec_begin(model->ref, model->core, model->core_count);
}

/* Returns true if the call failed because no runtime was open: nrt_init came later, or nrt_close
 * before. */
static bool is_no_execution(uint32_t status)
{
    return status == NTK_RESULT_UNINITIALIZED || status == NTK_RESULT_CLOSED;
}

void ntk_attach_models_execute(struct ntk_attach_models *models,
                               const struct ntk_attach_event *event, uint16_t core,
                               uint16_t core_count)
{
    const struct running *running = ntk_map_get_number(&models->running, event->tid);
    struct model model = find(models, event->handle, core, core_count);
    struct ntk_hooks_exec exec = { .model = model.ref,
                                   .execution_id = models->execution,
                                   .call_start_ticks = event->start_ns,
                                   .core_start_ticks = event->start_ns,
                                   .status = (uint32_t)event->status,
                                   .run_count = (uint32_t)event->value,
                                   .core = model.core,
                                   .core_count = model.core_count };

    if (running && running->start_ns != event->start_ns) {
        cancel(models, event->tid); /* the end of the earlier execution was not reported */
        running = NULL;
    }
    if (event->kind == NTK_ATTACH_EXEC_BEGIN) {
        begin(models, event, &model);
        return;
    }
    models->execution++;
    if (!running) {
        ntk_hooks_behalf_at(event->start_ns, event->tid, event->comm);
        (void)ntk_hooks_exec_begin(model.ref, model.core, model.core_count);
        ntk_hooks_behalf_at(event->end_ns, event->tid, event->comm);
    }
    if (ntk_hooks_is_refusal(exec.status)) {
        ntk_hooks_exec_cancel(&exec);
        if (!is_no_execution(exec.status)) {
            ntk_hooks_exec_refused(&exec);
        }
    } else {
        ntk_hooks_exec_end(&exec);
    }
    free(ntk_map_remove_number(&models->running, event->tid));
}

/* ---- without records ---- */

static uint64_t hash_key(const struct ntk_attach_missed_key *key)
{
    uint64_t hash = key->handle * UINT64_C(0x9e3779b97f4a7c15);

    hash ^= (uint64_t)(uint32_t)key->status << 32 | key->bucket;
    return hash * UINT64_C(0xff51afd7ed558ccd);
}

/* Returns NULL if out of memory. */
static struct taken *find_taken(struct ntk_attach_models *models,
                                const struct ntk_attach_missed_key *key)
{
    for (uint64_t at = hash_key(key);; at++) {
        struct taken *taken = ntk_map_get_number(&models->missed, at);

        if (!taken) {
            taken = calloc(1, sizeof *taken);
            if (!taken || ntk_map_put_number(&models->missed, at, taken) < 0) {
                free(taken);
                return NULL;
            }
            taken->key = *key;
        }
        if (memcmp(&taken->key, key, sizeof *key) == 0) {
            return taken;
        }
    }
}

void ntk_attach_models_missed(struct ntk_attach_models *models,
                              const struct ntk_attach_missed_key *key,
                              const struct ntk_attach_missed *missed, uint16_t core,
                              uint16_t core_count)
{
    struct taken *taken = find_taken(models, key);
    struct model model;

    if (!taken || missed->count == taken->sum.count || is_no_execution((uint32_t)key->status)) {
        return;
    }
    model = find(models, key->handle, core, core_count);
    struct ntk_hooks_missed reported = { .model = model.ref,
                                         .count = missed->count - taken->sum.count,
                                         .sum_ns = missed->sum_ns - taken->sum.sum_ns,
                                         .status = (uint32_t)key->status,
                                         .bucket = key->bucket,
                                         .core = model.core };
    ntk_hooks_behalf_missed(&reported);
    if (!ntk_hooks_is_refusal(reported.status) && model.core < NTK_SEGMENT_CORES) {
        models->missed_busy_ns[model.core] += reported.sum_ns;
        models->core_count = core_count;
    }
    taken->sum = *missed;
}

void ntk_attach_models_missed_end(struct ntk_attach_models *models, uint64_t window_ns)
{
    for (uint32_t core = 0; core < NTK_SEGMENT_CORES; core++) {
        uint64_t busy_ns = models->missed_busy_ns[core];

        if (busy_ns != 0) {
            /* The executions may have run in parallel: a core's busy time is limited to the elapsed
             * time. */
            ntk_hooks_behalf_busy((uint16_t)core, models->core_count,
                                  busy_ns < window_ns ? busy_ns : window_ns);
            models->missed_busy_ns[core] = 0;
        }
    }
}

void ntk_attach_models_end_lost(struct ntk_attach_models *models,
                                bool (*is_running)(uint32_t tid, uint64_t start_ns, void *ctx),
                                void *ctx)
{
    for (size_t i = models->running.count; i-- > 0;) {
        uint64_t tid = models->running.entries[i].number;
        const struct running *running = models->running.entries[i].value;

        if (!is_running || !is_running((uint32_t)tid, running->start_ns, ctx)) {
            cancel(models, tid);
        }
    }
}
