/* SPDX-License-Identifier: MIT */
/*
 * Method: a list of every plain member of a snapshot that a line contains. Each gets a unique
 * value, the snapshot is written and read, and the value must come back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot.h"
#include "shared/report/report_json.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

enum kind { U64, U32, COUNT, TOTAL, RATIO, PERCENT, BOOL, TEXT };

enum place {
    SNAPSHOT,
    HARDWARE,
    INSTANCE,
    DEVICE,
    RUNTIME,
    CORE,
    MACHINE_CORE,
    MEMORY,
    MODEL,
    OWNER
};

static const struct member {
    const char *name;
    enum place place;
    enum kind kind;
    size_t offset;
} members[] = {
#define M(place, kind, type, member)                                  \
    {                                                                 \
#type "." #member, place, kind, offsetof(struct type, member) \
    }
    M(SNAPSHOT, U64, ntk_snapshot, sequence),
    M(SNAPSHOT, U64, ntk_snapshot, realtime_ns),
    M(SNAPSHOT, U64, ntk_snapshot, period_ns),
    M(SNAPSHOT, TEXT, ntk_snapshot, boot_id),
    M(SNAPSHOT, TEXT, ntk_snapshot, host_name),
    M(SNAPSHOT, COUNT, ntk_snapshot, events_read),
    M(SNAPSHOT, COUNT, ntk_snapshot, events_lost),
    M(SNAPSHOT, U64, ntk_snapshot, collect_duration_ns),
    M(SNAPSHOT, U64, ntk_snapshot, system.context_switches),
    M(SNAPSHOT, U64, ntk_snapshot, system.memory_total_bytes),
    M(SNAPSHOT, U64, ntk_snapshot, system.memory_used_bytes),
    M(SNAPSHOT, U64, ntk_snapshot, system.swap_total_bytes),
    M(SNAPSHOT, U64, ntk_snapshot, system.swap_used_bytes),
    M(SNAPSHOT, PERCENT, ntk_snapshot, system.average[NTK_CPU_USER]),
    M(SNAPSHOT, PERCENT, ntk_snapshot, system.average[NTK_CPU_SOFT_IRQ]),
    M(SNAPSHOT, TEXT, ntk_snapshot, system.cpu_error),
    M(SNAPSHOT, TEXT, ntk_snapshot, system.memory_error),
    M(SNAPSHOT, TEXT, ntk_snapshot, k8s.error),
    M(HARDWARE, BOOL, ntk_hardware, software),
    M(HARDWARE, TEXT, ntk_hardware, error),
    M(HARDWARE, TEXT, ntk_hardware, instance_type),
    M(HARDWARE, TEXT, ntk_hardware, device_type),
    M(HARDWARE, TEXT, ntk_hardware, device_version),
    M(HARDWARE, TEXT, ntk_hardware, core_version),
    M(HARDWARE, TEXT, ntk_hardware, driver_version),
    M(HARDWARE, U32, ntk_hardware, cores_per_stack),
    M(HARDWARE, U64, ntk_hardware, device_memory_bytes),
    M(HARDWARE, RATIO, ntk_hardware, tensor_peak_flops),
    M(INSTANCE, TEXT, ntk_instance, name),
    M(INSTANCE, TEXT, ntk_instance, id),
    M(INSTANCE, TEXT, ntk_instance, type),
    M(INSTANCE, TEXT, ntk_instance, availability_zone),
    M(INSTANCE, TEXT, ntk_instance, availability_zone_id),
    M(INSTANCE, TEXT, ntk_instance, region),
    M(INSTANCE, TEXT, ntk_instance, ami_id),
    M(INSTANCE, TEXT, ntk_instance, subnet_id),
    M(INSTANCE, TEXT, ntk_instance, ultraserver_id),
    M(INSTANCE, TEXT, ntk_instance, error),
    M(DEVICE, U32, ntk_device_sample, index),
    M(DEVICE, U32, ntk_device_sample, core_count),
    M(DEVICE, TEXT, ntk_device_sample, name),
    M(DEVICE, TEXT, ntk_device_sample, arch),
    M(DEVICE, TEXT, ntk_device_sample, serial_number),
    M(DEVICE, U64, ntk_device_sample, memory_capacity_bytes[1]),
    M(DEVICE, U64, ntk_device_sample, memory_used_bytes[1]),
    M(DEVICE, TOTAL, ntk_device_sample, ecc[NTK_ECC_MEM_CORRECTED]),
    M(DEVICE, TOTAL, ntk_device_sample, ecc[NTK_ECC_MEM_REPAIRABLE]),
    M(DEVICE, U64, ntk_device_sample, power_timestamp_seconds),
    M(DEVICE, RATIO, ntk_device_sample, power_min),
    M(DEVICE, RATIO, ntk_device_sample, power_max),
    M(DEVICE, RATIO, ntk_device_sample, power_average),
    M(RUNTIME, U32, ntk_runtime_sample, pid),
    M(RUNTIME, U32, ntk_runtime_sample, header_pid),
    M(RUNTIME, U64, ntk_runtime_sample, start_time),
    M(RUNTIME, U32, ntk_runtime_sample, uid),
    M(RUNTIME, BOOL, ntk_runtime_sample, software),
    M(RUNTIME, BOOL, ntk_runtime_sample, cores_guessed),
    M(RUNTIME, BOOL, ntk_runtime_sample, ended),
    M(RUNTIME, TEXT, ntk_runtime_sample, tag),
    M(RUNTIME, TEXT, ntk_runtime_sample, error),
    M(RUNTIME, TEXT, ntk_runtime_sample, cpu_error),
    M(RUNTIME, TEXT, ntk_runtime_sample, command),
    M(RUNTIME, TEXT, ntk_runtime_sample, user),
    M(RUNTIME, TEXT, ntk_runtime_sample, container_id),
    M(RUNTIME, TEXT, ntk_runtime_sample, pod.name),
    M(RUNTIME, TEXT, ntk_runtime_sample, pod.namespace_name),
    M(RUNTIME, TEXT, ntk_runtime_sample, pod.container_name),
    M(RUNTIME, TEXT, ntk_runtime_sample, runtime_version),
    M(RUNTIME, TEXT, ntk_runtime_sample, framework_version),
    M(RUNTIME, TEXT, ntk_runtime_sample, instance_type),
    M(RUNTIME, COUNT, ntk_runtime_sample, outcome[NTK_OUTCOME_COMPLETED]),
    M(RUNTIME, COUNT, ntk_runtime_sample, outcome[NTK_OUTCOME_COUNT - 1]),
    M(RUNTIME, COUNT, ntk_runtime_sample, error_class[0]),
    M(RUNTIME, COUNT, ntk_runtime_sample, error_class[NTK_ERROR_CLASS_COUNT - 1]),
    M(RUNTIME, U64, ntk_runtime_sample, in_flight),
    M(RUNTIME, U64, ntk_runtime_sample, total_latency.sum_ns),
    M(RUNTIME, U64, ntk_runtime_sample, device_latency.sum_ns),
    M(RUNTIME, PERCENT, ntk_runtime_sample, vcpu_user),
    M(RUNTIME, PERCENT, ntk_runtime_sample, vcpu_system),
    M(RUNTIME, U64, ntk_runtime_sample, rss_bytes),
    M(RUNTIME, U64, ntk_runtime_sample, group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS]),
    M(RUNTIME, U64, ntk_runtime_sample, group_period_ns[NTK_RUNTIME_GROUP_MEMORY]),
    M(RUNTIME, U64, ntk_runtime_sample, group_period_ns[NTK_RUNTIME_GROUP_CPU]),
    M(RUNTIME, U64, ntk_runtime_sample, group_period_ns[NTK_RUNTIME_GROUP_CORES]),
#define CORE_MEMBERS(place)                                                                   \
    M(place, RATIO, ntk_core_sample, utilization), M(place, U64, ntk_core_sample, in_flight), \
        M(place, BOOL, ntk_core_sample, busy_of_calls),                                       \
        M(place, U64, ntk_core_sample, running_ns),                                           \
        M(place, U64, ntk_core_sample, failing_since_ns),                                     \
        M(place, COUNT, ntk_core_sample, engine_busy_ns[NTK_ENGINE_COUNT - 1]),               \
        M(place, COUNT, ntk_core_sample, outcome[1]),                                         \
        M(place, COUNT, ntk_core_sample, error_class[2])
    CORE_MEMBERS(CORE),
    CORE_MEMBERS(MACHINE_CORE),
#define NTK_CORE_COUNT(id, member, ...) \
    M(CORE, COUNT, ntk_core_sample, member), M(MACHINE_CORE, COUNT, ntk_core_sample, member),
#include "shared/abi/core_counts.def"
    M(MEMORY, U32, ntk_memory_sample, model_id),
    M(MEMORY, U64, ntk_memory_sample, current_bytes),
    M(MEMORY, U64, ntk_memory_sample, peak_bytes),
    M(MODEL, U32, ntk_model_sample, id),
    M(MODEL, TEXT, ntk_model_sample, name),
    M(MODEL, TEXT, ntk_model_sample, neff_path),
    M(MODEL, BOOL, ntk_model_sample, loaded),
    M(MODEL, BOOL, ntk_model_sample, is_running),
    M(MODEL, BOOL, ntk_model_sample, estimated),
    M(MODEL, BOOL, ntk_model_sample, memory_estimated),
    M(MODEL, U32, ntk_model_sample, core_count),
    M(MODEL, U64, ntk_model_sample, in_flight),
    M(MODEL, COUNT, ntk_model_sample, executions),
    M(MODEL, COUNT, ntk_model_sample, errors),
    M(MODEL, COUNT, ntk_model_sample, node_switches),
    M(MODEL, COUNT, ntk_model_sample, starts),
    M(MODEL, COUNT, ntk_model_sample, stops),
    M(MODEL, COUNT, ntk_model_sample, effective_flops),
    M(MODEL, U64, ntk_model_sample, load_timestamp_ns),
    M(MODEL, U64, ntk_model_sample, load_ns),
    M(MODEL, U64, ntk_model_sample, total_latency.sum_ns),
    M(MODEL, U64, ntk_model_sample, device_latency.sum_ns),
    M(OWNER, U32, ntk_k8s_owner, index),
    M(OWNER, TEXT, ntk_k8s_owner, pod_name),
    M(OWNER, TEXT, ntk_k8s_owner, namespace_name),
};

static char *struct_at(struct ntk_snapshot *s, enum place place)
{
    switch (place) {
    case SNAPSHOT:
        return (char *)s;
    case HARDWARE:
        return (char *)&s->hardware;
    case INSTANCE:
        return (char *)&s->instance;
    case DEVICE:
        return (char *)&s->devices[0];
    case RUNTIME:
        return (char *)&s->runtimes[0];
    case CORE:
        return (char *)&s->runtimes[0].cores[1];
    case MACHINE_CORE:
        /* A driver's tree, so that cores of the machine are reported. */
        s->hardware.software = false;
        return (char *)&s->cores[1];
    case MEMORY:
        return (char *)&s->runtimes[0].memory[3];
    case MODEL:
        return (char *)&s->runtimes[0].models[0];
    default:
        return (char *)&s->k8s.devices[0];
    }
}

/* Values that no other member has: small, since some are limited, and all different. */
static void set(const struct member *m, void *at, unsigned int which)
{
    static char text[32];

    snprintf(text, sizeof text, "text %u", which);
    switch (m->kind) {
    case U64:
        *(uint64_t *)at = 700 + which;
        break;
    case U32:
        *(uint32_t *)at = 33;
        break;
    case COUNT:
        ((struct ntk_count *)at)->period = 7000000 + which;
        break;
    case TOTAL:
        ((struct ntk_count *)at)->total = 7000000 + which;
        break;
    case RATIO:
        *(double *)at = 0.71828;
        break;
    case PERCENT:
        *(double *)at = 0.4375;
        break;
    case BOOL:
        *(bool *)at = !*(bool *)at;
        break;
    default:
        *(const char **)at = text;
    }
}

static bool is_same(const struct member *m, const void *a, const void *b)
{
    switch (m->kind) {
    case U64:
        return *(const uint64_t *)a == *(const uint64_t *)b;
    case U32:
        return *(const uint32_t *)a == *(const uint32_t *)b;
    case COUNT:
        return ((const struct ntk_count *)a)->period == ((const struct ntk_count *)b)->period;
    case TOTAL:
        return ((const struct ntk_count *)a)->total == ((const struct ntk_count *)b)->total;
    case RATIO:
    case PERCENT:
        return *(const double *)a == *(const double *)b;
    case BOOL:
        return *(const bool *)a == *(const bool *)b;
    default:
        return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
    }
}

static struct ntk_snapshot *there_and_back(const struct ntk_snapshot *snapshot)
{
    const struct ntk_report_options options = { .timestamps = true };
    struct ntk_snapshot *back = NULL;
    struct ntk_buf line = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_report_write(snapshot, &options, &line, NULL), 0);
    if (ntk_report_read(ntk_buf_text_get(&line), line.bytes_count, &back, &err) < 0) {
        fail_msg("%s", err.text);
    }
    ntk_buf_fini(&line);
    return back;
}

static void every_member_of_a_line_is_read_back_unchanged(void **state)
{
    for (unsigned int i = 0; i < sizeof members / sizeof *members; i++) {
        const struct member *m = &members[i];
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        char *at = struct_at(snapshot, m->place);
        set(m, at + m->offset, i);
        struct ntk_snapshot *back = there_and_back(snapshot);
        if (!is_same(m, at + m->offset, struct_at(back, m->place) + m->offset)) {
            fail_msg("%s did not read back", m->name);
        }
        ntk_snapshot_destroy(back);
        ntk_snapshot_destroy(snapshot);
    }
}

static void flags_of_available_figures_are_read_back_unchanged(void **state)
{
    static const uint32_t core_has[] = { NTK_CORE_HAS_BUSY,     NTK_CORE_HAS_ENGINES,
                                         NTK_CORE_HAS_FLOPS,    NTK_CORE_HAS_EFFECTIVE_FLOPS,
                                         NTK_CORE_HAS_BYTES,    NTK_CORE_HAS_EXECUTIONS,
                                         NTK_CORE_HAS_TRANSFERS };
    static const uint32_t device_has[] = { NTK_DEVICE_HAS_CONNECTED_DEVICES,
                                           NTK_DEVICE_HAS_MEMORY_CAPACITY,
                                           NTK_DEVICE_HAS_MEMORY_USED, NTK_DEVICE_HAS_POWER };

    for (size_t i = 0; i < sizeof core_has / sizeof *core_has; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        snapshot->runtimes[0].cores[1].has &= ~core_has[i];
        struct ntk_snapshot *back = there_and_back(snapshot);
        assert_int_equal(back->runtimes[0].cores[1].has, snapshot->runtimes[0].cores[1].has);
        ntk_snapshot_destroy(back);
        ntk_snapshot_destroy(snapshot);
    }
    for (int i = 0; i < 2; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        snapshot->runtimes[0].models[0].has &= ~(i == 0 ? 0u : NTK_MODEL_HAS_EFFECTIVE_FLOPS);
        struct ntk_snapshot *back = there_and_back(snapshot);
        assert_int_equal(back->runtimes[0].models[0].has, snapshot->runtimes[0].models[0].has);
        ntk_snapshot_destroy(back);
        ntk_snapshot_destroy(snapshot);
    }
    for (size_t i = 0; i < sizeof device_has / sizeof *device_has; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        snapshot->devices[0].has &= ~device_has[i];
        struct ntk_snapshot *back = there_and_back(snapshot);
        assert_int_equal(back->devices[0].has, snapshot->devices[0].has);
        ntk_snapshot_destroy(back);
        ntk_snapshot_destroy(snapshot);
    }
}

/* Counts that an old driver does not have are 0 in the vendor's keys, and unknown in ours. */
static void uncounted_error_kinds_remain_unknown(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->devices[0].ecc_has = 1u << NTK_ECC_MEM_UNCORRECTED | 1u << NTK_ECC_SRAM_UNCORRECTED;
    struct ntk_snapshot *back = there_and_back(snapshot);
    assert_int_equal(back->devices[0].ecc_has, snapshot->devices[0].ecc_has);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

static void pods_are_read_back_with_all_their_containers(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_snapshot *back = there_and_back(snapshot);
    const struct ntk_k8s *k8s = &back->k8s;

    assert_int_equal(k8s->period_ns, 15000000000);
    assert_int_equal(k8s->core_count, 12);
    assert_int_equal(k8s->cores[11].index, 11);
    assert_string_equal(k8s->cores[11].pod_name, "bert-0");
    assert_int_equal(k8s->cores[11].container_count, 2);
    assert_string_equal(k8s->cores[11].containers[1], "sidecar");
    assert_int_equal(k8s->device_count, 1);
    assert_string_equal(k8s->devices[0].containers[0], "serve");
    ntk_snapshot_destroy(back);

    snapshot->k8s.period_ns = NTK_GROUP_ABSENT;
    back = there_and_back(snapshot);
    assert_true(back->k8s.period_ns == NTK_GROUP_ABSENT);
    assert_int_equal(back->k8s.core_count, 0);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_of_a_line_is_read_back_unchanged),
        cmocka_unit_test(flags_of_available_figures_are_read_back_unchanged),
        cmocka_unit_test(uncounted_error_kinds_remain_unknown),
        cmocka_unit_test(pods_are_read_back_with_all_their_containers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
