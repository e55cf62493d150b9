/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/libnrt/trace_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

void trace_init(void)
{
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

void trace_run(struct loaded *loaded)
{
    assert_int_equal(nrt_execute(loaded->model, loaded->inputs, loaded->outputs), NRT_SUCCESS);
}

json_t *trace_fetch(const nrt_sys_trace_fetch_options_t *options)
{
    char *buffer = NULL;
    size_t bytes = 0;
    json_error_t error;

    assert_int_equal(nrt_sys_trace_fetch_events(&buffer, &bytes, options), NRT_SUCCESS);
    assert_int_equal(strlen(buffer), bytes);
    json_t *root = json_loadb(buffer, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        fail_msg("no JSON: %s", error.text);
    }
    nrt_sys_trace_buffer_free(buffer);
    assert_int_equal(json_integer_value(json_object_get(root, "data_version")), 2);
    assert_true(json_is_array(json_object_get(root, "events")));
    return root;
}

json_t *trace_fetch_core(uint64_t nc, uint64_t count)
{
    nrt_sys_trace_fetch_options_t *options = NULL;

    assert_int_equal(nrt_sys_trace_fetch_options_allocate(&options), NRT_SUCCESS);
    nrt_sys_trace_fetch_options_set_nc_idx(options, nc);
    nrt_sys_trace_fetch_options_set_max_events_per_nc(options, count);
    json_t *root = trace_fetch(options);
    nrt_sys_trace_fetch_options_free(options);
    return root;
}

json_int_t event_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value)) {
        fail_msg("no number %s", key);
    }
    return json_integer_value(value);
}

const char *event_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_string(value)) {
        fail_msg("no text %s", key);
    }
    return json_string_value(value);
}

size_t events_count(const json_t *root, const char *type, const char *phase)
{
    size_t count = 0;
    size_t i;
    json_t *event;

    json_array_foreach(json_object_get(root, "events"), i, event)
    {
        if ((!type || strcmp(event_text(event, "event_type"), type) == 0) &&
            (!phase || strcmp(event_text(event, "phase"), phase) == 0)) {
            count++;
        }
    }
    return count;
}

const json_t *events_find(const json_t *root, const char *type, const char *phase, size_t which)
{
    size_t i;
    json_t *event;

    json_array_foreach(json_object_get(root, "events"), i, event)
    {
        if (strcmp(event_text(event, "event_type"), type) == 0 &&
            strcmp(event_text(event, "phase"), phase) == 0 && which-- == 0) {
            return event;
        }
    }
    fail_msg("no %s %s", type, phase);
    return NULL;
}

size_t events_check_pairs(const json_t *root)
{
    json_t *open = json_object();
    size_t pairs = 0;
    size_t i;
    json_t *event;

    json_array_foreach(json_object_get(root, "events"), i, event)
    {
        char id[32];
        const char *phase = event_text(event, "phase");

        (void)snprintf(id, sizeof id, "%lld", (long long)event_number(event, "tracking_id"));
        json_t *before = json_object_get(open, id);
        if (strcmp(phase, "stop") == 0) {
            assert_non_null(before);
            assert_string_equal(event_text(before, "phase"), "start");
            assert_string_equal(event_text(before, "event_type"), event_text(event, "event_type"));
            assert_int_equal(event_number(before, "nc_idx"), event_number(event, "nc_idx"));
            assert_true(event_number(before, "timestamp_ns") <=
                        event_number(event, "timestamp_ns"));
            pairs++;
        } else {
            assert_null(before);
        }
        json_object_set(open, id, event);
    }
    assert_int_equal(events_count(root, NULL, "start"), pairs);
    json_decref(open);
    return pairs;
}
