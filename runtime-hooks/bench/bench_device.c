/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/bench/bench_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "shared/base/order.h"

int bench_device_start(const struct ntk_nrt *nrt, uint64_t executions_max, struct ntk_err *err)
{
    nrt_sys_trace_config_t *config = NULL;

    if (!nrt->nrt_sys_trace_config_allocate || !nrt->nrt_sys_trace_config_free ||
        !nrt->nrt_sys_trace_config_set_capture_enabled_for_event_type ||
        !nrt->nrt_sys_trace_config_set_max_events_per_nc || !nrt->nrt_sys_trace_start ||
        !nrt->nrt_sys_trace_stop || !nrt->nrt_sys_trace_fetch_events ||
        !nrt->nrt_sys_trace_buffer_free) {
        return ntk_nrt_lacks(err, "nrt_sys_trace_start");
    }
    NRT_STATUS status = nrt->nrt_sys_trace_config_allocate(&config);
    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(nrt, err, status, "nrt_sys_trace_config_allocate");
    }
    static const struct {
        const char *type;
        bool is_enabled;
    } types[] = { { "hardware", false }, { "software", false }, { "nc_exec_running", true } };
    for (size_t i = 0; i < sizeof types / sizeof *types && status == NRT_SUCCESS; i++) {
        status = nrt->nrt_sys_trace_config_set_capture_enabled_for_event_type(config, types[i].type,
                                                                              types[i].is_enabled);
    }
    if (status == NRT_SUCCESS) {
        /* Twice the number, because each execution has a start and a stop. */
        nrt->nrt_sys_trace_config_set_max_events_per_nc(config, 2 * executions_max);
        status = nrt->nrt_sys_trace_start(config);
    }
    nrt->nrt_sys_trace_config_free(config);
    return status == NRT_SUCCESS ? 0 : ntk_nrt_fail(nrt, err, status, "nrt_sys_trace_start");
}

struct started {
    json_int_t tracking_id, ns;
};

NTK_ORDER(compare, struct started, NTK_UP(tracking_id));

/* Reads an event; -ENOENT for other events, or if it was not recorded. */
static int event_get(json_t *event, const char *phase, struct started *out_event, json_int_t *nc)
{
    const char *type = json_string_value(json_object_get(event, "event_type"));
    const char *is = json_string_value(json_object_get(event, "phase"));
    json_t *id = json_object_get(event, "tracking_id");
    json_t *ns = json_object_get(json_object_get(event, "data"), "nc_timestamp_ns");

    if (!type || strcmp(type, "nc_exec_running") != 0 || !is || strcmp(is, phase) != 0 ||
        !json_is_integer(id) || !json_is_integer(ns)) {
        return -ENOENT;
    }
    *out_event = (struct started){ json_integer_value(id), json_integer_value(ns) };
    *nc = json_integer_value(json_object_get(event, "nc_idx"));
    return 0;
}

/* Pairs each stop with the start that has the same tracking id. */
static int times_take(json_t *events, struct ntk_vec *times)
{
    struct started *starts = calloc(json_array_size(events) + 1, sizeof *starts);
    struct started one;
    size_t count = 0;
    json_int_t nc;
    json_t *event;
    size_t i;
    int ret = starts ? 0 : -ENOMEM;

    json_array_foreach(events, i, event)
    {
        count += starts && event_get(event, "start", &starts[count], &nc) == 0;
    }
    if (starts) {
        qsort(starts, count, sizeof *starts, compare);
    }
    json_array_foreach(events, i, event)
    {
        if (ret < 0 || event_get(event, "stop", &one, &nc) < 0) {
            continue;
        }
        const struct started *start = bsearch(&one, starts, count, sizeof *starts, compare);
        if (start && one.ns >= start->ns && nc >= 0) {
            struct bench_device_time time = { (uint32_t)nc, (uint64_t)(one.ns - start->ns) };

            ret = ntk_vec_push(times, &time) < 0 ? -ENOMEM : 0;
        }
    }
    free(starts);
    return ret;
}

int bench_device_stop(const struct ntk_nrt *nrt, struct bench_device *out_device,
                      struct ntk_err *err)
{
    struct bench_device device = { 0 };
    json_error_t at;
    char *text = NULL;
    size_t bytes = 0;
    NRT_STATUS status = nrt->nrt_sys_trace_fetch_events(&text, &bytes, NULL);

    (void)nrt->nrt_sys_trace_stop();
    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(nrt, err, status, "nrt_sys_trace_fetch_events");
    }
    ntk_vec_init(&device.times, sizeof(struct bench_device_time));
    json_t *root = json_loads(text, 0, &at);
    nrt->nrt_sys_trace_buffer_free(text);
    int ret = root ? times_take(json_object_get(root, "events"), &device.times)
                   : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                                 "invalid JSON in the runtime's system trace: %s", at.text);
    json_decref(root);
    if (ret < 0) {
        bench_device_fini(&device);
        return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
    }
    *out_device = device;
    return 0;
}

void bench_device_fini(struct bench_device *device)
{
    ntk_vec_fini(&device->times);
}
