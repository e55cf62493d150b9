/* SPDX-License-Identifier: MIT */
/*
 * nrt_profile - records whole cores: the latest execution, which may be written at any time, and
 * sessions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/inspect/continuous.h"
#include "runtime-hooks/inspect/session.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_front.h"
#include "runtime-hooks/libnrt/nrt_inspect_config.h"
#include "runtime-hooks/libnrt/nrt_log.h"

struct nrt_profile_continuous_options {
    char *folder;
};

/* Converts the result for the public call. */
static NRT_STATUS done(const char *function, int ret, const struct ntk_err *err)
{
    NRT_STATUS status = NRT_SUCCESS;

    if (ret < 0) { /* error of the caller: nothing is recorded there, or a recording exists */
        bool is_invalid = ret == -ENODATA || ret == -ENOENT || ret == -EALREADY;

        status = nrt_front_fail(function, is_invalid ? -EINVAL : ret, err);
    } else if (ret > 0) { /* a shorter but readable capture */
        bool is_bounded = err->code == -ENOBUFS;

        nrt_log_write(NRT_LOG_NRT, is_bounded ? NRT_LOG_WARN : NRT_LOG_ERROR, function, "%s",
                      err->text);
        status = is_bounded ? NRT_SUCCESS : NRT_RESOURCE;
    }
    return status;
}

/* --- continuous ------------------------------------------------------------------------------- */

NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options)
{
    if (!options) {
        return NRT_INVALID;
    }
    nrt_profile_continuous_options_t *made = calloc(1, sizeof *made);
    if (!made || nrt_folder_set(&made->folder, NRT_DEFAULT_FOLDER) != NRT_SUCCESS) {
        free(made);
        return NRT_RESOURCE;
    }
    *options = made;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options)
{
    if (!options) {
        return NRT_INVALID;
    }
    free(options->folder);
    free(options);
    return NRT_SUCCESS;
}

NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                              const char *output_dir)
{
    return options ? nrt_folder_set(&options->folder, output_dir) : NRT_INVALID;
}

static int continuous_start(struct ntk_core *core, struct ntk_err *err)
{
    struct ntk_core_recorder_bounds bounds = { 0 };
    struct nrt_env_async async = { 0 };
    int ret = nrt_env_profile_bounds_get(&bounds, err);

    if (ret == 0) {
        ret = nrt_env_async_get(&async, err);
    }
    if (ret == 0 && async.implicit_depth > 0) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          "continuous profiling does not support queued executions");
    }
    return ret < 0 ? ret : ntk_continuous_start(core, &bounds, err);
}

/* The destination is determined when there is a file. */
NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    (void)options;
    return done("nrt_profile_continuous_start", continuous_start(nrt_front_core_get(), &err), &err);
}

NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options)
{
    const char *folder = options ? options->folder : NRT_DEFAULT_FOLDER;
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    int ret = ntk_continuous_save(nrt_front_core_get(), vnc, folder, &err);
    return done("nrt_profile_continuous_save", ret, &err);
}

NRT_STATUS nrt_profile_continuous_stop(void)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    return done("nrt_profile_continuous_stop", ntk_continuous_stop(nrt_front_core_get(), &err),
                &err);
}

/* --- sessions --------------------------------------------------------------------------------- */

NRT_STATUS nrt_profile_session_start(int32_t vnc)
{
    struct ntk_core_recorder_bounds bounds = { 0 };
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    int ret = nrt_env_profile_bounds_get(&bounds, &err);
    if (ret == 0) { /* a negative number is not a core */
        ret = ntk_session_start(nrt_front_core_get(), (uint32_t)vnc, &bounds, &err);
    }
    return done("nrt_profile_session_start", ret, &err);
}

NRT_STATUS nrt_profile_session_stop(int32_t vnc, uint64_t *session_id)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    int ret = session_id ? ntk_session_stop(nrt_front_core_get(), (uint32_t)vnc, session_id, &err)
                         : ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET,
                                       "missing pointer for the session id");
    return done("nrt_profile_session_stop", ret, &err);
}

NRT_STATUS nrt_profile_session_serialize(uint64_t session_id, const char *filename)
{
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    int ret = filename && *filename
                  ? ntk_session_save(session_id, filename, &err)
                  : ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET, "missing file name");
    return done("nrt_profile_session_serialize", ret, &err);
}

NRT_STATUS nrt_profile_session_drop(uint64_t session_id)
{
    NRT_FRONT_SCOPE;
    if (session_id == 0 || ntk_session_drop(session_id, NTK_CORE_ANY) == 0) {
        status = NRT_INVALID;
    }
    return status;
}

NRT_STATUS nrt_profile_session_drop_all(int32_t vnc)
{
    NRT_FRONT_SCOPE;
    if (vnc >= 0 && (uint32_t)vnc >= ntk_core_count(nrt_front_core_get())) {
        status = NRT_INVALID;
    } else {
        (void)ntk_session_drop(0, vnc < 0 ? NTK_CORE_ANY : (uint32_t)vnc);
    }
    return status;
}
