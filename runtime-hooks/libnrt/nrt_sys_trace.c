/* SPDX-License-Identifier: MIT */
/*
 * nrt_sys_trace - the system trace for clients in the process: configuration, start, fetch as JSON,
 * stop; and the older trace of all cores to one file.
 */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_inspect.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_trace_types.h"

#define FETCH_BATCH 1024U

struct nrt_sys_trace_config {
    uint64_t events_per_nc;
    uint64_t types;
    bool core_enabled[NRT_TRACE_CORES];
};

struct nrt_sys_trace_fetch_options {
    uint64_t events_per_nc; /* 0 for all events */
    uint64_t nc;            /* UINT64_MAX for all cores */
};

/* Serialises start, fetch and stop. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nrt_sys_trace_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
}

void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options)
{
    if (options) {
        options->events_per_nc = NRT_TRACE_EVENTS_PER_NC;
        options->types = nrt_trace_types_all();
        memset(options->core_enabled, true, sizeof options->core_enabled);
    }
}

NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options)
{
    if (!options) {
        return NRT_INVALID;
    }
    nrt_sys_trace_config_t *made = calloc(1, sizeof *made);
    if (!made) {
        return NRT_RESOURCE;
    }
    nrt_sys_trace_config_set_defaults(made);
    *options = made;
    return NRT_SUCCESS;
}

void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options)
{
    free(options);
}

void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
                                                uint64_t max_events_per_nc)
{
    if (options) {
        options->events_per_nc = max_events_per_nc;
    }
}

void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
                                                     uint32_t nc_idx, bool enabled)
{
    if (options && nc_idx < NRT_TRACE_CORES) {
        options->core_enabled[nc_idx] = enabled;
    }
}

NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
                                                                   const char *event_type,
                                                                   bool enabled)
{
    if (!options || !event_type || !nrt_trace_types_set(&options->types, event_type, enabled)) {
        return NRT_INVALID;
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count)
{
    if (!event_types || !count) {
        return NRT_INVALID;
    }
    return nrt_trace_types_list(nrt_trace_types_all(), event_types, count);
}

NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
                                                        const char ***event_types, size_t *count)
{
    if (!options || !event_types || !count) {
        return NRT_INVALID;
    }
    return nrt_trace_types_list(options->types, event_types, count);
}

void nrt_sys_trace_free_event_types(const char **event_types, size_t count)
{
    nrt_trace_names_free(event_types, count);
}

NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options)
{
    nrt_sys_trace_config_t config;
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    nrt_sys_trace_config_set_defaults(&config);
    if (options) {
        config = *options;
    }
    struct ntk_core_trace_options trace = {
        .core_count = ntk_core_count(nrt_front_core_get()),
        .core_enabled = config.core_enabled,
        .kinds = nrt_trace_types_kinds(config.types),
        .events_per_core = config.events_per_nc,
    };
    pthread_mutex_lock(&lock);
    int ret = ntk_core_trace_start(NTK_CORE_TRACE_API, &trace, &err);
    pthread_mutex_unlock(&lock);
    if (ret < 0) {
        (void)nrt_front_fail("nrt_sys_trace_start", ret, &err);
        status = ret == -ENOMEM ? NRT_RESOURCE : NRT_INVALID;
    }
    return status;
}

NRT_STATUS nrt_sys_trace_stop(void)
{
    NRT_FRONT_SCOPE;
    pthread_mutex_lock(&lock);
    if (ntk_core_trace_stop(NTK_CORE_TRACE_API) < 0) {
        nrt_log_error("nrt_sys_trace_stop", "no system trace is in progress (NRT_INVALID)");
        status = NRT_INVALID;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options)
{
    if (!options) {
        return NRT_INVALID;
    }
    nrt_sys_trace_fetch_options_t *made = calloc(1, sizeof *made);
    if (!made) {
        return NRT_RESOURCE;
    }
    nrt_sys_trace_fetch_options_set_defaults(made);
    *options = made;
    return NRT_SUCCESS;
}

void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options)
{
    if (options) {
        *options = (nrt_sys_trace_fetch_options_t){ .nc = UINT64_MAX };
    }
}

void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options)
{
    free(options);
}

void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
                                                       uint64_t max_events_per_nc)
{
    if (options) {
        options->events_per_nc = max_events_per_nc;
    }
}

void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options, uint64_t nc_idx)
{
    if (options) {
        options->nc = nc_idx;
    }
}

/* Writes the current events of a core, at most `count`, so that a core that still records cannot
 * block the fetch. */
static void core_write(struct ntk_json *json, uint32_t nc, uint64_t count)
{
    static struct ntk_ntrace_event batch[FETCH_BATCH]; /* protected by the lock */
    uint32_t worker = ntk_core_global(nrt_front_core_get(), nc);

    while (count > 0) {
        size_t wanted = count < FETCH_BATCH ? (size_t)count : FETCH_BATCH;
        size_t taken = ntk_core_trace_take(NTK_CORE_TRACE_API, nc, batch, wanted, NULL);

        for (size_t i = 0; i < taken; i++) {
            nrt_trace_event_write(json, &batch[i], nc, worker);
        }
        count -= taken;
        if (taken < wanted) {
            break;
        }
    }
}

/* Writes the events. Called between enter and leave, with the lock held and the trace on. */
static void events_write(struct ntk_json *json, const nrt_sys_trace_fetch_options_t *options)
{
    uint32_t core_count = ntk_core_trace_core_count(NTK_CORE_TRACE_API);
    uint64_t count =
        options->events_per_nc > 0 ? options->events_per_nc : NTK_CORE_TRACE_EVENTS_MAX;

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "data_version", 2);
    ntk_json_key_array_begin(json, "events");
    for (uint32_t nc = 0; nc < core_count; nc++) {
        if (options->nc == UINT64_MAX || options->nc == nc) {
            core_write(json, nc, count);
        }
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
                                      const nrt_sys_trace_fetch_options_t *options)
{
    static const nrt_sys_trace_fetch_options_t everything = { .nc = UINT64_MAX };
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    NRT_FRONT_SCOPE;

    options = options ? options : &everything;
    pthread_mutex_lock(&lock);
    uint32_t core_count = ntk_core_trace_core_count(NTK_CORE_TRACE_API);
    if (!buffer || !written_size || core_count == 0 ||
        (options->nc != UINT64_MAX && options->nc >= core_count)) {
        nrt_log_error("nrt_sys_trace_fetch_events",
                      "no system trace in progress, unknown core, or no output (NRT_INVALID)");
        status = NRT_INVALID;
    } else {
        ntk_json_init(&json, &buf, false);
        events_write(&json, options);
        ntk_buf_add_char(&buf, '\0');
        size_t bytes = 0;
        char *text = ntk_buf_take(&buf, &bytes);
        if (text) {
            *buffer = text;
            *written_size = bytes - 1;
        } else {
            status = NRT_RESOURCE;
        }
    }
    pthread_mutex_unlock(&lock);
    ntk_buf_fini(&buf);
    return status;
}

void nrt_sys_trace_buffer_free(char *buffer)
{
    free(buffer);
}

/* --- the older trace -------------------------------------------------------------------------- */

NRT_STATUS nrt_trace_start(bool trace_mem)
{
    uint64_t memory =
        (UINT64_C(1) << NTK_CORE_TRACE_MEMORY_ALLOC) | (UINT64_C(1) << NTK_CORE_TRACE_MEMORY_FREE);
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    struct ntk_core_trace_options trace = {
        .core_count = ntk_core_count(nrt_front_core_get()),
        .kinds = nrt_trace_types_kinds(nrt_trace_types_all()) & ~(trace_mem ? 0 : memory),
        .events_per_core = NRT_TRACE_EVENTS_PER_NC,
    };
    int ret = ntk_core_trace_start(NTK_CORE_TRACE_WHOLE, &trace, &err);
    if (ret < 0) {
        (void)nrt_front_fail("nrt_trace_start", ret, &err);
        status = ret == -ENOMEM ? NRT_RESOURCE : NRT_INVALID;
    }
    nrt_front_leave();
    return status;
}

NRT_STATUS nrt_trace_stop(const char *filename)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    pthread_mutex_lock(&lock);
    if (!filename || !*filename || ntk_core_trace_core_count(NTK_CORE_TRACE_WHOLE) == 0) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_trace_save(nrt_front_core_get(), NTK_CORE_TRACE_WHOLE,
                                      nrt_trace_kind_names(), filename, &err);
        if (ret < 0) {
            (void)nrt_front_fail("nrt_trace_stop", ret, &err);
            status = NRT_FAILURE;
        } else if (ret > 0) { /* a shorter but readable trace */
            nrt_log_error("nrt_trace_stop", "%s", err.text);
            status = NRT_RESOURCE;
        }
        (void)ntk_core_trace_stop(NTK_CORE_TRACE_WHOLE);
    }
    pthread_mutex_unlock(&lock);
    return status;
}
