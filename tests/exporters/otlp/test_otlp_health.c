/* SPDX-License-Identifier: MIT */
/* Method: hand-made health of a device in consecutive snapshots; the requests are read back with
 * the generated reader. */
#include "exporters/otlp/otlp_health.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp_config.h"
#include "shared/metrics/health.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define NOW UINT64_C(1763700000000000000)

static const struct ntk_otlp_machine machine = { .host_name = "host",
                                                 .instance_id = "i-1",
                                                 .instance_type = "",
                                                 .region = "",
                                                 .availability_zone = "" };

/* The records of one call; request is NULL if there are none. */
static Ntk__Otlp__LogsRequest *encode(struct ntk_otlp_health *health,
                                      const struct ntk_snapshot *snapshot, int expected)
{
    Ntk__Otlp__LogsRequest *request = NULL;
    struct ntk_buf out = { 0 };

    assert_int_equal(ntk_otlp_health_encode(health, snapshot, &machine, NULL, NOW, &out), expected);
    if (expected > 0) {
        request =
            ntk__otlp__logs_request__unpack(NULL, out.bytes_count, (const uint8_t *)out.bytes);
        assert_non_null(request);
        assert_int_equal(request->resource_logs[0]->scope_logs[0]->n_log_records, expected);
    } else {
        assert_int_equal(out.bytes_count, 0);
    }
    ntk_buf_fini(&out);
    return request;
}

static const Ntk__Otlp__LogRecord *record_at(const Ntk__Otlp__LogsRequest *request, size_t index)
{
    return request->resource_logs[0]->scope_logs[0]->log_records[index];
}

static const Ntk__Otlp__AnyValue *value_of(Ntk__Otlp__KeyValue *const *attributes, size_t count,
                                           const char *name)
{
    const Ntk__Otlp__AnyValue *found = NULL;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(attributes[i]->key, name) == 0) {
            assert_null(found);
            found = attributes[i]->value;
        }
    }
    return found;
}

static const char *text_of(const Ntk__Otlp__LogRecord *record, const char *name)
{
    const Ntk__Otlp__AnyValue *value = value_of(record->attributes, record->n_attributes, name);

    return value ? value->text : "(none)";
}

static struct ntk_snapshot *healthy(void)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(2);

    snapshot->devices[0].verdict = NTK_HEALTH_HEALTHY;
    snapshot->devices[0].health_count = 0;
    return snapshot;
}

static void a_healthy_device_has_no_log_record_until_a_change(void **state)
{
    struct ntk_otlp_health health = { 0 };
    struct ntk_snapshot *well = healthy();
    struct ntk_snapshot *ill = test_sample_snapshot(2);

    (void)state;
    assert_null(encode(&health, well, 0));
    assert_null(encode(&health, well, 0));
    ill->devices[0].health[0].detail = "warp\xff"; /* drivers are not asked for UTF-8 */
    Ntk__Otlp__LogsRequest *request = encode(&health, ill, 3);
    const Ntk__Otlp__LogRecord *record = record_at(request, 0);
    assert_string_equal(record->event_name, "neuron.device.health.reason.started");
    assert_int_equal(record->severity_number, NTK__OTLP__SEVERITY__ERROR);
    assert_string_equal(record->severity_text, "ERROR");
    assert_int_equal(record->time_unix_nano, UINT64_C(1763699000000000000));
    assert_int_equal(record->observed_time_unix_nano, NOW);
    assert_non_null(strstr(record->body->text, "device 0: component_other"));
    assert_string_equal(text_of(record, "hw.id"), "neuron0");
    assert_string_equal(text_of(record, "hw.type"), "gpu");
    assert_string_equal(text_of(record, "hw.serial_number"), "0a1b2c3d4e5f0000");
    assert_string_equal(text_of(record, "neuron.health.reason"), "component_other");
    assert_string_equal(text_of(record, "neuron.health.action"), "reboot_instance");
    assert_string_equal(text_of(record, "neuron.health.detail"), "warp\xef\xbf\xbd");
    assert_null(value_of(record->attributes, record->n_attributes, "neuron.core"));
    record = record_at(request, 1);
    assert_string_equal(text_of(record, "neuron.health.reason"), "hardware_error");
    assert_string_equal(text_of(record, "neuron.health.detail"), "(none)");
    assert_int_equal(
        value_of(record->attributes, record->n_attributes, "neuron.health.count")->number, 7);
    assert_int_equal(value_of(record->attributes, record->n_attributes, "neuron.status")->number,
                     1203);
    /* physical core 1 belongs to logical core 0 */
    assert_int_equal(value_of(record->attributes, record->n_attributes, "neuron.core")->number, 0);
    record = record_at(request, 2);
    assert_string_equal(record->event_name, "neuron.device.health.verdict");
    assert_string_equal(record->body->text, "device 0: unhealthy");
    assert_string_equal(text_of(record, "neuron.health.verdict"), "unhealthy");
    assert_string_equal(text_of(record, "neuron.health.verdict.before"), "healthy");
    assert_string_equal(text_of(record, "neuron.health.action"), "reboot_instance");
    assert_string_equal(text_of(record, "hw.state"), "failed");
    const Ntk__Otlp__Resource *resource = request->resource_logs[0]->resource;
    assert_string_equal(
        value_of(resource->attributes, resource->n_attributes, "service.instance.id")->text, "i-1");
    assert_string_equal(request->resource_logs[0]->scope_logs[0]->scope->name, "neuron-monitor");
    ntk__otlp__logs_request__free_unpacked(request, NULL);
    assert_null(encode(&health, ill, 0)); /* a state is not a change */
    ntk_snapshot_destroy(well);
    ntk_snapshot_destroy(ill);
}

static void a_cleared_reason_and_a_recovery_have_different_log_records(void **state)
{
    struct ntk_otlp_health health = { 0 };
    struct ntk_snapshot *ill = test_sample_snapshot(1);
    struct ntk_snapshot *better = test_sample_snapshot(1);
    struct ntk_snapshot *well = healthy();

    (void)state;
    ntk__otlp__logs_request__free_unpacked(encode(&health, ill, 3), NULL);
    better->devices[0].health_count = 1;
    Ntk__Otlp__LogsRequest *request = encode(&health, better, 1);
    const Ntk__Otlp__LogRecord *record = record_at(request, 0);
    assert_string_equal(record->event_name, "neuron.device.health.reason.ended");
    assert_string_equal(record->body->text, "device 0: hardware_error has ended");
    assert_int_equal(record->severity_number, NTK__OTLP__SEVERITY__INFO);
    assert_int_equal(record->time_unix_nano, NOW);
    ntk__otlp__logs_request__free_unpacked(request, NULL);
    request = encode(&health, well, 2);
    record = record_at(request, 1);
    assert_string_equal(record->event_name, "neuron.device.health.verdict");
    assert_string_equal(record->severity_text, "INFO");
    assert_string_equal(text_of(record, "hw.state"), "ok");
    assert_string_equal(text_of(record, "neuron.health.verdict.before"), "unhealthy");
    ntk__otlp__logs_request__free_unpacked(request, NULL);
    ntk_snapshot_destroy(ill);
    ntk_snapshot_destroy(better);
    ntk_snapshot_destroy(well);
}

static void records_of_an_initially_unhealthy_device_lack_an_earlier_verdict(void **state)
{
    struct ntk_otlp_health health = { 0 };
    struct ntk_snapshot *unknown = healthy();

    (void)state;
    unknown->devices[0].verdict = NTK_HEALTH_UNKNOWN;
    unknown->devices[0].verdict_since_ns = 0;
    Ntk__Otlp__LogsRequest *request = encode(&health, unknown, 1);
    const Ntk__Otlp__LogRecord *record = record_at(request, 0);
    assert_int_equal(record->severity_number, NTK__OTLP__SEVERITY__WARN);
    assert_int_equal(record->time_unix_nano, NOW); /* since when is unknown */
    assert_string_equal(text_of(record, "neuron.health.verdict.before"), "(none)");
    assert_string_equal(text_of(record, "hw.state"), "(none)");
    ntk__otlp__logs_request__free_unpacked(request, NULL);
    ntk_snapshot_destroy(unknown);
}

/* A report without the group of devices does not mention them. */
static void a_snapshot_without_device_health_yields_no_log_records(void **state)
{
    struct ntk_otlp_health health = { 0 };
    struct ntk_snapshot *ill = test_sample_snapshot(1);
    struct ntk_snapshot *silent = test_sample_snapshot(1);
    struct ntk_snapshot *none = test_idle_snapshot();

    (void)state;
    ntk__otlp__logs_request__free_unpacked(encode(&health, ill, 3), NULL);
    silent->devices[0].has &= ~(uint32_t)NTK_DEVICE_HAS_HEALTH;
    assert_null(encode(&health, silent, 0));
    assert_null(encode(&health, none, 0));
    assert_null(encode(&health, ill, 0));
    ntk_snapshot_destroy(ill);
    ntk_snapshot_destroy(silent);
    ntk_snapshot_destroy(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_device_has_no_log_record_until_a_change),
        cmocka_unit_test(a_cleared_reason_and_a_recovery_have_different_log_records),
        cmocka_unit_test(records_of_an_initially_unhealthy_device_lack_an_earlier_verdict),
        cmocka_unit_test(a_snapshot_without_device_health_yields_no_log_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
