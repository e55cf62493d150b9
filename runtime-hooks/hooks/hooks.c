/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/hooks/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks_state.h"
#include "shared/abi/raw_clock.h"
#include "shared/abi/result.h"

struct hooks_state hooks = { .segment = { .fd = -1 } };
uint32_t hooks_mask;

static int fork_prepared;

/* ---- attach and detach ---- */

static void in_child(void)
{
    if (ntk_abi_load(&hooks_mask) == 0) {
        return;
    }
    ntk_abi_store(&hooks_mask, 0u);
    hooks_tables_after_fork();
    hooks_threads_after_fork();
    hooks_segment_forget();
}

/* The value of NEURON_HOOKS: 0 off, 1 counters, 2 all. Unknown values are reported and mean all. */
static uint32_t mode_wanted(char *note, size_t note_bytes)
{
    const char *text = getenv("NEURON_HOOKS");

    if (text == NULL || text[0] == '\0' || strcmp(text, "1") == 0) {
        return 2;
    }
    if (strcmp(text, "0") == 0) {
        return 0;
    }
    if (strcmp(text, "counters") == 0) {
        return 1;
    }
    (void)snprintf(note, note_bytes,
                   "NEURON_HOOKS=%.40s: expected 1, counters or 0; recording counters and events",
                   text);
    return 2;
}

int ntk_hooks_attach(const struct ntk_hooks_config *config, char *out_note, size_t note_bytes)
{
    char unwanted_note[256];
    uint64_t ticks_per_second;
    uint32_t mode;
    int ret;

    if (out_note == NULL || note_bytes == 0) {
        out_note = unwanted_note;
        note_bytes = sizeof unwanted_note;
    }
    out_note[0] = '\0';
    if (ntk_abi_load(&hooks_mask) != 0) {
        return -EALREADY;
    }
    mode = mode_wanted(out_note, note_bytes);
    if (mode == 0) {
        return 0;
    }
    if (!hooks_threads_prepare()) {
        (void)snprintf(out_note, note_bytes, "no thread key available for the hooks");
        return -EAGAIN;
    }
    if (!fork_prepared) {
        if (pthread_atfork(NULL, NULL, in_child) != 0) {
            (void)snprintf(out_note, note_bytes, "cannot register a fork handler");
            return -ENOMEM;
        }
        fork_prepared = 1;
    }
    ret = hooks_segment_create(config, mode, out_note, note_bytes);
    if (ret < 0) {
        return ret;
    }
    hooks.attach_count++;
    hooks.writer_pid = (uint32_t)getpid();
    hooks.is_behalf = config->behalf != NULL;
    hooks.given_ns = 0;
    hooks.clock_kind = hooks.segment.process->clock.kind;
    ticks_per_second = hooks.segment.process->clock.ticks_per_second;
    hooks.ns_per_tick = (uint64_t)(1e9 / (double)ticks_per_second * 4294967296.0);
    hooks.ticks_per_ns = (uint64_t)((double)ticks_per_second / 1e9 * 4294967296.0);
    hooks.cores_shared = (config->flags & NTK_HOOKS_CORES_SHARED) != 0;
    hooks_tables_reset();
    hooks_threads_reset();
    __atomic_store_n(&hooks_mask, mode >= 2 ? HOOKS_COUNTERS | HOOKS_EVENTS : HOOKS_COUNTERS,
                     __ATOMIC_RELEASE);
    return 0;
}

static void detach(bool is_in_order)
{
    if (ntk_abi_load(&hooks_mask) == 0) {
        return;
    }
    if (is_in_order && hooks.writer_pid == (uint32_t)getpid()) {
        hooks_comms_leave_all();
    }
    __atomic_store_n(&hooks_mask, 0u, __ATOMIC_SEQ_CST);
    if (hooks.writer_pid != (uint32_t)getpid()) {
        hooks_segment_forget(); /* a child that was created without pthread_atfork */
        return;
    }
    hooks_segment_end();
}

void ntk_hooks_detach(void)
{
    detach(true);
}

/* If a program exits or unloads the library without a regular end, it counts as a lost rank. */
__attribute__((destructor)) static void detach_at_end(void)
{
    detach(false);
}

const char *ntk_hooks_segment_path(void)
{
    return ntk_abi_load(&hooks_mask) != 0 ? hooks.segment.path : NULL;
}

int ntk_hooks_counters_on(void)
{
    return (ntk_abi_load(&hooks_mask) & HOOKS_COUNTERS) != 0;
}

/* ---- clock ---- */

uint64_t ntk_hooks_now(void)
{
    if (hooks_unlikely(hooks.given_ns != 0)) {
        return hooks.given_ns;
    }
    /* With zeroed state, this is CLOCK_MONOTONIC in nanoseconds. */
    return ntk_raw_clock_now(hooks.clock_kind);
}

uint64_t ntk_hooks_ticks_to_ns(uint64_t ticks)
{
    return hooks_scale(ticks, hooks.ns_per_tick);
}

/* ---- cores ---- */

static inline void count(uint64_t *counter, uint64_t amount, uint32_t is_shared)
{
    if (amount == 0) {
        return;
    }
    if (is_shared) {
        ntk_abi_add_shared(counter, amount);
    } else {
        ntk_abi_add_owned(counter, amount);
    }
}

/* Locks a core's counts, which have one writer: the thread that holds the core, or the holder of
 * this lock. Returns 0 if a signal handler interrupted the holder; the handler's counts are then
 * dropped, which is counted. */
static inline int core_lock(uint16_t core)
{
    if (hooks_likely(!hooks.cores_shared) || hooks_core_lock_take(&hooks.core_lock[core])) {
        return 1;
    }
    struct ntk_ring_writer *writer = hooks_ring();

    ntk_abi_add_shared(
        writer != NULL ? &writer->ring->dropped : &hooks.segment.header->events_without_ring, 1);
    return 0;
}

static inline void core_unlock(uint16_t core)
{
    if (hooks_unlikely(hooks.cores_shared)) {
        hooks_core_lock_drop(&hooks.core_lock[core]);
    }
}

enum turn {
    TURN_BEGIN,
    TURN_END,
    TURN_CANCEL, /* the execution never ran: its time does not count unless others run */
};

/* Starts or ends an execution on the core. The caller holds the lock. Pairs with read_core_line()
 * in ring_segment_tables.c. */
static void core_turn(uint16_t core, uint64_t now, enum turn turn, uint32_t model)
{
    struct ntk_segment_core *block = &hooks.segment.cores[core];
    uint64_t in_flight;
    uint64_t since;
    uint64_t seq;

    /* Odd from here on, even if a thread that exited left it odd. */
    seq = ntk_abi_load(&block->seq) | 1;
    in_flight = ntk_abi_load(&block->in_flight);
    since = ntk_abi_load(&block->since_ticks);
    ntk_abi_store(&block->seq, seq);
    ntk_abi_fence_release();
    if (in_flight > (turn == TURN_CANCEL ? 1 : 0)) {
        ntk_abi_store(&block->busy_ns, ntk_abi_load(&block->busy_ns) + hooks_span_ns(since, now));
    }
    if (in_flight == 0 || now > since) {
        ntk_abi_store(&block->since_ticks, now);
    }
    if (turn == TURN_BEGIN) {
        ntk_abi_store(&block->in_flight, in_flight + 1);
        ntk_abi_store(&block->current_model, model);
    } else if (in_flight > 0) {
        ntk_abi_store(&block->in_flight, in_flight - 1);
        if (in_flight == 1) {
            ntk_abi_store(&block->current_model, 0);
        }
    }
    ntk_abi_store_release(&block->seq, seq + 1);
}

/* Same, for the cores after the first, each under its own lock. */
static void cores_turn(uint16_t core, uint32_t end, uint64_t now, enum turn turn, uint32_t model)
{
    for (uint32_t i = (uint32_t)core + 1; i < end && i < NTK_SEGMENT_CORES; i++) {
        if (core_lock((uint16_t)i)) {
            core_turn((uint16_t)i, now, turn, model);
            core_unlock((uint16_t)i);
        }
    }
}

void ntk_hooks_core_claim(uint16_t core, uint32_t logical_core, int is_first)
{
    struct ntk_segment_core *block;

    if (ntk_abi_load(&hooks_mask) == 0 || core >= NTK_SEGMENT_CORES) {
        return;
    }
    block = &hooks.segment.cores[core];
    __atomic_fetch_or(&hooks.segment.header->cores_used[core / 64], 1ull << core % 64,
                      __ATOMIC_RELAXED);
    ntk_abi_store(&block->logical, logical_core);
    if (is_first && hooks_table_lock()) {
        ntk_abi_store_release(&block->histogram, (uint32_t)hooks_histogram_prepare(
                                                     core, NTK_HISTOGRAM_OWNER_CORE(core)));
        hooks_table_unlock();
    }
    ntk_abi_store_release(&block->state, (uint32_t)NTK_CORE_OWNED);
}

void ntk_hooks_core_release(uint16_t core)
{
    if (ntk_abi_load(&hooks_mask) != 0 && core < NTK_SEGMENT_CORES) {
        ntk_abi_store_release(&hooks.segment.cores[core].state, (uint32_t)NTK_CORE_RELEASED);
    }
}

int ntk_hooks_core_is_idle(uint16_t core)
{
    if (ntk_abi_load(&hooks_mask) == 0 || core >= NTK_SEGMENT_CORES) {
        return 1;
    }
    if (ntk_abi_load(&hooks.segment.cores[core].in_flight) != 0) {
        return 0;
    }
    if (core_lock(core)) { /* the thread that ends the last execution counts it under the lock */
        core_unlock(core);
    }
    return 1;
}

/* ---- models ---- */

static inline uint32_t model_slot(struct ntk_hooks_model_ref model)
{
    return model.slot_plus_one - 1u; /* NTK_SEGMENT_MODELS or more: no slot */
}

static inline struct ntk_segment_model *model_entry(struct ntk_hooks_model_ref model)
{
    return model_slot(model) < NTK_SEGMENT_MODELS ? &hooks.segment.models[model_slot(model)] : NULL;
}

/* The id to record: models beyond the table count as model 0. */
static inline uint32_t model_id(struct ntk_hooks_model_ref model)
{
    return model.slot_plus_one != 0 ? model.id : 0;
}

static void store_text(char *field, size_t field_bytes, const char *text)
{
    size_t bytes = text != NULL ? strnlen(text, field_bytes - 1) : 0;

    memcpy(field, text != NULL ? text : "", bytes);
    memset(field + bytes, 0, field_bytes - bytes);
}

/* Takes a slot for a new model: an unused one, else the one unloaded longest ago. The caller holds
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
    now = ntk_hooks_now();
    entry = model_entry(model);
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
            hooks_comm_program_leave(model_slot(model));
        }
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_MODEL_LOAD, 0, facts.core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, now), NTK_WORD(model_id(model), status),
                     device_bytes, NTK_WORD(facts.name, path_name), facts.core_count);
    }
}

void ntk_hooks_model_switched(struct ntk_hooks_model_ref model)
{
    struct ntk_segment_model *entry = ntk_abi_load(&hooks_mask) == 0 ? NULL : model_entry(model);

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
    entry = model_entry(model);
    facts = model_facts_get(entry, mask);
    if (entry != NULL && kind == NTK_EVENT_MODEL_START) {
        so_far = ntk_abi_add_shared(&entry->starts, 1) + 1;
    } else if (entry != NULL) {
        ntk_abi_add_shared(&entry->stops, 1);
        so_far = ntk_abi_load(&entry->executions);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(kind, 0, facts.core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, ntk_hooks_now()),
                     NTK_WORD(model_id(model), status), so_far, facts.name, facts.core_count);
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
    now = ntk_hooks_now();
    entry = model_entry(model);
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
        hooks_comm_program_leave(model_slot(model));
        ntk_abi_store_release(&entry->state, (uint32_t)NTK_MODEL_UNLOADED);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_MODEL_UNLOAD, 0, facts.core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, now), NTK_WORD(model_id(model), status),
                     executions, facts.name, facts.core_count);
    }
}

/* ---- executions ---- */

/* Whether other threads may write the model's counters now: not while this thread holds the model's
 * core or the core's lock. */
static inline uint32_t model_is_shared(struct ntk_hooks_model_ref model,
                                       const struct ntk_segment_model *entry, uint16_t core)
{
    return !hooks.model_owned[model_slot(model)] || (hooks.cores_shared && entry->core != core);
}

/* Prefetches cache lines. Without that, the locked instruction would make the thread wait for each
 * of them in turn. */
static inline void prefetch_core(struct ntk_hooks_model_ref model, uint16_t core)
{
    const struct ntk_segment_model *entry = model_entry(model);

    if (hooks_unlikely(hooks.cores_shared)) {
        __builtin_prefetch(&hooks.core_lock[core], 1);
        __builtin_prefetch(&hooks.segment.cores[core].seq, 1);
        if (entry != NULL) {
            __builtin_prefetch(&entry->seq);
            __builtin_prefetch(&entry->running, 1);
        }
    }
}

uint64_t ntk_hooks_exec_begin(struct ntk_hooks_model_ref model, uint16_t core, uint16_t core_count)
{
    struct ntk_segment_model *entry;
    uint64_t now;

    if (hooks_unlikely(ntk_abi_load(&hooks_mask) == 0)) {
        return 0;
    }
    if (core >= NTK_SEGMENT_CORES) {
        return ntk_hooks_now();
    }
    prefetch_core(model, core);
    now = ntk_hooks_now();
    if (hooks_unlikely(core_count > 1)) {
        cores_turn(core, (uint32_t)core + core_count, now, TURN_BEGIN, model_id(model));
    }
    if (core_lock(core)) {
        core_turn(core, now, TURN_BEGIN, model_id(model));
        entry = model_entry(model);
        if (hooks_likely(entry != NULL)) {
            count(&entry->running, 1, model_is_shared(model, entry, core));
        }
        core_unlock(core);
        if (entry != NULL && hooks_unlikely(entry->flags & NTK_PROCESS_RANK)) {
            hooks_comm_program_begin(model_slot(model), core, now);
        }
    }
    return now;
}

/* The runs in a call: their number, and the duration of each; 0 ns on the core means unknown. */
struct exec_span {
    uint64_t runs;
    uint64_t total_ns;
    uint64_t core_ns;
    uint32_t is_unknown; /* the end time is unknown */
};

static void histogram_add(struct ntk_histogram_pair *pair, const struct exec_span *span,
                          uint32_t is_shared)
{
    uint32_t bucket = ntk_histogram_bucket(span->total_ns / span->runs);

    hooks_histogram_mark(pair, bucket);
    count(&pair->total[bucket], span->runs, is_shared);
    count(&pair->total_sum_ns, span->total_ns, is_shared);
    if (span->core_ns != 0) {
        bucket = ntk_histogram_bucket(span->core_ns / span->runs);
        hooks_histogram_mark(pair, bucket);
        count(&pair->device[bucket], span->runs, is_shared);
        count(&pair->device_sum_ns, span->core_ns, is_shared);
    }
}

void hooks_note_end(struct ntk_segment_core *block, uint32_t status, uint64_t now)
{
    uint64_t since = ntk_abi_load(&block->failing_since_ticks);

    if (status == 0) {
        if (hooks_unlikely(since != 0)) {
            ntk_abi_store(&block->failing_since_ticks, 0);
        }
    } else if (since == 0 && (status == NTK_RESULT_DEAD ||
                              ntk_error_class_of_status(status) == NTK_ERROR_HARDWARE ||
                              ntk_outcome_of_status(status) == NTK_OUTCOME_TIMED_OUT)) {
        ntk_abi_store(&block->failing_since_ticks, now);
    }
}

/* Counts completed executions as the only writer, other outcomes from any thread. */
static void count_outcome(struct ntk_segment_core *block, uint32_t status, uint64_t runs,
                          uint64_t now)
{
    enum ntk_error_class error_class = ntk_error_class_of_status(status);

    hooks_note_end(block, status, now);
    if (hooks_likely(status == 0)) {
        count(&block->outcome[NTK_OUTCOME_COMPLETED], runs, 0);
        count(&block->status[NTK_STATUS_SUCCESS], runs, 0);
        return;
    }
    ntk_abi_add_shared(&block->outcome[ntk_outcome_of_status(status)], 1);
    ntk_abi_add_shared(&block->status[ntk_status_counter_of_status(status)], 1);
    if (error_class != NTK_ERROR_CLASS_NONE) {
        ntk_abi_add_shared(&block->error_class[error_class], 1);
    }
}

static void count_core(struct ntk_segment_core *block, const struct ntk_hooks_exec_core *core,
                       uint64_t device_ns)
{
    uint64_t tensor_ns = core->tensor_matmul_ns + core->tensor_weights_ns;
    size_t i;

#define COUNT(member)                                                                   \
    for (i = 0; i < sizeof core->member / sizeof(uint64_t); i++) {                      \
        count((uint64_t *)&block->member + i, ((const uint64_t *)&core->member)[i], 0); \
    }
#define NTK_CORE_EXEC_COUNT(id, member, ...) COUNT(member)
#define NTK_CORE_EXEC_WORD(member, list) COUNT(member)
#include "shared/abi/core_counts.def"
#undef COUNT
    count(&block->dma_descriptors, core->engine_instructions[NTK_ENGINE_DMA], 0);
    count(&block->device_ns, device_ns, 0);
    count(&block->tensor_engine_ns[0], core->tensor_matmul_ns, 0);
    count(&block->tensor_engine_ns[1], core->tensor_weights_ns, 0);
    count(&block->tensor_engine_ns[2], device_ns > tensor_ns ? device_ns - tensor_ns : 0, 0);
}

/* Writes the EXEC record, and an ENGINE record for each engine that worked. */
static void record_exec(const struct ntk_hooks_exec *exec, uint64_t now, uint64_t core_ticks,
                        uint32_t cores)
{
    struct ntk_ring_writer *writer = hooks_ring();
    uint32_t id = model_id(exec->model);
    uint32_t i;
    uint32_t e;

    if (hooks_unlikely(writer == NULL) || !ntk_ring_writer_enter(writer)) {
        return;
    }
    for (i = 0; exec->per_core != NULL && i < cores; i++) {
        const struct ntk_hooks_exec_core *core = &exec->per_core[i];

        for (e = 0; e < NTK_ENGINE_COUNT; e++) {
            if (core->engine_busy_device_ns[e] != 0 || core->engine_instructions[e] != 0) {
                ntk_ring_writer_put(
                    writer, exec->core_start_ticks,
                    NTK_SLOT_META(NTK_EVENT_ENGINE, 0, exec->core + i, writer->thread),
                    hooks_scale(core->engine_busy_ns[e], hooks.ticks_per_ns), NTK_WORD(id, e),
                    exec->execution_id, core->engine_busy_device_ns[e],
                    core->engine_instructions[e]);
            }
        }
    }
    ntk_ring_writer_put(
        writer, exec->call_start_ticks != 0 ? exec->call_start_ticks : now,
        NTK_SLOT_META(NTK_EVENT_EXEC,
                      NTK_EXEC_FLAGS(ntk_outcome_of_status(exec->status), exec->queue), exec->core,
                      writer->thread),
        exec->call_start_ticks != 0 ? hooks_span_ticks(exec->call_start_ticks, now) : 0,
        NTK_WORD(id, exec->status), exec->execution_id, core_ticks, exec->device_ns);
    ntk_ring_writer_leave(writer);
}

static inline void prefetch_histogram(const struct ntk_histogram_pair *pair, uint32_t total_bucket,
                                      uint32_t device_bucket)
{
    __builtin_prefetch(&pair->total[total_bucket], 1);
    __builtin_prefetch(&pair->device[device_bucket], 1);
    __builtin_prefetch(&pair->total_sum_ns, 1);
}

/* Fetches all cache lines at once, because the execution's data has evicted them. */
static void prefetch_exec(const struct ntk_hooks_exec *exec, const struct exec_span *span)
{
    const struct ntk_segment_core *block = &hooks.segment.cores[exec->core];
    const struct ntk_segment_model *entry = model_entry(exec->model);
    uint32_t total_bucket = ntk_histogram_bucket(span->total_ns / span->runs);
    uint32_t device_bucket = ntk_histogram_bucket(span->core_ns / span->runs);

    __builtin_prefetch(&block->outcome[0], 1);
    __builtin_prefetch(&block->status[0], 1);
    __builtin_prefetch(&block->flops, 1);
    __builtin_prefetch(&block->engine_busy_ns[2], 1);
    __builtin_prefetch(&block->engine_instructions[2], 1);
    __builtin_prefetch(&block->device_ns, 1);
    prefetch_histogram(&hooks.segment.histograms[exec->core], total_bucket, device_bucket);
    if (entry != NULL) {
        __builtin_prefetch(&entry->executions, 1);
        prefetch_histogram(&hooks.segment.histograms[NTK_SEGMENT_CORES + model_slot(exec->model)],
                           total_bucket, device_bucket);
    }
}

/* Ends the execution on one core: counts the work of its engines, and the operations of its
 * program. The caller holds the lock. */
static uint64_t end_on_core(const struct ntk_hooks_exec *exec, uint32_t index, uint64_t core_end)
{
    const struct ntk_hooks_exec_core *core = exec->per_core != NULL ? &exec->per_core[index] : NULL;

    core_turn((uint16_t)(exec->core + index), core_end, TURN_END, 0);
    if (core == NULL) {
        return 0;
    }
    count_core(&hooks.segment.cores[exec->core + index], core, exec->device_ns);
    return core->effective_flops;
}

/* Counts a part of an execution that the core has finished and that continues elsewhere. */
static void count_part(const struct ntk_hooks_exec *exec, struct ntk_segment_model *entry,
                       uint64_t flops)
{
    uint32_t is_shared;

    if (entry != NULL) {
        is_shared = model_is_shared(exec->model, entry, exec->core);
        count(&entry->running, UINT64_MAX, is_shared); /* subtracts one */
        count(&entry->effective_flops, flops, is_shared);
    }
}

/* Counts the execution on its first core and its model. The caller holds the first core's lock. */
static void count_execution(const struct ntk_hooks_exec *exec, const struct exec_span *span,
                            uint64_t flops, uint64_t core_end)
{
    struct ntk_segment_core *block = &hooks.segment.cores[exec->core];
    struct ntk_segment_model *entry = model_entry(exec->model);
    uint32_t is_shared;

    if (hooks_unlikely(exec->is_part)) {
        count_part(exec, entry, flops);
        return;
    }
    count_outcome(block, exec->status, span->runs, core_end);
    if (hooks_likely(ntk_abi_load(&block->histogram) != 0) && hooks_likely(!span->is_unknown) &&
        !(entry != NULL && hooks_unlikely(entry->flags & NTK_PROCESS_ESTIMATED))) {
        histogram_add(&hooks.segment.histograms[exec->core], span, 0);
    }
    if (hooks_unlikely(entry == NULL)) {
        return;
    }
    is_shared = model_is_shared(exec->model, entry, exec->core);
    count(&entry->running, UINT64_MAX, is_shared); /* subtracts one */
    count(&entry->executions, span->runs, is_shared);
    count(&entry->effective_flops, flops, is_shared);
    if (hooks_unlikely(exec->status != 0)) {
        ntk_abi_add_shared(&entry->errors, 1);
    }
    if (hooks_likely(ntk_abi_load(&entry->histogram) != 0) && hooks_likely(!span->is_unknown)) {
        histogram_add(&hooks.segment.histograms[NTK_SEGMENT_CORES + model_slot(exec->model)], span,
                      is_shared);
    }
}

void ntk_hooks_exec_end(const struct ntk_hooks_exec *exec)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);
    uint64_t core_end;
    struct exec_span span;
    uint64_t flops = 0;
    uint32_t cores;
    uint64_t now;
    uint32_t i;

    if (hooks_unlikely(mask == 0) || exec->core >= NTK_SEGMENT_CORES) {
        return;
    }
    prefetch_core(exec->model, exec->core);
    now = ntk_hooks_now();
    core_end = exec->core_end_ticks != 0 ? exec->core_end_ticks : now;
    cores = exec->core_count != 0 ? exec->core_count : 1;
    if (cores > NTK_SEGMENT_CORES - exec->core) {
        cores = NTK_SEGMENT_CORES - exec->core;
    }
    /* If the call failed, it is unknown which run failed. */
    span.runs = exec->run_count != 0 && exec->status == 0 ? exec->run_count : 1;
    span.is_unknown = exec->call_start_ticks == 0;
    span.total_ns = span.is_unknown ? 0 : hooks_span_ns(exec->call_start_ticks, now);
    span.core_ns = exec->device_ns != 0 ? hooks_span_ns(exec->core_start_ticks, core_end) : 0;
    if (hooks_unlikely(exec->parts_ticks != 0)) {
        span.core_ns += ntk_hooks_ticks_to_ns(exec->parts_ticks);
    }
    prefetch_exec(exec, &span);
    if (hooks_unlikely(hooks.cores_shared)) {
        hooks_ring_prefetch();
    }

    for (i = 1; i < cores; i++) {
        if (core_lock((uint16_t)(exec->core + i))) {
            flops += end_on_core(exec, i, core_end);
            core_unlock((uint16_t)(exec->core + i));
        }
    }
    if (hooks_unlikely(!core_lock(exec->core))) {
        return;
    }
    flops += end_on_core(exec, 0, core_end);
    count_execution(exec, &span, flops, core_end);
    core_unlock(exec->core);
    if (model_entry(exec->model) != NULL && !exec->is_part &&
        hooks_unlikely(model_entry(exec->model)->flags & NTK_PROCESS_RANK)) {
        hooks_comm_program_end(model_slot(exec->model), core_end, exec->status);
    }
    if (hooks_likely((mask & HOOKS_EVENTS) != 0)) {
        record_exec(exec, now,
                    exec->device_ns != 0 ? hooks_span_ticks(exec->core_start_ticks, core_end) : 0,
                    cores);
    }
}

struct ntk_segment_trigger *ntk_hooks_trigger(void)
{
    return ntk_abi_load(&hooks_mask) != 0 ? hooks.segment.trigger : NULL;
}

int ntk_hooks_is_refusal(uint32_t status)
{
    switch (status) {
    case NTK_RESULT_INVALID:
    case NTK_RESULT_BAD_HANDLE:
    case NTK_RESULT_NO_MEMORY:
    case NTK_RESULT_QUEUE_FULL:
    case NTK_RESULT_UNINITIALIZED:
    case NTK_RESULT_CLOSED:
    case NTK_RESULT_BAD_INPUT:
    case NTK_RESULT_NC_BUSY:
        return 1;
    default:
        return 0;
    }
}

void ntk_hooks_exec_refused(const struct ntk_hooks_exec *exec)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);
    uint64_t now;

    if (hooks_unlikely(mask == 0) || exec->core >= NTK_SEGMENT_CORES) {
        return;
    }
    now = ntk_hooks_now();
    if (exec->status != 0) {
        struct ntk_segment_model *entry = model_entry(exec->model);

        count_outcome(&hooks.segment.cores[exec->core], exec->status, 1, now);
        if (entry != NULL) {
            ntk_abi_add_shared(&entry->errors, 1);
        }
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_EXEC,
                                   NTK_EXEC_FLAGS(ntk_outcome_of_status(exec->status), exec->queue),
                                   exec->core, 0),
                     exec->call_start_ticks, hooks_span_ticks(exec->call_start_ticks, now),
                     NTK_WORD(model_id(exec->model), exec->status), exec->execution_id, 0, 0);
    }
}

void ntk_hooks_exec_cancel(const struct ntk_hooks_exec *exec)
{
    struct ntk_segment_model *entry;
    uint64_t now;

    if (hooks_unlikely(ntk_abi_load(&hooks_mask) == 0) || exec->core >= NTK_SEGMENT_CORES) {
        return;
    }
    now = ntk_hooks_now();
    cores_turn(exec->core, (uint32_t)exec->core + exec->core_count, now, TURN_CANCEL, 0);
    if (core_lock(exec->core)) {
        core_turn(exec->core, now, TURN_CANCEL, 0);
        entry = model_entry(exec->model);
        if (entry != NULL) {
            count(&entry->running, UINT64_MAX, model_is_shared(exec->model, entry, exec->core));
        }
        core_unlock(exec->core);
        if (entry != NULL && (entry->flags & NTK_PROCESS_RANK) != 0) {
            hooks_comm_program_cancel(model_slot(exec->model), now);
        }
    }
}

/* ---- memory ---- */

static enum ntk_memory_category category_of(const struct ntk_hooks_memory *memory)
{
    return memory->category < NTK_MEMORY_CATEGORY_COUNT ? (enum ntk_memory_category)memory->category
                                                        : NTK_MEMORY_UNCATEGORIZED;
}

static void record_memory(uint16_t kind, const struct ntk_hooks_memory *memory,
                          enum ntk_memory_category category)
{
    hooks_record(NTK_SLOT_META(kind, 0, memory->core, 0), ntk_hooks_now(), 0,
                 NTK_WORD(model_id(memory->model), memory->name), memory->address, memory->bytes,
                 NTK_WORD(category, ntk_memory_location_of(category)));
}

ntk_hooks_row ntk_hooks_memory_alloc(const struct ntk_hooks_memory *memory)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);
    struct ntk_segment_memory_row *row;
    enum ntk_memory_category category;
    uint64_t current;
    uint64_t peak;
    uint32_t index;

    if (hooks_unlikely(mask == 0)) {
        return 0;
    }
    category = category_of(memory);
    index = hooks_row_of(NTK_MEMORY_KEY(ntk_memory_location_of(category), memory->core,
                                        model_id(memory->model), category));
    row = &hooks.segment.rows[index];
    current = ntk_abi_add_shared(&row->current_bytes, memory->bytes) + memory->bytes;
    ntk_abi_add_shared(&row->alloc_count, 1);
    ntk_abi_store(&row->last_bytes, memory->bytes);
    peak = ntk_abi_load(&row->peak_bytes);
    while (current > peak && current < 1ull << 63 &&
           !__atomic_compare_exchange_n(&row->peak_bytes, &peak, current, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        record_memory(NTK_EVENT_MEM_ALLOC, memory, category);
    }
    return index + 1;
}

void ntk_hooks_memory_free(const struct ntk_hooks_memory *memory, ntk_hooks_row row)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);

    if (hooks_unlikely(mask == 0)) {
        return;
    }
    /* Row 0 was allocated while the hooks were off, so nothing was counted. */
    if (row != 0 && row <= NTK_SEGMENT_MEMORY_ROWS) {
        struct ntk_segment_memory_row *entry = &hooks.segment.rows[row - 1];

        __atomic_fetch_sub(&entry->current_bytes, memory->bytes, __ATOMIC_RELEASE);
        ntk_abi_add_shared(&entry->free_count, 1);
        ntk_abi_store(&entry->last_bytes, memory->bytes);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        record_memory(NTK_EVENT_MEM_FREE, memory, category_of(memory));
    }
}

/* ---- transfers, errors, profiles, marks ---- */

void ntk_hooks_transfer(const struct ntk_hooks_transfer *transfer)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);

    if (hooks_unlikely(mask == 0)) {
        return;
    }
    if (transfer->core < NTK_SEGMENT_CORES) {
        struct ntk_segment_core *block = &hooks.segment.cores[transfer->core];

        if (transfer->direction == NTK_TRANSFER_HOST_TO_DEVICE) {
            ntk_abi_add_shared(&block->host_to_device_bytes, transfer->bytes);
        } else if (transfer->direction == NTK_TRANSFER_DEVICE_TO_HOST) {
            ntk_abi_add_shared(&block->device_to_host_bytes, transfer->bytes);
        } else if (transfer->direction == NTK_TRANSFER_DEVICE_TO_DEVICE) {
            ntk_abi_add_shared(&block->device_to_device_bytes, transfer->bytes);
        }
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        uint64_t now = ntk_hooks_now();

        hooks_record(NTK_SLOT_META(NTK_EVENT_TRANSFER, transfer->direction, transfer->core, 0),
                     transfer->start_ticks, hooks_span_ticks(transfer->start_ticks, now),
                     NTK_WORD(model_id(transfer->model), transfer->name), transfer->bytes,
                     transfer->address, transfer->offset);
    }
}

void ntk_hooks_error(const struct ntk_hooks_error *error)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);

    if (hooks_unlikely(mask == 0)) {
        return;
    }
    if (error->core < NTK_SEGMENT_CORES && error->error_class < NTK_ERROR_CLASS_COUNT) {
        ntk_abi_add_shared(&hooks.segment.cores[error->core].error_class[error->error_class], 1);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_ERROR, 0, error->core, 0), ntk_hooks_now(), 0,
                     NTK_WORD(model_id(error->model), error->status), error->execution_id,
                     NTK_WORD(error->error_class, error->error_code), error->value);
    }
}

uint64_t ntk_hooks_profile_start(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                                 uint32_t name)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);
    uint64_t now;

    if (hooks_unlikely(mask == 0)) {
        return 0;
    }
    now = ntk_hooks_now();
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_PROFILE_START, 0, core, 0), now, 0,
                     NTK_WORD(model_id(model), 0), session, name, 0);
    }
    return now;
}

void ntk_hooks_profile_stop(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                            uint32_t name, uint64_t start_ticks, uint64_t bytes_written,
                            uint32_t status)
{
    if ((ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_PROFILE_STOP, 0, core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, ntk_hooks_now()),
                     NTK_WORD(model_id(model), status), session, name, bytes_written);
    }
}
