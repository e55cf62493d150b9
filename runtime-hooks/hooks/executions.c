/* SPDX-License-Identifier: MIT */
/* executions - the hot path: the counts of cores and models, and the records of an execution. */
#include "runtime-hooks/hooks/hooks_state.h"

#include "shared/abi/result.h"

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

/* ---- executions ---- */

/* Returns true if other threads may write the model's counters now: not while this thread holds the
 * model's core or the core's lock. */
static inline uint32_t model_is_shared(struct ntk_hooks_model_ref model,
                                       const struct ntk_segment_model *entry, uint16_t core)
{
    return !hooks.model_owned[hooks_model_slot(model)] ||
           (hooks.cores_shared && entry->core != core);
}

/* Prefetches cache lines. Without that, the locked instruction would make the thread wait for each
 * of them in turn. */
static inline void prefetch_core(struct ntk_hooks_model_ref model, uint16_t core)
{
    const struct ntk_segment_model *entry = hooks_model_entry(model);

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
        return hooks_now();
    }
    prefetch_core(model, core);
    now = hooks_now();
    if (hooks_unlikely(core_count > 1)) {
        cores_turn(core, (uint32_t)core + core_count, now, TURN_BEGIN, hooks_model_id(model));
    }
    if (core_lock(core)) {
        core_turn(core, now, TURN_BEGIN, hooks_model_id(model));
        entry = hooks_model_entry(model);
        if (hooks_likely(entry != NULL)) {
            count(&entry->running, 1, model_is_shared(model, entry, core));
        }
        core_unlock(core);
        if (entry != NULL && hooks_unlikely(entry->flags & NTK_PROCESS_RANK)) {
            hooks_comm_program_begin(hooks_model_slot(model), core, now);
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
    uint32_t id = hooks_model_id(exec->model);
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
    const struct ntk_segment_model *entry = hooks_model_entry(exec->model);
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
        prefetch_histogram(
            &hooks.segment.histograms[NTK_SEGMENT_CORES + hooks_model_slot(exec->model)],
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
    struct ntk_segment_model *entry = hooks_model_entry(exec->model);
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
        histogram_add(&hooks.segment.histograms[NTK_SEGMENT_CORES + hooks_model_slot(exec->model)],
                      span, is_shared);
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
    now = hooks_now();
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
    if (hooks_model_entry(exec->model) != NULL && !exec->is_part &&
        hooks_unlikely(hooks_model_entry(exec->model)->flags & NTK_PROCESS_RANK)) {
        hooks_comm_program_end(hooks_model_slot(exec->model), core_end, exec->status);
    }
    if (hooks_likely((mask & HOOKS_EVENTS) != 0)) {
        record_exec(exec, now,
                    exec->device_ns != 0 ? hooks_span_ticks(exec->core_start_ticks, core_end) : 0,
                    cores);
    }
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
    now = hooks_now();
    if (exec->status != 0) {
        struct ntk_segment_model *entry = hooks_model_entry(exec->model);

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
                     NTK_WORD(hooks_model_id(exec->model), exec->status), exec->execution_id, 0, 0);
    }
}

void ntk_hooks_exec_cancel(const struct ntk_hooks_exec *exec)
{
    struct ntk_segment_model *entry;
    uint64_t now;

    if (hooks_unlikely(ntk_abi_load(&hooks_mask) == 0) || exec->core >= NTK_SEGMENT_CORES) {
        return;
    }
    now = hooks_now();
    cores_turn(exec->core, (uint32_t)exec->core + exec->core_count, now, TURN_CANCEL, 0);
    if (core_lock(exec->core)) {
        core_turn(exec->core, now, TURN_CANCEL, 0);
        entry = hooks_model_entry(exec->model);
        if (entry != NULL) {
            count(&entry->running, UINT64_MAX, model_is_shared(exec->model, entry, exec->core));
        }
        core_unlock(exec->core);
        if (entry != NULL && (entry->flags & NTK_PROCESS_RANK) != 0) {
            hooks_comm_program_cancel(hooks_model_slot(exec->model), now);
        }
    }
}
