/* SPDX-License-Identifier: MIT */
/* Method: hand-made snapshots; compares the whole line with a golden one (NTK_UPDATE=1 rewrites
 * it), and each key with a table. */
#include "shared/report/report_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/metrics/snapshot.h"
#include "shared/report/report_schema.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

/* The caller frees it. */
static char *write_line(const struct ntk_snapshot *snapshot,
                        const struct ntk_report_options *options, bool *out_cut)
{
    struct ntk_buf buf = { 0 };

    assert_int_equal(ntk_report_write(snapshot, options, &buf, out_cut), 0);
    return ntk_buf_take(&buf, NULL);
}

static void assert_golden(const struct ntk_snapshot *snapshot,
                          const struct ntk_report_options *options, const char *name)
{
    char path[512];
    uint8_t *golden;
    size_t golden_bytes;

    snprintf(path, sizeof path, "%s/tests/data/report/%s", getenv("NTK_SOURCE_DIR"), name);
    char *line = write_line(snapshot, options, NULL);
    if (getenv("NTK_UPDATE")) {
        assert_int_equal(ntk_fs_write(path, line, strlen(line), NULL), 0);
    }
    assert_int_equal(ntk_fs_read(path, 1 << 20, &golden, &golden_bytes, NULL), 0);
    assert_string_equal(line, (const char *)golden);
    free(line);
    free(golden);
}

static void a_report_line_equals_the_golden_file(void **state)
{
    struct ntk_snapshot *lnc1 = test_sample_snapshot(1);
    struct ntk_snapshot *lnc2 = test_sample_snapshot(2);
    struct ntk_snapshot *idle = test_idle_snapshot();

    assert_golden(lnc1, &(struct ntk_report_options){ .timestamps = true }, "golden_lnc1.jsonl");
    assert_golden(lnc2, &(struct ntk_report_options){ .timestamps = true, .vendor_only = true },
                  "golden_lnc2_vendor.jsonl");
    assert_golden(idle, &(struct ntk_report_options){ 0 }, "golden_idle.jsonl");
    ntk_snapshot_destroy(lnc1);
    ntk_snapshot_destroy(lnc2);
    ntk_snapshot_destroy(idle);
}

/* i integer, f number, s string, b bool, o object, a array; "*" is any key or index. */
static const struct {
    const char *path;
    char type;
} shape[] = {
    { "neuron_runtime_data", 'a' },
    { "neuron_runtime_data.*.pid", 'i' },
    { "neuron_runtime_data.*.neuron_runtime_tag", 's' },
    { "neuron_runtime_data.*.error", 's' },
    { "neuron_runtime_data.*.report", 'o' },
#define REPORT "neuron_runtime_data.*.report."
    { REPORT "*", 'o' },
#define STATS REPORT "execution_stats."
    { STATS "period", 'f' },
    { STATS "error", 's' },
    { STATS "error_summary.generic", 'i' },
    { STATS "error_summary.numerical", 'i' },
    { STATS "error_summary.transient", 'i' },
    { STATS "error_summary.model", 'i' },
    { STATS "error_summary.runtime", 'i' },
    { STATS "error_summary.hardware", 'i' },
    { STATS "execution_summary.completed", 'i' },
    { STATS "execution_summary.completed_with_err", 'i' },
    { STATS "execution_summary.completed_with_num_err", 'i' },
    { STATS "execution_summary.timed_out", 'i' },
    { STATS "execution_summary.incorrect_input", 'i' },
    { STATS "execution_summary.failed_to_queue", 'i' },
    { STATS "latency_stats.total_latency.p0", 'f' },
    { STATS "latency_stats.total_latency.p1", 'f' },
    { STATS "latency_stats.total_latency.p25", 'f' },
    { STATS "latency_stats.total_latency.p50", 'f' },
    { STATS "latency_stats.total_latency.p75", 'f' },
    { STATS "latency_stats.total_latency.p99", 'f' },
    { STATS "latency_stats.total_latency.p100", 'f' },
    { STATS "latency_stats.device_latency.p0", 'f' },
    { STATS "latency_stats.device_latency.p1", 'f' },
    { STATS "latency_stats.device_latency.p25", 'f' },
    { STATS "latency_stats.device_latency.p50", 'f' },
    { STATS "latency_stats.device_latency.p75", 'f' },
    { STATS "latency_stats.device_latency.p99", 'f' },
    { STATS "latency_stats.device_latency.p100", 'f' },
#define MEMORY REPORT "memory_used."
    { MEMORY "period", 'f' },
    { MEMORY "error", 's' },
    { MEMORY "neuron_runtime_used_bytes.host", 'i' },
    { MEMORY "neuron_runtime_used_bytes.neuron_device", 'i' },
    { MEMORY "neuron_runtime_used_bytes.rss_bytes", 'i' },
#define BREAKDOWN MEMORY "neuron_runtime_used_bytes.usage_breakdown."
    { BREAKDOWN "host.application_memory", 'i' },
    { BREAKDOWN "host.constants", 'i' },
    { BREAKDOWN "host.dma_buffers", 'i' },
    { BREAKDOWN "host.tensors", 'i' },
    { BREAKDOWN "neuroncore_memory_usage.*.constants", 'i' },
    { BREAKDOWN "neuroncore_memory_usage.*.model_code", 'i' },
    { BREAKDOWN "neuroncore_memory_usage.*.model_shared_scratchpad", 'i' },
    { BREAKDOWN "neuroncore_memory_usage.*.runtime_memory", 'i' },
    { BREAKDOWN "neuroncore_memory_usage.*.tensors", 'i' },
    { MEMORY "loaded_models", 'a' },
    { MEMORY "loaded_models.*.name", 's' },
    { MEMORY "loaded_models.*.uuid", 's' },
    { MEMORY "loaded_models.*.model_id", 'i' },
    { MEMORY "loaded_models.*.is_running", 'b' },
#define SUBGRAPH MEMORY "loaded_models.*.subgraphs.*."
    { SUBGRAPH "memory_used_bytes.host", 'i' },
    { SUBGRAPH "memory_used_bytes.neuron_device", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.host.application_memory", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.host.constants", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.host.dma_buffers", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.host.tensors", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.neuron_device.constants", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.neuron_device.model_code", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.neuron_device.runtime_memory", 'i' },
    { SUBGRAPH "memory_used_bytes.usage_breakdown.neuron_device.tensors", 'i' },
    { SUBGRAPH "neuroncore_index", 'i' },
    { SUBGRAPH "neuron_device_index", 'i' },
    { SUBGRAPH "v3", 's' },
    { REPORT "neuron_runtime_vcpu_usage.period", 'f' },
    { REPORT "neuron_runtime_vcpu_usage.vcpu_usage.user", 'f' },
    { REPORT "neuron_runtime_vcpu_usage.vcpu_usage.system", 'f' },
    { REPORT "neuron_runtime_vcpu_usage.error", 's' },
#define COUNTERS REPORT "neuroncore_counters."
    { COUNTERS "period", 'f' },
    { COUNTERS "neuroncores_in_use.*.neuroncore_utilization", 'f' },
    { COUNTERS "neuroncores_in_use.*.flops", 'i' },
    { COUNTERS "neuroncores_in_use.*.effective_flops", 'i' },
    { COUNTERS "error", 's' },
    { "system_data.memory_info.period", 'f' },
    { "system_data.memory_info.memory_total_bytes", 'i' },
    { "system_data.memory_info.memory_used_bytes", 'i' },
    { "system_data.memory_info.swap_total_bytes", 'i' },
    { "system_data.memory_info.swap_used_bytes", 'i' },
    { "system_data.memory_info.error", 's' },
    { "system_data.neuron_hw_counters.period", 'f' },
    { "system_data.neuron_hw_counters.neuron_devices.*.neuron_device_index", 'i' },
    { "system_data.neuron_hw_counters.neuron_devices.*.mem_ecc_corrected", 'i' },
    { "system_data.neuron_hw_counters.neuron_devices.*.mem_ecc_uncorrected", 'i' },
    { "system_data.neuron_hw_counters.neuron_devices.*.sram_ecc_uncorrected", 'i' },
    { "system_data.neuron_hw_counters.neuron_devices.*.sram_ecc_corrected", 'i' },
    { "system_data.neuron_hw_counters.neuron_devices.*.mem_ecc_repairable_uncorrected", 'i' },
    { "system_data.neuron_hw_counters.error", 's' },
    { "system_data.vcpu_usage.period", 'f' },
    { "system_data.vcpu_usage.average_usage.user", 'f' },
    { "system_data.vcpu_usage.average_usage.nice", 'f' },
    { "system_data.vcpu_usage.average_usage.system", 'f' },
    { "system_data.vcpu_usage.average_usage.idle", 'f' },
    { "system_data.vcpu_usage.average_usage.io_wait", 'f' },
    { "system_data.vcpu_usage.average_usage.irq", 'f' },
    { "system_data.vcpu_usage.average_usage.soft_irq", 'f' },
    { "system_data.vcpu_usage.usage_data.*.user", 'f' },
    { "system_data.vcpu_usage.usage_data.*.nice", 'f' },
    { "system_data.vcpu_usage.usage_data.*.system", 'f' },
    { "system_data.vcpu_usage.usage_data.*.idle", 'f' },
    { "system_data.vcpu_usage.usage_data.*.io_wait", 'f' },
    { "system_data.vcpu_usage.usage_data.*.irq", 'f' },
    { "system_data.vcpu_usage.usage_data.*.soft_irq", 'f' },
    { "system_data.vcpu_usage.context_switch_count", 'i' },
    { "system_data.vcpu_usage.error", 's' },
    { "instance_info.instance_name", 's' },
    { "instance_info.instance_id", 's' },
    { "instance_info.instance_type", 's' },
    { "instance_info.instance_availability_zone", 's' },
    { "instance_info.instance_availability_zone_id", 's' },
    { "instance_info.instance_region", 's' },
    { "instance_info.ami_id", 's' },
    { "instance_info.subnet_id", 's' },
    { "instance_info.error", 's' },
    { "neuron_hardware_info.neuron_device_type", 's' },
    { "neuron_hardware_info.neuron_device_version", 's' },
    { "neuron_hardware_info.neuroncore_version", 's' },
    { "neuron_hardware_info.neuron_device_count", 'i' },
    { "neuron_hardware_info.neuron_device_memory_size", 'i' },
    { "neuron_hardware_info.neuroncore_per_device_count", 'i' },
    { "neuron_hardware_info.logical_neuroncore_config", 'i' },
    { "neuron_hardware_info.error", 's' },
    { "neuron_k8s_info.period", 'f' },
    { "neuron_k8s_info.neuroncores_k8s_info.*.pod_name", 's' },
    { "neuron_k8s_info.neuroncores_k8s_info.*.namespace", 's' },
    { "neuron_k8s_info.neuroncores_k8s_info.*.container_name", 'a' },
    { "neuron_k8s_info.neuroncores_k8s_info.*.container_name.*", 's' },
    { "neuron_k8s_info.neurondevices_k8s_info.*.pod_name", 's' },
    { "neuron_k8s_info.neurondevices_k8s_info.*.namespace", 's' },
    { "neuron_k8s_info.neurondevices_k8s_info.*.container_name", 'a' },
    { "neuron_k8s_info.neurondevices_k8s_info.*.container_name.*", 's' },
    { "neuron_k8s_info.error", 's' },
    { "time_ns", 'i' },
    { "sequence", 'i' },
};

static bool is_of_type(const json_t *value, char type)
{
    switch (type) {
    case 'i':
        return json_is_integer(value);
    case 'f':
        return json_is_number(value);
    case 's':
        return json_is_string(value);
    case 'b':
        return json_is_boolean(value);
    case 'o':
        return json_is_object(value);
    default:
        return json_is_array(value);
    }
}

/* The number of values at path; each must have the type. */
static int check_path(const json_t *at, const char *path, char type)
{
    char key[64];
    size_t length = strcspn(path, ".");
    const char *rest = path[length] ? path + length + 1 : NULL;
    const char *name;
    json_t *child;
    size_t i;
    int found = 0;

    snprintf(key, sizeof key, "%.*s", (int)length, path);
    if (strcmp(key, "*") != 0) {
        child = json_object_get(at, key);
        if (!child) {
            return 0;
        }
        return rest ? check_path(child, rest, type) : is_of_type(child, type);
    }
    json_array_foreach(at, i, child)
    {
        found += rest ? check_path(child, rest, type) : is_of_type(child, type);
    }
    json_object_foreach((json_t *)(uintptr_t)at, name, child)
    {
        found += rest ? check_path(child, rest, type) : is_of_type(child, type);
    }
    return found;
}

static void every_vendor_key_has_the_documented_type(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_report_options options = { .timestamps = true };
    char *line = write_line(snapshot, &options, NULL);
    json_t *root = json_loads(line, 0, NULL);

    assert_non_null(root);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        if (check_path(root, shape[i].path, shape[i].type) == 0) {
            fail_msg("%s of type '%c' is missing", shape[i].path, shape[i].type);
        }
    }
    json_decref(root);
    free(line);
    ntk_snapshot_destroy(snapshot);
}

/* Method: walks the vendor's form of the line and looks each key up in the table. */
static void assert_known(const json_t *value, char *path, size_t used)
{
    const char *key;
    json_t *child;
    bool known = used == 0;

    for (size_t i = 0; i < sizeof shape / sizeof *shape && !known; i++) {
        const char *want = shape[i].path;
        const char *have = path;
        while (*want && *have) {
            size_t a = strcspn(want, ".");
            size_t b = strcspn(have, ".");
            if (strncmp(want, "*", a) != 0 && (a != b || strncmp(want, have, a) != 0)) {
                break;
            }
            want += a + (want[a] == '.');
            have += b + (have[b] == '.');
        }
        known = *have == '\0';
    }
    if (!known) {
        fail_msg("%s is not in the table", path);
    }
    size_t i;
    json_array_foreach(value, i, child)
    {
        int more = snprintf(path + used, 512 - used, "%s%zu", used ? "." : "", i);
        assert_known(child, path, used + (size_t)more);
        path[used] = '\0';
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, child)
    {
        int more = snprintf(path + used, 512 - used, "%s%s", used ? "." : "", key);
        assert_known(child, path, used + (size_t)more);
        path[used] = '\0';
    }
}

static void a_report_in_vendor_format_has_no_extension_keys(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    char *line = write_line(snapshot, &(struct ntk_report_options){ .vendor_only = true }, NULL);
    json_t *root = json_loads(line, 0, NULL);
    char path[512] = "";

    assert_known(root, path, 0);
    assert_null(strstr(line, "neuron_ext"));
    assert_null(strstr(line, "ended"));
    json_decref(root);
    free(line);
    ntk_snapshot_destroy(snapshot);
}

static void a_report_beyond_the_limit_omits_only_the_extension(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    bool cut = false;
    char *whole = write_line(snapshot, &(struct ntk_report_options){ 0 }, &cut);
    size_t size = strlen(whole);

    assert_false(cut);
    char *same = write_line(snapshot, &(struct ntk_report_options){ .line_bytes_max = size }, &cut);
    assert_string_equal(same, whole);
    assert_false(cut);
    char *shorter =
        write_line(snapshot, &(struct ntk_report_options){ .line_bytes_max = size - 1 }, &cut);
    assert_true(cut);
    assert_null(strstr(shorter, "neuron_ext"));
    assert_non_null(strstr(shorter, "\"ended\":true"));
    assert_non_null(strstr(shorter, "\"rss_bytes\":"));
    free(shorter);
    free(same);
    free(whole);
    ntk_snapshot_destroy(snapshot);
}

static void omitted_parts_are_absent_from_the_whole_report(void **state)
{
    static const struct {
        const char *name;
        const char *key;
    } parts[] = {
        { "loaded_models", "\"loaded_models\":" },
        { "neuron_ext", "\"neuron_ext\":" },
        { "usage_breakdown", "\"usage_breakdown\":" },
        { "usage_data", "\"usage_data\":" },
        { "v3d", "\"v3d\":{" },
    };
    struct ntk_snapshot *snapshot = test_sample_snapshot(2);
    struct ntk_report_options options = { 0 };
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_int_equal(ntk_report_omit_parse(parts[i].name, &options.omit, &err), 0);
        char *line = write_line(snapshot, &options, NULL);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            assert_int_equal(strstr(line, parts[k].key) != NULL, k != i);
        }
        free(line);
    }
    assert_int_equal(ntk_report_omit_parse("usage_data,v3d,loaded_models", &options.omit, &err), 0);
    char *line = write_line(snapshot, &options, NULL);
    assert_null(strstr(line, "usage_data"));
    assert_null(strstr(line, "\"v3d\":{"));
    assert_null(strstr(line, "loaded_models"));
    free(line);
    assert_int_equal(ntk_report_omit_parse("", &options.omit, &err), -EINVAL);
    assert_int_equal(ntk_report_omit_parse("v3d,", &options.omit, &err), -EINVAL);
    assert_int_equal(ntk_report_omit_parse("v3", &options.omit, &err), -EINVAL);
    assert_non_null(strstr(err.text, "usage_data"));
    ntk_snapshot_destroy(snapshot);
}

static void a_report_group_that_is_not_due_is_absent(void **state)
{
    static const char *const keys[] = { "\"execution_stats\":", "\"memory_used\":",
                                        "\"neuron_runtime_vcpu_usage\":",
                                        "\"neuroncore_counters\":" };
    struct ntk_report_options options = { .vendor_only = true };

    for (int i = 0; i < NTK_RUNTIME_GROUP_COUNT; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        for (size_t k = 0; k < snapshot->runtime_count; k++) {
            snapshot->runtimes[k].group_period_ns[i] = NTK_GROUP_ABSENT;
        }
        char *line = write_line(snapshot, &options, NULL);
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            assert_int_equal(strstr(line, keys[k]) != NULL, k != i);
        }
        free(line);
        ntk_snapshot_destroy(snapshot);
    }
    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        snapshot->group_period_ns[i] = NTK_GROUP_ABSENT;
        char *line = write_line(snapshot, &options, NULL);
        assert_int_equal(strstr(line, "\"memory_info\":") != NULL, i != NTK_SYSTEM_GROUP_MEMORY);
        assert_int_equal(strstr(line, "\"neuron_hw_counters\":") != NULL,
                         i != NTK_SYSTEM_GROUP_ECC);
        assert_int_equal(strstr(line, "\"usage_data\":") != NULL, i != NTK_SYSTEM_GROUP_CPU);
        free(line);
        ntk_snapshot_destroy(snapshot);
    }
}

static void with_all_cores_unused_cores_are_listed_with_zero(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    char *line = write_line(snapshot, &(struct ntk_report_options){ .all_cores = true }, NULL);
    json_t *root = json_loads(line, 0, NULL);
    json_t *report =
        json_object_get(json_array_get(json_object_get(root, "neuron_runtime_data"), 0), "report");
    json_t *cores =
        json_object_get(json_object_get(report, "neuroncore_counters"), "neuroncores_in_use");

    assert_int_equal(json_object_size(cores), 4);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(cores, "3"), "neuroncore_utilization")),
        0);
    json_decref(root);
    free(line);
    ntk_snapshot_destroy(snapshot);
}

/* Method: 12 cores, so that alphabetical and numerical order differ. */
static void index_keys_are_sorted_as_strings(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    snapshot->hardware.device_count = 3;
    char *line = write_line(snapshot, &(struct ntk_report_options){ .all_cores = true }, NULL);
    const char *at = strstr(line, "\"neuroncores_in_use\":{\"0\":");
    static const char *const order[] = { "\"1\":{", "\"10\":{", "\"11\":{", "\"2\":{", "\"9\":{" };

    assert_non_null(at);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *next = strstr(at, order[i]);
        assert_non_null(next);
        assert_true(next > at);
        at = next;
    }
    free(line);
    ntk_snapshot_destroy(snapshot);
}

static void a_long_model_name_is_truncated_at_a_character(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    char name[400];
    struct ntk_report_options options = { .vendor_only = true };

    memset(name, 'n', sizeof name);
    memcpy(name + 254, "\xc3\xa9", 2); /* bytes 254 and 255 are one character */
    name[sizeof name - 1] = '\0';
    snapshot->runtimes[0].models[0].name = name;
    char *line = write_line(snapshot, &options, NULL);
    name[254] = '\0';
    char expected[450];
    snprintf(expected, sizeof expected, "\"name\":\"%s\",", name);
    assert_non_null(strstr(line, expected));
    free(line);
    ntk_snapshot_destroy(snapshot);
}

static void a_pretty_printed_report_has_the_same_content(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    char *line = write_line(snapshot, &(struct ntk_report_options){ 0 }, NULL);
    struct ntk_report_options options = { .pretty = true, .line_bytes_max = 100 };
    char *pretty = write_line(snapshot, &options, NULL);
    json_t *a = json_loads(line, 0, NULL);
    json_t *b = json_loads(pretty, 0, NULL);

    assert_true(json_equal(a, b));
    assert_non_null(strstr(pretty, "\n  \"neuron_runtime_data\": ["));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    json_decref(a);
    json_decref(b);
    free(line);
    free(pretty);
    ntk_snapshot_destroy(snapshot);
}

/* Each key below `value` has a schema below `node`. */
static void assert_reported(const json_t *schema, const json_t *node, json_t *value)
{
    const char *reference = json_string_value(json_object_get(node, "$ref"));
    const char *key;
    json_t *child;
    size_t i;

    if (reference) {
        assert_memory_equal(reference, "#/$defs/", 8);
        node = json_object_get(json_object_get(schema, "$defs"), reference + 8);
        assert_non_null(node);
    }
    json_object_foreach(value, key, child)
    {
        const json_t *reported = json_object_get(json_object_get(node, "properties"), key);
        json_t *patterns = json_object_get(node, "patternProperties");
        if (!reported) {
            reported = json_object_iter_value(json_object_iter(patterns));
        }
        if (!reported) {
            fail_msg("the schema has no %s", key);
        }
        assert_reported(schema, reported, child);
    }
    json_array_foreach(value, i, child)
    {
        assert_reported(schema, json_object_get(node, "items"), child);
    }
}

static void the_schema_has_every_key_of_a_report(void **state)
{
    char *text = ntk_report_schema_make();
    json_t *schema = json_loads(text, 0, NULL);

    assert_non_null(schema);
    for (uint32_t lnc = 1; lnc <= 2; lnc++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(lnc);
        snapshot->runtimes[0].by_address = lnc == 2;
        char *line = write_line(snapshot, &(struct ntk_report_options){ .timestamps = true }, NULL);
        json_t *report = json_loads(line, 0, NULL);

        assert_reported(schema, schema, report);
        json_decref(report);
        free(line);
        ntk_snapshot_destroy(snapshot);
    }
    json_decref(schema);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_line_equals_the_golden_file),
        cmocka_unit_test(every_vendor_key_has_the_documented_type),
        cmocka_unit_test(a_report_in_vendor_format_has_no_extension_keys),
        cmocka_unit_test(a_report_beyond_the_limit_omits_only_the_extension),
        cmocka_unit_test(omitted_parts_are_absent_from_the_whole_report),
        cmocka_unit_test(a_report_group_that_is_not_due_is_absent),
        cmocka_unit_test(with_all_cores_unused_cores_are_listed_with_zero),
        cmocka_unit_test(index_keys_are_sorted_as_strings),
        cmocka_unit_test(a_long_model_name_is_truncated_at_a_character),
        cmocka_unit_test(a_pretty_printed_report_has_the_same_content),
        cmocka_unit_test(the_schema_has_every_key_of_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
