/* SPDX-License-Identifier: MIT */
/* A snapshot as the condition of a node, as a patch and as an event. */
#include "exporters/kubernetes/node_condition.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)

/* Devices with these verdicts; the unhealthy ones have this reason. */
static void make(struct ntk_node_condition *condition, size_t count, const uint32_t *verdicts,
                 enum ntk_health_reason reason)
{
    struct ntk_device_sample devices[32] = { 0 };
    struct ntk_health_sample health = { .reason = (uint16_t)reason };
    const struct ntk_snapshot snapshot = { .devices = devices, .device_count = count };

    for (size_t i = 0; i < count; i++) {
        devices[i].index = (uint32_t)i;
        devices[i].has = NTK_DEVICE_HAS_HEALTH;
        devices[i].verdict = verdicts[i];
        devices[i].health = verdicts[i] ? &health : NULL;
        devices[i].health_count = verdicts[i] ? 1 : 0;
    }
    ntk_node_condition_make(&snapshot, condition);
}

static void the_node_condition_is_that_of_the_worst_device(void **state)
{
    struct ntk_node_condition condition;

    (void)state;
    make(&condition, 2, (const uint32_t[]){ 0, 0 }, 0);
    assert_string_equal(condition.status, "False");
    assert_string_equal(condition.reason, "NeuronHasNoError");
    make(&condition, 3, (const uint32_t[]){ 0, 2, 2 }, NTK_HEALTH_REASON_LINK_EFA);
    assert_string_equal(condition.status, "True");
    assert_string_equal(condition.reason, "NeuronHasError_LINK_EFA");
    assert_string_equal(
        condition.message,
        "device 1: link_efa: reboot the instance; replace it if the fault comes back; device 2: "
        "link_efa: reboot the instance; replace it if the fault comes back");
    make(&condition, 1, (const uint32_t[]){ 2 }, NTK_HEALTH_REASON_DMA_ABORT);
    assert_string_equal(condition.reason, "NeuronHasError_DMA_ERROR");
    make(&condition, 2, (const uint32_t[]){ 0, 1 }, NTK_HEALTH_REASON_HEARTBEAT_STILL);
    assert_string_equal(condition.status, "Unknown");
    assert_string_equal(condition.reason, "NeuronHealthIsUnknown");
}

/* Method: a device that only a process reports as faulty, then one that the driver reports as
 * well. */
static void a_fault_of_a_process_does_not_set_the_node_condition(void **state)
{
    struct ntk_node_condition condition;
    struct ntk_health_sample health[] = { { .reason = NTK_HEALTH_REASON_EXECUTION_TIMEOUT },
                                          { .reason = NTK_HEALTH_REASON_COLLECTIVES_HANG } };
    struct ntk_device_sample device = { .has = NTK_DEVICE_HAS_HEALTH,
                                        .verdict = NTK_HEALTH_UNHEALTHY,
                                        .health = health,
                                        .health_count = 1 };
    const struct ntk_snapshot snapshot = { .devices = &device, .device_count = 1 };

    ntk_node_condition_make(&snapshot, &condition);
    assert_string_equal(condition.status, "False");
    assert_string_equal(condition.message, "no Neuron errors");
    device.health_count = 2;
    ntk_node_condition_make(&snapshot, &condition);
    assert_string_equal(condition.reason, "NeuronHasError_HANG_ON_COLLECTIVES");
}

static void a_node_without_devices_or_verdicts_is_unknown(void **state)
{
    struct ntk_node_condition condition;
    struct ntk_device_sample device = { .index = 0 };
    const struct ntk_snapshot snapshot = { .devices = &device, .device_count = 1 };

    (void)state;
    make(&condition, 0, NULL, 0);
    assert_string_equal(condition.status, "Unknown");
    assert_string_equal(condition.message, "no Neuron devices");
    ntk_node_condition_make(&snapshot, &condition);
    assert_string_equal(condition.status, "Unknown");
    assert_string_equal(condition.message, "a device has no verdict yet");
}

static void the_message_for_many_devices_is_within_its_length_limit(void **state)
{
    struct ntk_node_condition condition;
    uint32_t verdicts[32];

    (void)state;
    for (size_t i = 0; i < 32; i++) {
        verdicts[i] = NTK_HEALTH_UNHEALTHY;
    }
    make(&condition, 32, verdicts, NTK_HEALTH_REASON_DMA_ABORT);
    assert_true(strlen(condition.message) > 900 && strlen(condition.message) <= 1024);
}

static void a_patch_has_a_transition_time_only_after_a_transition(void **state)
{
    struct ntk_node_condition condition;
    struct ntk_buf body = { 0 };

    (void)state;
    make(&condition, 1, (const uint32_t[]){ 0 }, 0);
    ntk_node_condition_write_patch(&condition, 86400 * SECOND + 7, false, &body);
    assert_string_equal(
        ntk_buf_text_get(&body),
        "{\"status\":{\"conditions\":[{\"type\":\"NeuronHealth\",\"status\":\"False\","
        "\"lastHeartbeatTime\":\"1970-01-02T00:00:00Z\",\"reason\":"
        "\"NeuronHasNoError\",\"message\":\"no Neuron errors\"}]}}");
    ntk_buf_reset(&body);
    ntk_node_condition_write_patch(&condition, 86400 * SECOND, true, &body);
    assert_non_null(
        strstr(ntk_buf_text_get(&body), "\"lastTransitionTime\":\"1970-01-02T00:00:00Z\""));
    ntk_buf_fini(&body);
}

static void the_node_status_is_parsed_from_a_response(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *status;
    } rows[] = {
        { "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},"
          "{\"type\":\"NeuronHealth\",\"status\":\"Unknown\"}]}}",
          "Unknown" },
        { "{\"status\":{\"conditions\":[{\"type\":\"NeuronHealth\",\"status\":\"Maybe\"}]}}",
          NULL },
        { "{\"status\":{\"conditions\":[7,{\"type\":[]},{\"type\":\"NeuronHealth\"}]}}", NULL },
        { "{\"status\":[]}", NULL },
        { "{}", NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *node = json_loads(rows[i].text, 0, NULL);
        const char *status = ntk_node_condition_read_status(node);

        assert_true(rows[i].status ? status && strcmp(status, rows[i].status) == 0 : !status);
        json_decref(node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_node_condition_is_that_of_the_worst_device),
        cmocka_unit_test(a_fault_of_a_process_does_not_set_the_node_condition),
        cmocka_unit_test(a_node_without_devices_or_verdicts_is_unknown),
        cmocka_unit_test(the_message_for_many_devices_is_within_its_length_limit),
        cmocka_unit_test(a_patch_has_a_transition_time_only_after_a_transition),
        cmocka_unit_test(the_node_status_is_parsed_from_a_response),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
