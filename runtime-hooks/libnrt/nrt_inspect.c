/* SPDX-License-Identifier: MIT */
/*
 * nrt_inspect - starts and stops inspections through public calls and the environment.
 */
#include "runtime-hooks/libnrt/nrt_inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/inspect/inspect.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_inspect_config.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"
#include "runtime-hooks/libnrt/nrt_trace_types.h"

/* NRT_INVALID if the folder does not fit. */
NRT_STATUS nrt_inspect_get_instance_output_dir(const char *output_dir, char *buf, size_t buf_size)
{
    return output_dir && buf && buf_size > 0 &&
                   ntk_inspect_instance_folder(output_dir, buf, buf_size) == 0
               ? NRT_SUCCESS
               : NRT_INVALID;
}

static void tell(enum ntk_inspect_step step, int error, const char *sentence)
{
    static const char *const calls[NTK_INSPECT_STEPS] = {
        [NTK_INSPECT_STEP_BEGIN] = "nrt_inspect_begin",
        [NTK_INSPECT_STEP_LOAD] = "nrt_load",
        [NTK_INSPECT_STEP_EXECUTE] = "nrt_execute",
        [NTK_INSPECT_STEP_STOP] = "nrt_inspect_stop",
    };

    nrt_log_write(NRT_LOG_NRT, error < 0 ? NRT_LOG_ERROR : NRT_LOG_WARN, calls[step], "%s",
                  sentence);
}

static int begin(struct ntk_core *core, const struct nrt_inspect_config *config,
                 struct ntk_err *err)
{
    struct ntk_inspect_options options = config->options;

    options.folder = config->folder;
    options.records = config->enable_inspect || !options.on_fail;
    options.trace_kinds = nrt_trace_types_kinds(config->types);
    options.kind_names = nrt_trace_kind_names();
    options.runtime_version = NRT_FRONT_RUNTIME_VERSION;
    options.tell = tell;
    int ret =
        ntk_inspect_has_recordings(&options) ? nrt_env_profile_bounds_get(&options.bounds, err) : 0;
    return ret < 0 ? ret : ntk_inspect_begin(core, &options, err);
}

/* If options is NULL, by_environment selects the defaults. */
static NRT_STATUS begin_public(const nrt_inspect_config_t *options, bool by_environment)
{
    struct nrt_inspect_config defaults = { 0 };
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    int ret = nrt_inspect_config_init(&defaults) == NRT_SUCCESS ? 0 : -ENOMEM;
    if (ret == 0 && by_environment) {
        ret = nrt_inspect_config_from_environment(&defaults, &err);
    }
    if (ret == 0) {
        ret = begin(nrt_front_core_get(), options ? options : &defaults, &err);
    }
    free(defaults.folder);
    if (ret < 0) {
        status = nrt_front_fail("nrt_inspect_begin", ret, &err);
    }
    return status;
}

NRT_STATUS nrt_inspect_begin(void)
{
    return begin_public(NULL, true);
}

NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options)
{
    return begin_public(options, false);
}

NRT_STATUS nrt_inspect_stop(void)
{
    NRT_FRONT_SCOPE;
    int ret = ntk_inspect_stop(nrt_front_core_get());
    if (ret == -ENOENT) {
        nrt_log_error("nrt_inspect_stop", "no inspection is in progress (NRT_INVALID)");
        status = NRT_INVALID;
    } else if (ret < 0) {
        status = NRT_FAILURE;
    }
    return status;
}

void nrt_inspect_opened(struct ntk_core *core)
{
    struct nrt_inspect_config config = { 0 };
    struct ntk_err err = { 0 };

    if (!nrt_inspect_config_is_wanted()) {
        return;
    }
    int ret = nrt_inspect_config_init(&config) == NRT_SUCCESS
                  ? nrt_inspect_config_from_environment(&config, &err)
                  : -ENOMEM;
    if (ret == 0) {
        ret = begin(core, &config, &err);
    }
    if (ret < 0) { /* the job continues without it */
        (void)nrt_front_fail("nrt_inspect_begin", ret, &err);
    }
    free(config.folder);
}
