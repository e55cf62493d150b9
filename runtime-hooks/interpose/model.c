/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/model.h"

#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/interpose/handles.h"
#include "runtime-hooks/interpose/neff_facts.h"

static struct interpose_handles models = INTERPOSE_HANDLES_INIT;
static uint32_t next_id = NTK_MODEL_ID_FIRST;

static_assert(sizeof(struct interpose_model) <= sizeof(struct interpose_handle_value),
              "a model is kept by its handle");

bool interpose_model_get(const nrt_model_t *handle, struct interpose_model *out_model)
{
    struct interpose_thread *thread = &interpose_thread;
    uint64_t seq = interpose_handles_seq(&models);
    struct interpose_handle_value value;

    if (thread->model_handle == handle && thread->model_seq == seq) {
        *out_model = thread->model;
        return true;
    }
    if (!interpose_handles_get(&models, handle, &value)) {
        return false;
    }
    memcpy(out_model, &value, sizeof *out_model);
    thread->model = *out_model;
    thread->model_seq = seq;
    /* A result found while the table changed is not cached. */
    thread->model_handle = (seq & 1) == 0 && interpose_handles_seq(&models) == seq ? handle : NULL;
    return true;
}

/* ---- loads ---- */

static void model_put(const nrt_model_t *handle, const struct interpose_model *model,
                      struct interpose_handle_value *out_value)
{
    memset(out_value, 0, sizeof *out_value);
    memcpy(out_value, model, sizeof *model);
    (void)interpose_handles_put(&models, handle, out_value);
}

/* Bytes in use on each core of the process, as far as the runtime reports them. */
struct usage {
    bool is_known;
    uint64_t bytes[NTK_SEGMENT_CORES];
};

static void usage_get(struct usage *usage)
{
    usage->is_known = interpose_cores.count > 0;
    for (uint32_t i = 0; i < interpose_cores.count && usage->is_known; i++) {
        nrt_vnc_memory_stats_t stats = { 0 };
        size_t bytes = 0;

        usage->is_known =
            REAL(nrt_get_vnc_memory_stats)(i, &stats, sizeof stats, &bytes) == NRT_SUCCESS;
        usage->bytes[i] = stats.bytes_used;
    }
}

struct load {
    struct interpose_neff_facts facts;
    struct usage before;
    uint64_t start_ticks;
};

static void load_begin(struct load *load, const void *neff_bytes, size_t size)
{
    interpose_neff_facts_get(neff_bytes, size, &load->facts);
    usage_get(&load->before);
    load->start_ticks = ntk_hooks_now();
}

/* Returns the core with the largest growth, if the runtime does not report the core. Cores share
 * stacks, so the first of equal cores is returned. */
static int64_t core_by_growth(const struct load *load, const struct usage *after)
{
    int64_t core = interpose_cores.count == 1 ? 0 : -1;
    uint64_t most = 0;

    for (uint32_t i = 0; load->before.is_known && after->is_known && i < interpose_cores.count;
         i++) {
        if (after->bytes[i] > load->before.bytes[i] &&
            after->bytes[i] - load->before.bytes[i] > most) {
            most = after->bytes[i] - load->before.bytes[i];
            core = i;
        }
    }
    return core;
}

static int64_t core_of_model(const nrt_model_t *handle, const struct load *load,
                             const struct usage *after, int32_t vnc)
{
    nrt_model_info_t info = { 0 };
    size_t bytes = 0;

    if (vnc >= 0) {
        return vnc;
    }
    if (handle && REAL(nrt_get_model_info)(handle, &info, sizeof info, &bytes) == NRT_SUCCESS) {
        return info.vnc;
    }
    return core_by_growth(load, after);
}

static uint16_t core_count_of_model(const nrt_model_t *handle, uint16_t core)
{
    uint32_t count = 1;

    if (core == NTK_NO_CORE) {
        return 0;
    }
    if (handle && REAL(nrt_get_model_vnc_count)(handle, &count) != NRT_SUCCESS) {
        count = 1;
    }
    count *= interpose_cores.lnc;
    return (uint16_t)(count < NTK_SEGMENT_CORES - core ? count : NTK_SEGMENT_CORES - core);
}

static uint64_t growth_sum(const struct load *load, const struct usage *after)
{
    uint64_t before_bytes = 0;
    uint64_t after_bytes = 0;

    for (uint32_t i = 0; i < interpose_cores.count; i++) {
        before_bytes += load->before.bytes[i];
        after_bytes += after->bytes[i];
    }
    return after_bytes > before_bytes ? after_bytes - before_bytes : 0;
}

/* Ends a load; a failed load has no handle. rank: NULL if no other process is involved. */
static void load_end(const struct load *load, nrt_model_t *handle, int32_t vnc,
                     const struct ntk_hooks_rank *rank, NRT_STATUS status)
{
    struct interpose_model model = { 0 };
    struct interpose_handle_value value;
    struct usage after;
    uint64_t bytes = 0;

    usage_get(&after);
    int64_t core = core_of_model(handle, load, &after, vnc);
    model.core = interpose_core_get(core);
    model.vnc = core >= 0 ? (uint32_t)core : 0;
    model.core_count = core_count_of_model(handle, model.core);
    struct ntk_hooks_model hook = {
        .id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED),
        .name = load->facts.name,
        .neff_path = load->facts.path,
        .core = model.core,
        .core_count = model.core_count,
        .rank = rank,
    };
    memcpy(hook.uuid, load->facts.uuid, sizeof hook.uuid);
    if (status == NRT_SUCCESS && load->before.is_known && after.is_known) {
        hook.flags |= NTK_PROCESS_MEMORY_ESTIMATED;
        bytes = growth_sum(load, &after);
    }
    ntk_hooks_model_begin(&hook, &model.ref);
    ntk_hooks_model_loaded(model.ref, load->start_ticks, (uint32_t)status, bytes);
    if (status == NRT_SUCCESS && handle) {
        model_put(handle, &model, &value);
    }
}

NRT_STATUS observed_nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                             nrt_model_t **model)
{
    INTERPOSE_SCOPE;
    struct load load;

    if (!scope.generation) {
        return REAL(nrt_load)(neff_bytes, size, vnc, vnc_count, model);
    }
    load_begin(&load, neff_bytes, size);
    NRT_STATUS status = REAL(nrt_load)(neff_bytes, size, vnc, vnc_count, model);
    if (interpose_is_on(&scope)) {
        load_end(&load, status == NRT_SUCCESS ? *model : NULL, vnc, NULL, status);
    }
    return status;
}

NRT_STATUS observed_nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc,
                                         int32_t vnc_count, uint32_t ctx_device_id,
                                         uint32_t ctx_device_count, nrt_model_t **model)
{
    INTERPOSE_SCOPE;
    const struct ntk_hooks_rank rank = { .rendezvous = getenv("NEURON_RT_ROOT_COMM_ID"),
                                         .world_rank = ctx_device_id,
                                         .world_count = ctx_device_count };
    struct load load;

    if (!scope.generation) {
        return REAL(nrt_load_collectives)(neff_bytes, size, vnc, vnc_count, ctx_device_id,
                                          ctx_device_count, model);
    }
    load_begin(&load, neff_bytes, size);
    NRT_STATUS status = REAL(nrt_load_collectives)(neff_bytes, size, vnc, vnc_count, ctx_device_id,
                                                   ctx_device_count, model);
    if (interpose_is_on(&scope)) {
        load_end(&load, status == NRT_SUCCESS ? *model : NULL, vnc, &rank, status);
    }
    return status;
}

/* ---- unloads ---- */

NRT_STATUS observed_nrt_unload(nrt_model_t *model)
{
    INTERPOSE_SCOPE;
    struct interpose_handle_value value;
    struct interpose_model known;
    uint64_t start_ticks;

    if (!scope.generation || !interpose_model_get(model, &known)) {
        return REAL(nrt_unload)(model);
    }
    /* Executions started earlier by other threads are counted; a new model may get the address
     * before this call returns. */
    known.is_unloading = 1;
    model_put(model, &known, &value);
    start_ticks = ntk_hooks_now();
    NRT_STATUS status = REAL(nrt_unload)(model);
    if (!interpose_is_on(&scope)) {
        return status;
    }
    if (status == NRT_SUCCESS) {
        interpose_handles_remove(&models, model, &value);
        ntk_hooks_model_unloaded(known.ref, start_ticks, (uint32_t)status);
    } else {
        known.is_unloading = 0;
        model_put(model, &known, &value);
    }
    return status;
}

void interpose_models_forget(void)
{
    struct interpose_handle_value value;
    struct interpose_model model;
    uint32_t cursor = 0;

    while (interpose_handles_take_next(&models, &cursor, &value)) {
        memcpy(&model, &value, sizeof model);
        ntk_hooks_model_unloaded(model.ref, ntk_hooks_now(), NRT_SUCCESS);
    }
}

void interpose_models_after_fork(void)
{
    interpose_handles_after_fork(&models);
}
