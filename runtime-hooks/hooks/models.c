/* SPDX-License-Identifier: MIT */
/* models - the table of models and their events: load, start, stop, unload. */
#include "runtime-hooks/hooks/hooks_state.h"

#include <string.h>

#include "shared/abi/raw_clock.h"

static void store_text(char *field, size_t field_bytes, const char *text)
{
    size_t bytes = text != NULL ? strnlen(text, field_bytes - 1) : 0;

    memcpy(field, text != NULL ? text : "", bytes);
    memset(field + bytes, 0, field_bytes - bytes);
}

/* Takes a slot for a new model: an unused one, or the one unloaded longest ago. The caller holds
 * the lock. */
static uint32_t take_model_slot(void)
{
    uint32_t found = NTK_SEGMENT_MODELS;
    uint32_t lowest_id = UINT32_MAX;
    uint32_t i;

    for (i = 0; i < NTK_SEGMENT_MODELS; i++) {
        uint32_t state = ntk_abi_load(&hooks.segment.models[i].state);

        if (state == NTK_MODEL_FREE) {
            return i;
        }
        if (state == NTK_MODEL_UNLOADED && hooks.segment.models[i].id < lowest_id) {
            lowest_id = hooks.segment.models[i].id;
            found = i;
        }
    }
    return found;
}

void ntk_hooks_model_begin(const struct ntk_hooks_model *model, struct ntk_hooks_model_ref *out_ref)
{
    struct ntk_segment_process *process = hooks.segment.process;
    struct ntk_segment_model *entry;
    uint32_t slot;

    out_ref->id = model->id;
    out_ref->slot_plus_one = 0;
    if (ntk_abi_load(&hooks_mask) == 0 || !hooks_table_lock()) {
        return;
    }
    slot = take_model_slot();
    if (slot == NTK_SEGMENT_MODELS) {
        ntk_abi_add_shared(&hooks.segment.header->models_refused, 1);
        hooks_table_unlock();
        return;
    }
    entry = &hooks.segment.models[slot];
    /* Follows the sequence protocol of ntk_ring_segment_models(). */
    ntk_abi_store(&entry->seq, entry->seq + 1);
    ntk_abi_fence_release();
    ntk_abi_store(&entry->histogram, 0u);
    entry->id = model->id;
    memcpy(entry->uuid, model->uuid, sizeof entry->uuid);
    entry->core = model->core;
    entry->core_count = model->core_count;
    entry->load_realtime_ns = ntk_raw_clock_system_ns(CLOCK_REALTIME);
    entry->load_ns = 0;
    entry->device_bytes = 0;
    entry->flags = model->flags & ~(uint32_t)NTK_PROCESS_RANK;
    ntk_abi_store(&entry->running, 0);
    ntk_abi_store(&entry->executions, 0);
    ntk_abi_store(&entry->errors, 0);
    ntk_abi_store(&entry->effective_flops, 0);
    ntk_abi_store(&entry->node_switches, 0);
    ntk_abi_store(&entry->starts, 0);
    ntk_abi_store(&entry->stops, 0);
    store_text(entry->name, sizeof entry->name, model->name);
    store_text(entry->neff_path, sizeof entry->neff_path, model->neff_path);
    hooks.model_owned[slot] = hooks.cores_shared || model->core_count <= process->lnc;
    ntk_abi_store(&entry->state, (uint32_t)NTK_MODEL_LOADING);
    if (!(model->flags & NTK_PROCESS_ESTIMATED) &&
        hooks_histogram_prepare(NTK_SEGMENT_CORES + slot, NTK_HISTOGRAM_OWNER_MODEL(model->id))) {
        ntk_abi_store(&entry->histogram, 1u);
    }
    hooks.model_comm[slot] = 0;
    ntk_abi_store_release(&entry->seq, entry->seq + 1);
    hooks_table_unlock();
    out_ref->slot_plus_one = slot + 1;
    if (model->rank != NULL) {
        hooks_comm_program_join(slot, model);
    }
}

/* The data about a model in its load and unload events. */
struct model_facts {
    uint16_t core;
    uint32_t core_count;
    uint32_t name; /* id in the names table; 0 without events */
};

static struct model_facts model_facts_get(const struct ntk_segment_model *entry, uint32_t mask)
{
    struct model_facts facts = { .core = NTK_NO_CORE };

    if (entry != NULL) {
        facts.core = entry->core;
        facts.core_count = entry->core_count;
    }
    if (entry != NULL && (mask & HOOKS_EVENTS) != 0) {
        facts.name = ntk_hooks_name(entry->name);
    }
    return facts;
}

/* Frees the memory rows of an unloaded model. */
static void rows_give_back(uint32_t id)
{
    if (hooks_table_lock()) {
        hooks_rows_release(id);
        hooks_table_unlock();
    }
}

void ntk_hooks_model_loaded(struct ntk_hooks_model_ref model, uint64_t start_ticks, uint32_t status,
                            uint64_t device_bytes)
{
    struct ntk_segment_model *entry;
    uint32_t mask = ntk_abi_load(&hooks_mask);
    struct model_facts facts;
    uint32_t path_name = 0;
    uint64_t now;

    if (mask == 0) {
        return;
    }
    now = hooks_now();
    entry = hooks_model_entry(model);
    facts = model_facts_get(entry, mask);
    if (entry != NULL) {
        if ((mask & HOOKS_EVENTS) != 0) {
            path_name = ntk_hooks_name(entry->neff_path);
        }
        ntk_abi_store(&entry->load_ns, hooks_span_ns(start_ticks, now));
        ntk_abi_store(&entry->device_bytes, device_bytes);
        if (status == 0 && facts.core < NTK_SEGMENT_CORES) {
            ntk_abi_add_shared(&hooks.segment.cores[facts.core].model_load_count, 1);
        }
        ntk_abi_store_release(&entry->state,
                              (uint32_t)(status == 0 ? NTK_MODEL_LOADED : NTK_MODEL_UNLOADED));
        if (status != 0) {
            rows_give_back(model.id);
            hooks_comm_program_leave(hooks_model_slot(model));
        }
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_MODEL_LOAD, 0, facts.core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, now), NTK_WORD(hooks_model_id(model), status),
                     device_bytes, NTK_WORD(facts.name, path_name), facts.core_count);
    }
}

void ntk_hooks_model_switched(struct ntk_hooks_model_ref model)
{
    struct ntk_segment_model *entry =
        ntk_abi_load(&hooks_mask) == 0 ? NULL : hooks_model_entry(model);

    if (entry != NULL) {
        ntk_abi_add_shared(&entry->node_switches, 1);
    }
}

/* Records a start or stop between load and unload. */
static void model_turned(uint16_t kind, struct ntk_hooks_model_ref model, uint64_t start_ticks,
                         uint32_t status)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);
    struct ntk_segment_model *entry;
    struct model_facts facts;
    uint64_t so_far = 0;

    if (mask == 0) {
        return;
    }
    entry = hooks_model_entry(model);
    facts = model_facts_get(entry, mask);
    if (entry != NULL && kind == NTK_EVENT_MODEL_START) {
        so_far = ntk_abi_add_shared(&entry->starts, 1) + 1;
    } else if (entry != NULL) {
        ntk_abi_add_shared(&entry->stops, 1);
        so_far = ntk_abi_load(&entry->executions);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(kind, 0, facts.core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, hooks_now()),
                     NTK_WORD(hooks_model_id(model), status), so_far, facts.name, facts.core_count);
    }
}

void ntk_hooks_model_started(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status)
{
    model_turned(NTK_EVENT_MODEL_START, model, start_ticks, status);
}

void ntk_hooks_model_stopped(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status)
{
    model_turned(NTK_EVENT_MODEL_STOP, model, start_ticks, status);
}

void ntk_hooks_model_unloaded(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                              uint32_t status)
{
    struct ntk_segment_model *entry;
    uint32_t mask = ntk_abi_load(&hooks_mask);
    struct model_facts facts;
    uint64_t executions = 0;
    uint64_t now;

    if (mask == 0) {
        return;
    }
    now = hooks_now();
    entry = hooks_model_entry(model);
    if (entry != NULL && entry->id != model.id) {
        entry = NULL; /* the slot has another model by now */
    }
    facts = model_facts_get(entry, mask);
    if (entry != NULL) {
        executions = ntk_abi_load(&entry->executions);
        if (facts.core < NTK_SEGMENT_CORES) {
            ntk_abi_add_shared(&hooks.segment.cores[facts.core].model_unload_count, 1);
        }
        rows_give_back(model.id);
        hooks_comm_program_leave(hooks_model_slot(model));
        ntk_abi_store_release(&entry->state, (uint32_t)NTK_MODEL_UNLOADED);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_MODEL_UNLOAD, 0, facts.core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, now), NTK_WORD(hooks_model_id(model), status),
                     executions, facts.name, facts.core_count);
    }
}
