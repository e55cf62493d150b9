/* SPDX-License-Identifier: MIT */
/* The snapshot: its memory, logical cores, memory groups, and the catalogue of machines. */
#include <pthread.h>
#include <string.h>

#include "shared/metrics/snapshot.h"
#include "tests/support/unit.h"

static void allocations_are_zeroed_aligned_and_freed_with_the_snapshot(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    assert_non_null(snapshot);
    for (size_t bytes = 1; bytes < 200000; bytes = bytes * 3 + 1) {
        unsigned char *memory = ntk_snapshot_alloc(snapshot, bytes, 1);

        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xa5, bytes); /* an overlap would show in the next round */
    }
    assert_string_equal(ntk_snapshot_text(snapshot, "tag"), "tag");
    assert_string_equal(ntk_snapshot_text(snapshot, NULL), "");
    assert_null(ntk_snapshot_alloc(snapshot, 0, 8));
    assert_true(ntk_snapshot_ok(snapshot));
    ntk_snapshot_destroy(snapshot);
    ntk_snapshot_destroy(NULL);
}

static void an_impossible_allocation_is_a_permanent_failure(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    assert_non_null(snapshot);
    assert_null(ntk_snapshot_alloc(snapshot, SIZE_MAX / 4, 16));
    assert_false(ntk_snapshot_ok(snapshot));
    assert_null(ntk_snapshot_alloc(snapshot, 1, 1));
    ntk_snapshot_destroy(snapshot);
}

static void snapshot_strings_are_never_null(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_runtime_sample *runtime;

    assert_non_null(snapshot);
    runtime = ntk_snapshot_alloc_runtimes(snapshot, 1);
    assert_non_null(runtime);
    assert_string_equal(runtime->tag, "");
    assert_string_equal(runtime->container_id, "");
    assert_non_null(ntk_snapshot_alloc_devices(snapshot, 1));
    assert_string_equal(snapshot->devices[0].serial_number, "");
    assert_non_null(ntk_snapshot_alloc_events(snapshot, 1));
    assert_string_equal(snapshot->events[0].name, "");
    assert_non_null(ntk_snapshot_alloc_models(snapshot, runtime, 1));
    assert_string_equal(runtime->models[0].neff_path, "");
    assert_string_equal(snapshot->hardware.error, "");
    assert_string_equal(snapshot->system.cpu_error, "");
    assert_string_equal(snapshot->boot_id, "");
    ntk_snapshot_destroy(snapshot);
}

static void *read_and_drop(void *ctx)
{
    const struct ntk_snapshot *snapshot = ctx;
    uint64_t sum = 0;

    for (size_t i = 0; i < snapshot->core_count; i++) {
        sum += snapshot->cores[i].core;
    }
    ntk_snapshot_destroy(snapshot);
    return sum == 6 ? ctx : NULL;
}

/* Method: eight threads hold the same snapshot and drop it in any order (checked by tsan and
 * asan). */
static void a_snapshot_shared_by_threads_is_freed_once(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    pthread_t threads[8];

    assert_non_null(snapshot);
    snapshot->cores = ntk_snapshot_alloc(snapshot, 4, sizeof *snapshot->cores);
    snapshot->core_count = 4;
    for (uint32_t i = 0; i < 4; i++) {
        snapshot->cores[i].core = i;
    }
    for (size_t i = 0; i < 8; i++) {
        const struct ntk_snapshot *share = ntk_snapshot_share(snapshot);

        assert_int_equal(pthread_create(&threads[i], NULL, read_and_drop, (void *)(uintptr_t)share),
                         0);
    }
    ntk_snapshot_destroy(snapshot);
    for (size_t i = 0; i < 8; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
}

static void logical_core_times_are_means_and_counts_are_sums(void **state)
{
    struct ntk_core_sample cores[3] = {
        { .has = NTK_CORE_HAS_BUSY,
          .core = 6,
          .utilization = 0.2101,
          .busy_ns = { 210, 2100 },
          .in_flight = 1,
          .flops = { 10, 100 },
          .outcome[NTK_OUTCOME_COMPLETED] = { 5, 50 },
          .total_latency = { .count = 5 } },
        { .has = NTK_CORE_HAS_ENGINES,
          .core = 7,
          .utilization = 0.6301,
          .busy_ns = { 630, 6300 },
          .engine_busy_ns[NTK_ENGINE_PE] = { 100, 1000 },
          .flops = { 30, 300 } },
        { .core = 9, .utilization = 1, .flops = { 1, 1 } },
    };
    struct ntk_core_sample out;
    uint32_t list[4];

    assert_true(ntk_snapshot_logical_core(cores, 3, 2, 3, &out));
    assert_int_equal(out.core, 3);
    assert_true(out.utilization > 0.42009 && out.utilization < 0.42011);
    assert_int_equal(out.busy_ns.period, 420);
    assert_int_equal(out.engine_busy_ns[NTK_ENGINE_PE].total, 500);
    assert_int_equal(out.flops.period, 40);
    assert_int_equal(out.flops.total, 400);
    assert_int_equal(out.outcome[NTK_OUTCOME_COMPLETED].total, 50);
    assert_int_equal(out.in_flight, 1);
    assert_int_equal(out.total_latency.count, 5);
    assert_int_equal(out.has, NTK_CORE_HAS_BUSY | NTK_CORE_HAS_ENGINES);

    /* half of the pair is owned: the other half is idle */
    assert_true(ntk_snapshot_logical_core(cores, 3, 2, 4, &out));
    assert_true(out.utilization == 0.5);
    assert_false(ntk_snapshot_logical_core(cores, 3, 2, 0, &out));

    assert_true(ntk_snapshot_logical_core(cores, 3, 1, 7, &out));
    assert_int_equal(out.flops.period, 30);

    assert_int_equal(ntk_snapshot_logical_list(cores, 3, 2, list, 4), 2);
    assert_int_equal(list[0], 3);
    assert_int_equal(list[1], 4);
    assert_int_equal(ntk_snapshot_logical_list(cores, 3, 1, NULL, 0), 3);
}

/* Method: 2^category bytes in each category, so that a sum shows its parts. */
static void unwatched_work_is_subtracted_from_a_watched_core(void **state)
{
    const struct ntk_core_sample part = { .busy_ns = { 200, 0 },
                                          .flops = { 1000, 0 }, /* more than the whole */
                                          .outcome[NTK_OUTCOME_COMPLETED] = { 4, 0 } };
    struct ntk_core_sample cores[2] = {
        { .core = 6,
          .busy_ns = { 210, 2100 },
          .flops = { 10, 100 },
          .outcome[NTK_OUTCOME_COMPLETED] = { 5, 50 },
          .unwatched = &part },
        { .core = 7, .busy_ns = { 630, 6300 }, .flops = { 30, 300 } },
    };
    struct ntk_core_sample out;

    assert_true(ntk_snapshot_watched_logical_core(cores, 2, 2, 3, &out));
    assert_int_equal(out.busy_ns.period, 320);
    assert_int_equal(out.busy_ns.total, 4200);
    assert_int_equal(out.flops.period, 30);
    assert_int_equal(out.outcome[NTK_OUTCOME_COMPLETED].period, 1);
    assert_int_equal(out.outcome[NTK_OUTCOME_COMPLETED].total, 50);
    assert_null(out.unwatched);
    assert_true(ntk_snapshot_logical_core(cores, 2, 2, 3, &out));
    assert_int_equal(out.flops.period, 40);
    assert_null(out.unwatched);
}

/* Method: two cores with a part each, where one claims more than the total; a core without one. */
static void unwatched_outcomes_of_all_cores_are_subtracted_from_a_runtime(void **state)
{
    const struct ntk_core_sample first = { .outcome[NTK_OUTCOME_COMPLETED] = { 4, 0 },
                                           .outcome[NTK_OUTCOME_TIMED_OUT] = { 9, 0 } };
    const struct ntk_core_sample second = { .outcome[NTK_OUTCOME_COMPLETED] = { 2, 0 } };
    struct ntk_core_sample cores[3] = { { .unwatched = &first },
                                        { .unwatched = NULL },
                                        { .unwatched = &second } };
    struct ntk_runtime_sample runtime = { .outcome[NTK_OUTCOME_COMPLETED] = { 10, 100 },
                                          .outcome[NTK_OUTCOME_TIMED_OUT] = { 3, 30 },
                                          .cores = cores,
                                          .core_count = 3 };
    struct ntk_count watched[NTK_OUTCOME_COUNT];

    ntk_snapshot_watched_outcome(&runtime, watched);
    assert_int_equal(watched[NTK_OUTCOME_COMPLETED].period, 4);
    assert_int_equal(watched[NTK_OUTCOME_COMPLETED].total, 100);
    assert_int_equal(watched[NTK_OUTCOME_TIMED_OUT].period, 0);
    assert_int_equal(watched[NTK_OUTCOME_INCORRECT_INPUT].period, 0);
    runtime.group_period_ns[NTK_RUNTIME_GROUP_CORES] = 10000000000; /* also of an older time */
    ntk_snapshot_watched_outcome(&runtime, watched);
    assert_int_equal(watched[NTK_OUTCOME_COMPLETED].period, 10);
}

static void vendor_memory_groups_sum_to_the_total(void **state)
{
    struct ntk_memory_sample rows[NTK_MEMORY_CATEGORY_COUNT];
    struct ntk_runtime_sample runtime = { .memory = rows,
                                          .memory_count = NTK_MEMORY_CATEGORY_COUNT };
    uint64_t group[NTK_GROUP_COUNT] = { 0 };
    uint64_t host = 0;
    uint64_t device = 0;
    uint64_t sum = 0;

    for (unsigned int i = 0; i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        rows[i] = (struct ntk_memory_sample){ .core = (uint16_t)(i % 2),
                                              .category = (uint16_t)i,
                                              .model_id = i == 3 ? 10001 : 0,
                                              .current_bytes = UINT64_C(1) << i };
    }
    ntk_snapshot_memory_add(&runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, group, &host, &device);
    assert_int_equal(host, 0x3f8000);
    assert_int_equal(device, 0x7fff);
    for (size_t i = 0; i < NTK_GROUP_COUNT; i++) {
        sum += group[i];
    }
    assert_int_equal(sum, 0x3fffff);
    /* Constants; code, micro-code and rings; both scratchpads; the rest. */
    assert_int_equal(group[NTK_GROUP_CONSTANTS], 1u << 2);
    assert_int_equal(group[NTK_GROUP_MODEL_CODE],
                     1u << 3 | 1u << 4 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11);
    assert_int_equal(group[NTK_GROUP_SCRATCHPAD], 1u << 5 | 1u << 6);
    assert_int_equal(group[NTK_GROUP_RUNTIME], 1u << 0 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 14);
    assert_int_equal(group[NTK_GROUP_TENSORS], 1u << 1);
    assert_int_equal(group[NTK_GROUP_HOST_APPLICATION], 1u << 15 | 1u << 20 | 1u << 21);
    assert_int_equal(group[NTK_GROUP_HOST_TENSORS], 1u << 16);
    assert_int_equal(group[NTK_GROUP_HOST_CONSTANTS], 1u << 17);
    assert_int_equal(group[NTK_GROUP_HOST_DMA_BUFFERS], 1u << 18 | 1u << 19);

    device = 0;
    ntk_snapshot_memory_add(&runtime, 1, NTK_MEMORY_ANY, NULL, NULL, &device);
    assert_int_equal(device, 0x7fff & 0x2aaa);
    memset(group, 0, sizeof group);
    ntk_snapshot_memory_add(&runtime, NTK_MEMORY_ANY, 10001, group, NULL, &device);
    assert_int_equal(device, (0x7fff & 0x2aaa) + (1u << 3)); /* added to the existing value */
    assert_int_equal(group[NTK_GROUP_MODEL_CODE], 1u << 3);
}

/* A source that reports a part has a total if the part is not zero. */
static void an_unreported_memory_total_is_unknown_rather_than_zero(void **state)
{
    static const struct {
        enum ntk_hooks_kind hooks;
        bool is_listed, ended;
        uint64_t tensors;  /* on the device */
        uint64_t estimate; /* of model 10001 */
        bool host_known, device_known, device_estimated, model_known;
    } rows[] = {
        { NTK_HOOKS_BUILT_IN, false, false, 0, 0, true, true, false, true },
        { NTK_HOOKS_PRELOADED, false, false, 0, 0, false, false, false, false },
        { NTK_HOOKS_PRELOADED, false, false, 4096, 0, false, true, false, false },
        { NTK_HOOKS_PRELOADED, false, false, 4096, 8192, false, true, true, true },
        { NTK_HOOKS_ATTACHED, false, false, 4096, 0, false, true, false, false },
        { NTK_HOOKS_ATTACHED, false, true, 0, 0, false, false, false, false },
        { NTK_HOOKS_UNKNOWN, true, false, 0, 0, false, false, false, false },
        { NTK_HOOKS_UNKNOWN, true, false, 4096, 0, false, true, false, false },
        { NTK_HOOKS_UNKNOWN, false, false, 0, 0, true, true, false, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_memory_sample memory[] = {
            { NTK_MEMORY_DEVICE, 3, NTK_MEMORY_TENSORS, 0, 0, 0, rows[i].tensors, 0 },
            { NTK_MEMORY_DEVICE, 3, NTK_MEMORY_UNCATEGORIZED, 0, 10001, 0, rows[i].estimate, 0 },
        };
        struct ntk_model_sample model = { .id = 10001,
                                          .loaded = true,
                                          .memory_estimated = rows[i].estimate > 0 };
        struct ntk_runtime_sample runtime = {
            .has = NTK_RUNTIME_HAS_MEMORY | (rows[i].is_listed ? NTK_RUNTIME_HAS_LISTED_MEMORY : 0),
            .hooks = rows[i].hooks,
            .ended = rows[i].ended,
            .memory = memory,
            .memory_count = rows[i].estimate > 0 ? 2 : rows[i].tensors > 0,
            .models = &model,
            .model_count = 1,
        };
        struct ntk_memory_total host;
        struct ntk_memory_total device;

        ntk_snapshot_memory_total(&runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
        assert_int_equal(host.known, rows[i].host_known);
        assert_int_equal(device.known, rows[i].device_known);
        assert_int_equal(device.estimated, rows[i].device_estimated);
        assert_int_equal(device.bytes, rows[i].tensors + rows[i].estimate);
        ntk_snapshot_memory_total(&runtime, 3, 10001, &host, &device);
        assert_int_equal(device.known, rows[i].model_known);
        assert_int_equal(device.bytes, rows[i].estimate);
        runtime.has = 0;
        ntk_snapshot_memory_total(&runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
        assert_false(host.known || device.known);
        assert_int_equal(device.bytes, 0);
    }

    /* A process that has ended has no memory left. */
    struct ntk_memory_sample had = { .location = NTK_MEMORY_DEVICE,
                                     .category = NTK_MEMORY_TENSORS,
                                     .peak_bytes = 4096 };
    struct ntk_runtime_sample ended = { .has = NTK_RUNTIME_HAS_MEMORY,
                                        .hooks = NTK_HOOKS_PRELOADED,
                                        .ended = true,
                                        .memory_by_category = &had,
                                        .memory_by_category_count = 1 };
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    ntk_snapshot_memory_total(&ended, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
    assert_false(host.known);
    assert_true(device.known);
    assert_int_equal(device.bytes, 0);
}

static void shares_require_a_period_and_never_exceed_one(void **state)
{
    struct ntk_snapshot snapshot = { .period_ns = 500000000 };
    struct ntk_core_sample core = { .engine_busy_ns[NTK_ENGINE_DVE] = { 125000000, 0 },
                                    .engine_busy_ns[NTK_ENGINE_PE] = { 900000000, 0 } };

    assert_true(ntk_snapshot_engine_share(&snapshot, &core, NTK_ENGINE_DVE) == 0.25);
    assert_true(ntk_snapshot_engine_share(&snapshot, &core, NTK_ENGINE_PE) == 1);
    assert_true(ntk_snapshot_rate(&snapshot, (struct ntk_count){ 10, 100 }) == 20);
    snapshot.period_ns = 0;
    assert_true(ntk_snapshot_engine_share(&snapshot, &core, NTK_ENGINE_PE) == 0);
    assert_true(ntk_snapshot_rate(&snapshot, (struct ntk_count){ 10, 100 }) == 0);
}

static void machine_types_have_the_figures_of_the_catalogue(void **state)
{
    const struct ntk_machine *machine = ntk_machine_find("trn2.48xlarge");

    assert_non_null(machine);
    assert_int_equal(machine->device_count, 16);
    assert_int_equal(machine->cores_per_device, 8);
    assert_int_equal(machine->stack_count * machine->stack_bytes, UINT64_C(103079215104));
    assert_int_equal(machine->lnc_default, 2);
    assert_string_equal(machine->device_type, "trainium2");
    assert_string_equal(machine->device_version, "v4");
    assert_string_equal(machine->core_version_lnc2, "v3d");
    assert_true(machine->tensor_peak_flops > 78.63e12 && machine->tensor_peak_flops < 78.65e12);
    machine = ntk_machine_find_device("Inferentia2");
    assert_non_null(machine);
    assert_string_equal(machine->device_type, "inferentia2");
    assert_null(ntk_machine_find("m5.large"));
    assert_null(ntk_machine_find_device(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_zeroed_aligned_and_freed_with_the_snapshot),
        cmocka_unit_test(an_impossible_allocation_is_a_permanent_failure),
        cmocka_unit_test(snapshot_strings_are_never_null),
        cmocka_unit_test(a_snapshot_shared_by_threads_is_freed_once),
        cmocka_unit_test(logical_core_times_are_means_and_counts_are_sums),
        cmocka_unit_test(unwatched_work_is_subtracted_from_a_watched_core),
        cmocka_unit_test(unwatched_outcomes_of_all_cores_are_subtracted_from_a_runtime),
        cmocka_unit_test(vendor_memory_groups_sum_to_the_total),
        cmocka_unit_test(an_unreported_memory_total_is_unknown_rather_than_zero),
        cmocka_unit_test(shares_require_a_period_and_never_exceed_one),
        cmocka_unit_test(machine_types_have_the_figures_of_the_catalogue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
