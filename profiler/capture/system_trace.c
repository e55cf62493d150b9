/* SPDX-License-Identifier: MIT */
/* system_trace - records host activity during a session as JSON. */
#include <errno.h>
#include <string.h>

#include "profiler/capture/session_private.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"

static int trace_types_set(struct ntk_session *s, nrt_sys_trace_config_t *config,
                           const char *const *types, struct ntk_err *err)
{
    bool is_first = true;

    for (; *types; types++) {
        bool is_removed = **types == '^';
        const char *word = *types + is_removed;
        NRT_STATUS status = NRT_SUCCESS;

        /* The first included word replaces "all". */
        if (is_first && !is_removed) {
            s->nrt.nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "hardware",
                                                                           false);
            s->nrt.nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "software",
                                                                           false);
        }
        is_first = false;
        status = s->nrt.nrt_sys_trace_config_set_capture_enabled_for_event_type(config, word,
                                                                                !is_removed);
        if (status != NRT_SUCCESS) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "unknown event type '%s'; --systrace-get-event-types lists them",
                               word);
        }
    }
    return 0;
}

int ntk_session_trace_start(struct ntk_session *session, const char *const *types,
                            struct ntk_err *err)
{
    nrt_sys_trace_config_t *config = NULL;

    if (!session->nrt.nrt_sys_trace_config_allocate || !session->nrt.nrt_sys_trace_start ||
        !session->nrt.nrt_sys_trace_fetch_events || !session->nrt.nrt_sys_trace_buffer_free ||
        !session->nrt.nrt_sys_trace_config_set_capture_enabled_for_event_type) {
        return ntk_nrt_lacks(err, "nrt_sys_trace_start");
    }
    NRT_STATUS status = session->nrt.nrt_sys_trace_config_allocate(&config);
    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(&session->nrt, err, status, "nrt_sys_trace_config_allocate");
    }
    int ret = trace_types_set(session, config, types, err);
    if (ret == 0) {
        status = session->nrt.nrt_sys_trace_start(config);
        ret = status == NRT_SUCCESS
                  ? 0
                  : ntk_nrt_fail(&session->nrt, err, status, "nrt_sys_trace_start");
    }
    session->nrt.nrt_sys_trace_config_free(config);
    return ret;
}

int ntk_session_trace_stop(struct ntk_session *session, const char *path, struct ntk_err *err)
{
    char *json = NULL;
    size_t bytes = 0;
    NRT_STATUS status = session->nrt.nrt_sys_trace_fetch_events(&json, &bytes, NULL);

    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(&session->nrt, err, status, "nrt_sys_trace_fetch_events");
    }
    /* Use the length of the text, independent of the number that the runtime reports. */
    int ret = ntk_fs_write(path, json, strlen(json), err);
    session->nrt.nrt_sys_trace_buffer_free(json);
    session->nrt.nrt_sys_trace_stop();
    return ret;
}

int ntk_session_trace_types(struct ntk_buf *out, struct ntk_err *err)
{
    struct ntk_nrt nrt;
    const char **types = NULL;
    size_t count = 0;
    int ret = ntk_nrt_open(&nrt, err);

    if (ret < 0) {
        return ret;
    }
    if (!nrt.nrt_sys_trace_get_event_types || !nrt.nrt_sys_trace_free_event_types) {
        return ntk_nrt_lacks(err, "nrt_sys_trace_get_event_types");
    }
    NRT_STATUS status = nrt.nrt_sys_trace_get_event_types(&types, &count);
    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(&nrt, err, status, "nrt_sys_trace_get_event_types");
    }
    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_format(out, "%s\n", types[i]);
    }
    nrt.nrt_sys_trace_free_event_types(types, count);
    return 0;
}
