/* SPDX-License-Identifier: MIT */
/* make_snapshot - hand-made snapshots for the tests of the store. */
#include "tests/shared/store/make_snapshot.h"

#include <stdlib.h>
#include <string.h>

#define PERIOD_NS UINT64_C(1000000000)
#define MS UINT64_C(1000000)

/* What ran before any agent watched: part of the counts of the period. */
static void add_unwatched(struct ntk_snapshot *snapshot, struct ntk_core_sample *core,
                          struct ntk_histogram_dense *dense, uint64_t count)
{
    struct ntk_histogram_dense *part = calloc(1, sizeof *part);
    struct ntk_core_sample *unwatched = ntk_snapshot_alloc(snapshot, 1, sizeof *unwatched);

    if (!part || !unwatched) {
        abort();
    }
    for (uint64_t i = 0; i < count; i++) {
        ntk_histogram_dense_record(part, MS);
        ntk_histogram_dense_record(dense, MS);
    }
    unwatched->has = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_LATENCY;
    unwatched->busy_ns.period = count * MS;
    unwatched->outcome[NTK_OUTCOME_COMPLETED].period = count;
    unwatched->total_latency = ntk_snapshot_histogram(snapshot, part);
    core->busy_ns.period += count * MS;
    core->unwatched = unwatched;
    free(part);
}

static void fill_core(struct ntk_snapshot *snapshot, struct ntk_core_sample *core, uint32_t number,
                      const struct test_period *period)
{
    struct ntk_histogram_dense *dense = calloc(1, sizeof *dense);

    if (!dense) {
        abort();
    }
    for (uint64_t i = 0; i < period->completed; i++) {
        ntk_histogram_dense_record(dense, period->latency_ns);
    }
    core->core = number;
    core->began_ns = period->began_ns;
    core->has = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_LATENCY;
    core->busy_ns = (struct ntk_count){ PERIOD_NS / 2, PERIOD_NS / 2 * period->sequence };
    if (period->unwatched > 0) {
        add_unwatched(snapshot, core, dense, period->unwatched);
    }
    core->outcome[NTK_OUTCOME_COMPLETED] =
        (struct ntk_count){ period->completed + period->unwatched, period->completed_total };
    core->total_latency = ntk_snapshot_histogram(snapshot, dense);
    free(dense);
}

static void fill_events(struct ntk_snapshot *snapshot, uint32_t uid, uint16_t model_event)
{
    struct ntk_event_sample *events = ntk_snapshot_alloc_events(snapshot, 3);
    const uint16_t kinds[] = { NTK_EVENT_MEM_ALLOC, NTK_EVENT_ERROR,
                               model_event ? model_event : NTK_EVENT_MODEL_LOAD };

    for (size_t i = 0; i < 3; i++) {
        events[i].kind = kinds[i];
        events[i].realtime_ns = snapshot->realtime_ns - i;
        events[i].header_pid = TEST_HEADER_PID;
        events[i].start_time = TEST_START_TIME;
        events[i].uid = uid;
        events[i].core = 1;
        events[i].model_id = 10001;
        events[i].bytes = 4096;
        events[i].category = NTK_MEMORY_TENSORS;
        events[i].error_class = NTK_ERROR_MODEL;
        events[i].status = 1006;
        events[i].name = ntk_snapshot_text(snapshot, "weights");
    }
}

struct ntk_snapshot *test_make_snapshot(struct test_period *period)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    period->sequence++;
    period->completed_total += period->completed + period->unwatched;
    snapshot->sequence = period->sequence;
    snapshot->realtime_ns = period->time_ns;
    snapshot->period_ns = PERIOD_NS;
    snapshot->boot_id = ntk_snapshot_text(snapshot, TEST_BOOT_ID);
    struct ntk_runtime_sample *runtime = ntk_snapshot_alloc_runtimes(snapshot, 1);
    runtime->pid = 1077;
    runtime->header_pid = TEST_HEADER_PID;
    runtime->start_time = TEST_START_TIME;
    runtime->uid = period->uid;
    runtime->tag = ntk_snapshot_text(snapshot, "trainer");
    runtime->command = ntk_snapshot_text(snapshot, "python train.py");
    runtime->lnc = 1;
    runtime->has = NTK_RUNTIME_HAS_MEMORY;
    runtime->ended = period->ended;
    runtime->killed = period->ended;
    runtime->exit = period->exit;
    runtime->cores = ntk_snapshot_alloc(snapshot, 2, sizeof *runtime->cores);
    runtime->core_count = 2;
    fill_core(snapshot, &runtime->cores[0], 4, period);
    fill_core(snapshot, &runtime->cores[1], 5, period);
    if (!period->ended) {
        runtime->memory = ntk_snapshot_alloc(snapshot, 1, sizeof *runtime->memory);
        runtime->memory_count = 1;
        runtime->memory[0] = (struct ntk_memory_sample){ .location = NTK_MEMORY_DEVICE,
                                                         .core = 4,
                                                         .category = NTK_MEMORY_TENSORS,
                                                         .current_bytes = period->memory_bytes,
                                                         .peak_bytes = period->memory_bytes };
        struct ntk_model_sample *model = ntk_snapshot_alloc_models(snapshot, runtime, 1);
        model->id = 10001;
        model->name = ntk_snapshot_text(snapshot, "mlp.neff");
        model->core = 4;
        model->core_count = 1;
        model->executions = (struct ntk_count){ period->completed, period->completed_total };
        model->errors = (struct ntk_count){ period->model_errors, period->model_errors };
        model->has = NTK_MODEL_HAS_LATENCY | NTK_MODEL_HAS_EXECUTIONS;
        model->loaded = true;
        model->total_latency = runtime->cores[0].total_latency;
    }
    if (period->with_events) {
        fill_events(snapshot, period->uid, period->model_event);
    }
    if (!ntk_snapshot_ok(snapshot)) {
        abort();
    }
    return snapshot;
}

void test_store_put(struct ntk_store *store, struct ntk_snapshot *snapshot)
{
    struct ntk_store_status status;

    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    do {
        ntk_store_status_get(store, &status);
    } while (status.snapshots_waiting > NTK_STORE_QUEUE_MAX / 2);
}
