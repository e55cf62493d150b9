/* SPDX-License-Identifier: MIT */
/* Method: lines of our writer, of the vendor's form, and hostile ones. */
#include "shared/report/report_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "shared/metrics/snapshot.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static char *write_line(const struct ntk_snapshot *snapshot,
                        const struct ntk_report_options *options)
{
    struct ntk_buf buf = { 0 };

    assert_int_equal(ntk_report_write(snapshot, options, &buf, NULL), 0);
    return ntk_buf_take(&buf, NULL);
}

static struct ntk_snapshot *read_line(const char *line)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };

    if (ntk_report_read(line, strlen(line), &snapshot, &err) < 0) {
        fail_msg("'%.80s' was refused: %s", line, err.text);
    }
    return snapshot;
}

/* A failure shows the position, because cmocka truncates lines of this length. */
static void assert_same_line(const char *first, const char *second)
{
    size_t at = 0;

    while (first[at] && first[at] == second[at]) {
        at++;
    }
    if (first[at] != second[at]) {
        size_t from = at > 60 ? at - 60 : 0;
        fail_msg("byte %zu: '%.100s' became '%.100s'", at, first + from, second + from);
    }
}

static void every_machine_string_is_read_back_unchanged(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        snapshot->instance.texts[i] = ntk_snapshot_format(snapshot, "instance %zu", i);
    }
    for (size_t i = 0; i < NTK_HARDWARE_TEXTS; i++) {
        snapshot->hardware.texts[i] = ntk_snapshot_format(snapshot, "hardware %zu", i);
    }
    char *line = write_line(snapshot, &(struct ntk_report_options){ 0 });
    struct ntk_snapshot *back = read_line(line);
    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        assert_string_equal(back->instance.texts[i], snapshot->instance.texts[i]);
    }
    for (size_t i = 0; i < NTK_HARDWARE_TEXTS; i++) {
        assert_string_equal(back->hardware.texts[i], snapshot->hardware.texts[i]);
    }
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
    free(line);
}

/* Method: random values in every count of a sample; written, read, written: the same bytes. */
static void a_written_line_is_read_back_as_the_same_line(void **state)
{
    struct ntk_report_options options = { .timestamps = true };

    srand(4711);
    for (int round = 0; round < 300; round++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(round % 2 + 1);
        struct ntk_runtime_sample *runtime = &snapshot->runtimes[0];
        snapshot->period_ns = (uint64_t)rand() * 7 + 1;
        snapshot->group_period_ns[rand() % NTK_SYSTEM_GROUP_COUNT] =
            rand() % 2 ? NTK_GROUP_ABSENT : (uint64_t)rand() + 1;
        runtime->group_period_ns[rand() % NTK_RUNTIME_GROUP_COUNT] =
            rand() % 2 ? NTK_GROUP_ABSENT : (uint64_t)rand() + 1;
        for (size_t i = 0; i < runtime->core_count; i++) {
            runtime->cores[i].utilization = (double)rand() / RAND_MAX;
            runtime->cores[i].flops.period = (uint64_t)rand() * (uint64_t)rand();
            runtime->cores[i].engine_busy_ns[rand() % NTK_ENGINE_COUNT].period = (uint64_t)rand();
        }
        for (size_t i = 0; i < runtime->memory_count; i++) {
            runtime->memory[i].current_bytes = (uint64_t)rand() * (uint64_t)(rand() % 4096);
        }
        runtime->vcpu_user = (double)rand() / RAND_MAX;
        runtime->by_address = rand() % 2;
        snapshot->system.average[rand() % NTK_CPU_FIELD_COUNT] = (double)rand() / RAND_MAX;
        char *first = write_line(snapshot, &options);
        struct ntk_snapshot *back = read_line(first);
        char *second = write_line(back, &options);
        assert_same_line(first, second);
        free(first);
        free(second);
        ntk_snapshot_destroy(back);
        ntk_snapshot_destroy(snapshot);
    }
}

static void values_without_a_vendor_key_are_read_back_unchanged(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    char *line = write_line(snapshot, &(struct ntk_report_options){ .timestamps = true });
    struct ntk_snapshot *back = read_line(line);
    const struct ntk_runtime_sample *runtime = &back->runtimes[0];

    assert_int_equal(back->sequence, 3);
    assert_int_equal(back->realtime_ns, 1763700000123456789u);
    assert_int_equal(back->period_ns, 1000250000);
    assert_int_equal(back->runtime_count, 2);
    assert_int_equal(runtime->header_pid, 17);
    assert_int_equal(runtime->start_time, 123456);
    assert_string_equal(runtime->tag, "bert \"serve\"");
    assert_int_equal(runtime->has, snapshot->runtimes[0].has | NTK_RUNTIME_HAS_PERCENTILES |
                                       NTK_RUNTIME_HAS_DEVICE_PERCENTILES);
    assert_int_equal(runtime->total_latency.count, 70);
    assert_int_equal(runtime->total_latency.sum_ns, 71ull * 1048576);
    assert_int_equal(runtime->core_count, 2);
    assert_int_equal(runtime->cores[1].has, snapshot->runtimes[0].cores[1].has);
    assert_int_equal(runtime->cores[1].engine_busy_ns[NTK_ENGINE_DVE].period, 12000000);
    assert_int_equal(runtime->memory_count, snapshot->runtimes[0].memory_count);
    assert_int_equal(runtime->memory[5].peak_bytes, 2048);
    assert_int_equal(runtime->memory[5].category, NTK_MEMORY_DMA_RINGS_IO);
    assert_int_equal(runtime->models[0].total_latency.count, 40);
    assert_int_equal(runtime->models[1].id, 10002);
    assert_false(runtime->models[1].loaded);
    assert_true(back->runtimes[1].ended);
    assert_true(back->runtimes[1].killed);
    assert_int_equal(back->runtimes[1].exit.kind, NTK_EXIT_CODE);
    assert_int_equal(back->runtimes[1].exit.value, 3);
    assert_true(back->runtimes[1].first);
    assert_int_equal(back->devices[0].memory_capacity_bytes[1], 25769803776u);
    assert_int_equal(back->devices[0].ecc[NTK_ECC_SRAM_CORRECTED].period, 4);
    const struct ntk_device_sample *device = &back->devices[0];
    assert_true(device->has & NTK_DEVICE_HAS_HEALTH);
    assert_int_equal(device->verdict, NTK_HEALTH_UNHEALTHY);
    assert_int_equal(device->verdict_since_ns, snapshot->devices[0].verdict_since_ns);
    assert_int_equal(device->health_evidence, snapshot->devices[0].health_evidence);
    assert_int_equal(device->health_count, 2);
    assert_int_equal(device->health[0].reason, NTK_HEALTH_REASON_COMPONENT_OTHER);
    assert_int_equal(device->health[0].core, NTK_NO_CORE);
    assert_string_equal(device->health[0].detail, "warp_core");
    assert_int_equal(device->health[0].cores, 0);
    assert_int_equal(device->health[1].core, 1);
    assert_int_equal(device->health[1].cores, 2);
    assert_int_equal(ntk_health_core_verdict(device, 0), NTK_HEALTH_HEALTHY);
    assert_int_equal(ntk_health_core_verdict(device, 1), NTK_HEALTH_UNHEALTHY);
    assert_int_equal(device->health[1].status, 1203);
    assert_int_equal(device->health[1].count, 7);
    assert_int_equal(device->health[1].last_ns, snapshot->devices[0].health[1].last_ns);
    assert_int_equal(ntk_health_action_of(device), NTK_HEALTH_ACTION_REBOOT_INSTANCE);
    assert_true(back->hardware.software);
    assert_int_equal(back->core_count, 4);
    assert_int_equal(back->cores[1].busy_ns.period, 375000000);
    assert_int_equal(back->outcome[NTK_OUTCOME_COMPLETED].period, 77);
    assert_int_equal(back->events_lost.period, 2);
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

/* Method: 30 of 45 GFLOP of the period ran before the agent started; a rate is about the other
 * 15. */
static void unwatched_work_is_read_back_and_excluded_from_rates(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_core_sample *part = ntk_snapshot_alloc(snapshot, 1, sizeof *part);
    const struct ntk_report_options options = { 0 };
    struct ntk_snapshot *back = NULL;
    struct ntk_buf line = { 0 };
    struct ntk_core_sample *core = &snapshot->runtimes[0].cores[0];
    struct ntk_err err = { 0 };

    snapshot->period_ns = 1000000000;
    core->has |= NTK_CORE_HAS_FLOPS;
    core->flops.period = 45000000000;
    part->has = NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EXECUTIONS;
    part->flops.period = 30000000000;
    part->outcome[NTK_OUTCOME_COMPLETED].period = 7;
    core->unwatched = part;
    assert_int_equal(ntk_report_write(snapshot, &options, &line, NULL), 0);
    assert_non_null(strstr(ntk_buf_text_get(&line), "\"flops\":15000000000"));
    assert_int_equal(ntk_report_read(ntk_buf_text_get(&line), line.bytes_count, &back, &err), 0);
    for (size_t i = 0; i < back->runtime_count; i++) {
        if (back->runtimes[i].start_time == snapshot->runtimes[0].start_time) {
            const struct ntk_core_sample *read = &back->runtimes[i].cores[0];
            assert_int_equal(read->flops.period, 45000000000);
            assert_int_equal(read->unwatched->flops.period, 30000000000);
            assert_int_equal(read->unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 7);
            assert_null(back->runtimes[i].cores[1].unwatched);
        }
    }
    /* Here the machine's cores are sums over the applications. */
    for (size_t i = 0; i < back->core_count; i++) {
        const struct ntk_core_sample *read = &back->cores[i];
        assert_int_equal(read->unwatched != NULL, read->core == core->core);
        if (read->unwatched) {
            assert_int_equal(read->unwatched->flops.period, 30000000000);
            assert_int_equal(ntk_snapshot_watched_core(read).flops.period,
                             read->flops.period - 30000000000);
        }
    }
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
    ntk_buf_fini(&line);
}

/* Method: an error after 100 rows of the memory log, more than a line has room for. */
/* The vendor's pid of a daemon is 0; our readers distinguish processes by their own pid. */
static void the_address_and_pid_of_a_daemon_are_read_back_unchanged(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    snapshot->runtimes[0].by_address = true;
    snapshot->runtimes[0].tag = "unix:/run/neuron.sock";
    char *line = write_line(snapshot, &(struct ntk_report_options){ 0 });
    char *vendor = write_line(snapshot, &(struct ntk_report_options){ .vendor_only = true });
    struct ntk_snapshot *back = read_line(line);
    struct ntk_snapshot *vendor_back = read_line(vendor);

    assert_non_null(strstr(vendor, "{\"pid\":0,\"neuron_runtime_tag\":\"unix:/run/neuron.sock\","
                                   "\"error\":\"\",\"address\":\"unix:/run/neuron.sock\","));
    assert_int_equal(back->runtimes[0].pid, snapshot->runtimes[0].pid);
    assert_true(back->runtimes[0].by_address);
    assert_false(back->runtimes[1].by_address);
    assert_int_equal(vendor_back->runtimes[0].pid, 0);
    free(line);
    free(vendor);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(vendor_back);
    ntk_snapshot_destroy(snapshot);
}

static void memory_events_are_dropped_first_from_long_reports(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_event_sample *events = ntk_snapshot_alloc_events(snapshot, 102);
    const struct ntk_report_options options = { 0 };
    struct ntk_snapshot *back;
    char *line;

    snapshot->lists_events = true;
    snapshot->events_unlisted = 5;
    for (int i = 0; i < 102; i++) {
        events[i].realtime_ns = (uint64_t)i + 1;
        events[i].kind = NTK_EVENT_MEM_ALLOC;
        events[i].core = 3;
        events[i].pid = 42;
        events[i].header_pid = 7;
        events[i].start_time = 99;
        events[i].uid = 1001;
        events[i].bytes = 1000 + (uint64_t)i;
        events[i].address = UINT64_C(0x7f0000001000);
        events[i].category = NTK_MEMORY_CONSTANTS;
        events[i].location = NTK_MEMORY_DEVICE;
        events[i].error_class = NTK_ERROR_CLASS_NONE;
        events[i].name = "w1";
    }
    events[100].kind = NTK_EVENT_ERROR;
    events[100].core = NTK_NO_CORE;
    events[100].status = 1003;
    events[100].error_class = 1;
    events[100].execution_id = 77;
    events[101].kind = 999; /* of a later version */
    line = write_line(snapshot, &options);
    back = read_line(line);
    assert_true(back->lists_events);
    assert_int_equal(back->event_count, 63); /* the unknown one took an entry */
    assert_int_equal(back->events_unlisted, 5 + 100 - 62 + 1);
    const struct ntk_event_sample *first = &back->events[0];
    assert_int_equal(first->kind, NTK_EVENT_MEM_ALLOC);
    assert_int_equal(first->realtime_ns, 39); /* the newest 62 */
    assert_int_equal(first->core, 3);
    assert_int_equal(first->pid, 42);
    assert_int_equal(first->header_pid, 7);
    assert_int_equal(first->start_time, 99);
    assert_int_equal(first->uid, 1001);
    assert_int_equal(first->bytes, 1038);
    assert_int_equal(first->address, UINT64_C(0x7f0000001000));
    assert_int_equal(first->category, NTK_MEMORY_CONSTANTS);
    assert_int_equal(first->location, NTK_MEMORY_DEVICE);
    assert_string_equal(first->name, "w1");
    const struct ntk_event_sample *last = &back->events[62];
    assert_int_equal(last->kind, NTK_EVENT_ERROR);
    assert_int_equal(last->core, NTK_NO_CORE);
    assert_int_equal(last->status, 1003);
    assert_int_equal(last->error_class, 1);
    assert_int_equal(last->execution_id, 77);
    ntk_snapshot_destroy(back);

    snapshot->lists_events = false;
    free(line);
    line = write_line(snapshot, &options);
    assert_null(strstr(line, "\"events\""));
    back = read_line(line);
    assert_false(back->lists_events);
    ntk_snapshot_destroy(back);
    free(line);
    ntk_snapshot_destroy(snapshot);
}

static void invalid_events_are_omitted(void **state)
{
    struct ntk_snapshot *back =
        read_line("{\"neuron_runtime_data\":[],\"system_data\":{},\"instance_info\":{},"
                  "\"neuron_hardware_info\":{},\"neuron_ext\":{\"period_ns\":1,\"events\":[7,{},{"
                  "\"kind\":\"what\"},"
                  "{\"kind\":\"alloc\",\"category\":\"what\",\"core\":4000000000,\"error_class\":3,"
                  "\"name\":[]},"
                  "null]}}");

    assert_int_equal(back->event_count, 1);
    assert_int_equal(back->events[0].kind, NTK_EVENT_MEM_ALLOC);
    assert_int_equal(back->events[0].category, NTK_MEMORY_UNCATEGORIZED);
    assert_int_equal(back->events[0].core, NTK_NO_CORE);
    assert_int_equal(back->events[0].error_class, NTK_ERROR_CLASS_NONE);
    assert_string_equal(back->events[0].name, "");
    ntk_snapshot_destroy(back);
}

static void all_values_of_a_vendor_report_are_read(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(2);
    char *line = write_line(snapshot, &(struct ntk_report_options){ .vendor_only = true });
    struct ntk_snapshot *back = read_line(line);
    const struct ntk_runtime_sample *runtime = &back->runtimes[0];
    uint64_t host = 0;
    uint64_t device = 0;

    assert_int_equal(back->hardware.lnc, 2);
    assert_int_equal(back->hardware.cores_per_device, 4);
    assert_int_equal(runtime->lnc, 2);
    assert_int_equal(runtime->core_count, 4);
    assert_true(runtime->cores[2].utilization > 0.187 && runtime->cores[2].utilization < 0.188);
    assert_true(runtime->has & NTK_RUNTIME_HAS_PERCENTILES);
    assert_true(runtime->total_percentile_ns[6] > 2113535 - 1 &&
                runtime->total_percentile_ns[6] < 2113535 + 1);
    ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, NULL, &host, &device);
    assert_int_equal(host, 4608);
    assert_int_equal(device, 1125504);
    assert_int_equal(runtime->model_count, 1);
    assert_string_equal(runtime->models[0].uuid, "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
    assert_int_equal(back->group_period_ns[NTK_SYSTEM_GROUP_ECC], 2000500000);
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

static void agent_statistics_and_report_times_are_read_back_unchanged(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    snapshot->every_ns = 60000000000;
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_SELF] = 1000000000;
    snapshot->system.has |= NTK_SYSTEM_HAS_SELF;
    snapshot->system.self_vcpu_user = 0.25;
    snapshot->system.self_vcpu_system = 0.125;
    snapshot->system.self_memory_bytes = 4096;
    char *line = write_line(snapshot, &(struct ntk_report_options){ .pretty = false });
    assert_non_null(strstr(line, "\"self_stats\":{\"period\":1,\"memory_used_bytes\":4096,"
                                 "\"vcpu_usage\":{\"user\":25,\"system\":12.5},\"error\":\"\"}"));
    struct ntk_snapshot *back = read_line(line);
    assert_int_equal(back->every_ns, 60000000000);
    assert_true(back->system.has & NTK_SYSTEM_HAS_SELF);
    assert_int_equal(back->system.self_memory_bytes, 4096);
    assert_true(back->system.self_vcpu_user > 0.249 && back->system.self_vcpu_user < 0.251);
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

static void values_of_a_group_with_an_error_are_ignored(void **state)
{
    struct ntk_snapshot *back =
        read_line("{\"neuron_runtime_data\":[{\"pid\":5,\"neuron_runtime_tag\":\"x\",\"error\":"
                  "\"\",\"report\":{"
                  "\"execution_stats\":{\"period\":1,\"execution_summary\":{\"completed\":9},"
                  "\"error\":\"gone\"}}}]}");

    assert_int_equal(back->runtimes[0].has, 0);
    assert_int_equal(back->runtimes[0].outcome[0].period, 0);
    ntk_snapshot_destroy(back);
}

static void an_invalid_report_is_rejected_with_a_message(void **state)
{
    static const char *const lines[] = { "",    "{",      "[]",         "1",
                                         "nul", "{}",     "{\"a\":1}",  "{\"system_data\":1",
                                         "\"",  "{\"a\"", "\xff\xfe{}", "{\"system_data\":1e999}" };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct ntk_snapshot *snapshot = NULL;
        struct ntk_err err = { 0 };
        assert_int_equal(ntk_report_read(lines[i], strlen(lines[i]), &snapshot, &err), -EBADMSG);
        assert_null(snapshot);
        assert_true(err.text[0] != '\0');
    }
}

/* Values of wrong types, out of range or repeated, and references beyond every table. */
static void hostile_values_are_skipped(void **state)
{
    struct ntk_snapshot *back = read_line(
        "{\"neuron_runtime_data\":[null,7,{\"pid\":-5,\"neuron_runtime_tag\":3,\"report\":{"
        "\"execution_stats\":{\"period\":-1,\"execution_summary\":[1],\"latency_stats\":{"
        "\"total_latency\":{\"p0\":-1}},\"error\":\"\"},"
        "\"neuroncore_counters\":{\"period\":1e300,\"neuroncores_in_use\":{\"99999\":{},\"x\":{},"
        "\"1\":{\"neuroncore_utilization\":1e9,\"flops\":-4},\"01\":{}},\"error\":\"\"},"
        "\"memory_used\":{\"period\":1,\"error\":\"\"},"
        "\"neuron_ext\":{\"lnc\":900,\"models\":[1,{\"uuid\":\"zz\",\"core\":4000000,"
        "\"core_count\":99999999,\"total_latency\":{\"buckets\":[[3,1],[2,1]]}}],"
        "\"memory\":[{\"category\":\"wat\"},{\"category\":\"tensors\",\"core\":99999}],"
        "\"total_latency\":{\"buckets\":[[999999,1]]},"
        "\"neuroncores\":{\"2\":{\"utilization\":-3,\"busy_ns\":\"x\"},\"5000\":{}}}}}],"
        "\"system_data\":{\"vcpu_usage\":{\"usage_data\":{\"-1\":{},\"1\":5}},"
        "\"neuron_hw_counters\":{\"neuron_devices\":[{},{}]}},"
        "\"neuron_hardware_info\":{\"neuron_device_count\":100000,"
        "\"neuroncore_per_device_count\":100000,\"logical_neuroncore_config\":0}}");
    const struct ntk_runtime_sample *runtime = &back->runtimes[2];

    assert_int_equal(back->runtime_count, 3);
    assert_int_equal(runtime->pid, 0);
    assert_int_equal(runtime->lnc, 1);
    assert_int_equal(runtime->core_count, 1);
    assert_int_equal(runtime->cores[0].core, 2);
    assert_true(runtime->cores[0].utilization == 0);
    assert_int_equal(runtime->memory_count, 0);
    assert_int_equal(runtime->total_latency.count, 0);
    assert_int_equal(runtime->model_count, 2);
    assert_int_equal(runtime->models[1].core_count, 0);
    assert_int_equal(runtime->models[1].total_latency.count, 0);
    assert_int_equal(back->core_count, 0);
    char *line = write_line(back, &(struct ntk_report_options){ .all_cores = true });
    free(line);
    ntk_snapshot_destroy(back);
}

static void names_that_are_not_utf8_do_not_corrupt_the_line(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    snapshot->runtimes[0].tag = "a\xff\nb";
    snapshot->runtimes[0].command = "\xc3";
    snapshot->runtimes[0].models[0].name = "m\x80";
    snapshot->runtimes[0].models[0].neff_path = "\xed\xa0\x80";
    char *line = write_line(snapshot, &(struct ntk_report_options){ 0 });
    struct ntk_snapshot *back = read_line(line);

    assert_string_equal(back->runtimes[0].tag, "a\xef\xbf\xbd\xef\xbf\xbd"
                                               "b");
    assert_string_equal(back->runtimes[0].models[0].name, "m\xef\xbf\xbd");
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

/* Method: two rows with a sum that needs the 64th bit, which JSON readers do not have. */
static void a_sum_beyond_63_bits_does_not_corrupt_the_line(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    snapshot->runtimes[0].memory[2].current_bytes = UINT64_MAX / 2;
    snapshot->runtimes[0].memory[3].current_bytes = UINT64_MAX / 2;
    snapshot->period_ns = 1;
    snapshot->runtimes[0].cores[0].flops.period = UINT64_MAX;
    char *line = write_line(snapshot, &(struct ntk_report_options){ 0 });
    struct ntk_snapshot *back = read_line(line);

    assert_int_equal(back->runtime_count, 2);
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

static void a_line_beyond_the_limit_is_rejected_unread(void **state)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_report_read("{}", NTK_REPORT_READ_BYTES_MAX + 1u, &snapshot, &err),
                     -EBADMSG);
    assert_non_null(strstr(err.text, "is not a report"));
}

/* The host memory of the attached process is unknown, and so is all memory of its model. */
static void assert_vendor_totals(const char *line)
{
    json_t *root = json_loads(line, 0, NULL);
    json_t *list = json_object_get(root, "neuron_runtime_data");

    for (size_t k = 0; k < MIXED_COUNT; k++) {
        json_t *memory = NULL;
        json_t *used = NULL;
        json_t *model = NULL;

        assert_int_equal(
            json_unpack(json_array_get(list, k), "{s:{s:o}}", "report", "memory_used", &memory), 0);
        assert_int_equal(json_unpack(memory, "{s:o,s:[{s:{s:{s:o}}}]}", "neuron_runtime_used_bytes",
                                     &used, "loaded_models", "subgraphs", "sg_00",
                                     "memory_used_bytes", &model),
                         0);
        assert_int_equal(json_object_get(used, "host") != NULL, k != MIXED_ATTACHED);
        assert_non_null(json_object_get(used, "neuron_device"));
        assert_int_equal(json_object_get(model, "host") != NULL, k == MIXED_OURS);
        assert_int_equal(json_object_get(model, "neuron_device") != NULL, k != MIXED_ATTACHED);
    }
    json_decref(root);
}

/* Method: the unknown values of two of three processes are poison in the snapshot; no line has it,
 * and the same values are unknown after reading back. */
static void values_unknown_to_hooks_are_absent_after_reading_back(void **state)
{
    static const struct ntk_report_options forms[] = {
        { 0 }, { .vendor_only = true }, { .omit = NTK_REPORT_OMIT_EXT }, { .all_cores = true }
    };
    struct ntk_snapshot *snapshot = test_mixed_snapshot();

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *line = write_line(snapshot, &forms[i]);
        struct ntk_snapshot *back = read_line(line);
        const struct ntk_runtime_sample *r = back->runtimes;

        assert_null(strstr(line, "666"));
        assert_vendor_totals(line);
        assert_int_equal(back->runtime_count, MIXED_COUNT);
        assert_true(r[MIXED_OURS].has & r[MIXED_PRELOADED].has & NTK_RUNTIME_HAS_EXECUTIONS);
        assert_false(r[MIXED_ATTACHED].has & NTK_RUNTIME_HAS_EXECUTIONS);
        for (int k = 0; k < MIXED_COUNT; k++) {
            assert_true(ntk_snapshot_tells_group(&r[k], NTK_GROUP_TENSORS));
            struct ntk_memory_total host;
            struct ntk_memory_total device;

            ntk_snapshot_memory_total(&r[k], NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
            assert_int_equal(host.known, k != MIXED_ATTACHED);
            assert_true(device.known);
            /* Only our keys contain the kind of hooks of a process. */
            if (r[k].hooks != NTK_HOOKS_UNKNOWN) {
                assert_true(ntk_snapshot_tells_group(&r[k], NTK_GROUP_HOST_TENSORS));
                assert_int_equal(device.estimated, k == MIXED_PRELOADED);
                ntk_snapshot_memory_total(&r[k], NTK_MEMORY_ANY, 10001, &host, &device);
                assert_int_equal(host.known, k == MIXED_OURS);
                assert_int_equal(device.known, k != MIXED_ATTACHED);
            }
            assert_int_equal(ntk_snapshot_tells_group(&r[k], NTK_GROUP_CONSTANTS), k == MIXED_OURS);
            assert_int_equal(ntk_snapshot_tells_group(&r[k], NTK_GROUP_RUNTIME), k == MIXED_OURS);
            assert_int_equal(ntk_snapshot_tells_group(&r[k], NTK_GROUP_HOST_APPLICATION),
                             k == MIXED_OURS);
            assert_true(r[k].cores[0].has & NTK_CORE_HAS_BUSY);
            assert_int_equal(r[k].models[0].memory_estimated,
                             k == MIXED_PRELOADED && !forms[i].vendor_only);
        }
        free(line);
        ntk_snapshot_destroy(back);
    }

    char *line = write_line(snapshot, &forms[0]);
    struct ntk_snapshot *back = read_line(line);
    char *again = write_line(back, &forms[0]);

    assert_same_line(line, again);
    for (int k = 0; k < MIXED_COUNT; k++) {
        const struct ntk_runtime_sample *r = &back->runtimes[k];
        const struct ntk_runtime_sample *was = &snapshot->runtimes[k];
        const uint32_t lines = NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY;

        assert_int_equal(r->hooks, was->hooks);
        assert_int_equal(r->cores_guessed, was->cores_guessed);
        assert_int_equal(r->executions_counted, was->executions_counted);
        assert_int_equal(r->has & NTK_RUNTIME_HAS_IN_FLIGHT, was->has & NTK_RUNTIME_HAS_IN_FLIGHT);
        assert_int_equal(r->cores[0].has & ~lines, was->cores[0].has & ~lines);
        assert_int_equal(r->cores[0].busy_of_calls, k == MIXED_PRELOADED);
        assert_int_equal(back->cores[k].has & ~lines, was->cores[0].has & ~lines);
        assert_int_equal(r->models[0].has, was->models[0].has & ~(uint32_t)NTK_MODEL_HAS_TOTALS);
    }
    assert_int_equal(back->cores[MIXED_COUNT].has, 0);
    free(line);
    free(again);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_string_is_read_back_unchanged),
        cmocka_unit_test(a_written_line_is_read_back_as_the_same_line),
        cmocka_unit_test(values_without_a_vendor_key_are_read_back_unchanged),
        cmocka_unit_test(unwatched_work_is_read_back_and_excluded_from_rates),
        cmocka_unit_test(the_address_and_pid_of_a_daemon_are_read_back_unchanged),
        cmocka_unit_test(memory_events_are_dropped_first_from_long_reports),
        cmocka_unit_test(invalid_events_are_omitted),
        cmocka_unit_test(all_values_of_a_vendor_report_are_read),
        cmocka_unit_test(agent_statistics_and_report_times_are_read_back_unchanged),
        cmocka_unit_test(values_of_a_group_with_an_error_are_ignored),
        cmocka_unit_test(an_invalid_report_is_rejected_with_a_message),
        cmocka_unit_test(hostile_values_are_skipped),
        cmocka_unit_test(names_that_are_not_utf8_do_not_corrupt_the_line),
        cmocka_unit_test(a_sum_beyond_63_bits_does_not_corrupt_the_line),
        cmocka_unit_test(a_line_beyond_the_limit_is_rejected_unread),
        cmocka_unit_test(values_unknown_to_hooks_are_absent_after_reading_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
