/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_env.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "runtime-hooks/core/core_debug.h"
#include "runtime-hooks/env/env.h"
#include "runtime-hooks/env/env_soft.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"

#define CORES_MAX 1024U
#define DEFAULT_TIMEOUT_S 600U
#define DEFAULT_TIMEOUT_GENERATION_1_S 30U
#define DEFAULT_MEMLOG_ENTRIES 1048576U
#define DEFAULT_DEBUG_EVENTS 65536U
#define DEFAULT_PAGE_MB 512U
#define PAGE_MB_LIMIT 4096U
#define DEFAULT_COMPUTE_DEPTH 8U
#define COMPUTE_DEPTH_MAX 4096U
#define IMPLICIT_DEPTH_MAX 63U
#define PROFILE_MB_MAX 65536U

static int lnc_get(const struct ntk_core_machine *machine, uint32_t *out_lnc, struct ntk_err *err)
{
    static const char *const names[] = { "NEURON_RT_VIRTUAL_CORE_SIZE",
                                         "NEURON_LOGICAL_NC_CONFIG" };

    *out_lnc = machine->default_lnc;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t value = 0;

        if (!ntk_env_text(names[i])) {
            continue;
        }
        int ret = ntk_env_u64(names[i], &value, err);
        if (ret < 0) {
            return ret;
        }
        if (value < 1 || value > machine->largest_lnc) {
            return ntk_err_set(
                err, -EINVAL, NTK_ERR_NO_OFFSET, "%s=%llu: %s has logical cores with 1%s", names[i],
                (unsigned long long)value, machine->instance,
                machine->largest_lnc > 1 ? " or 2 physical cores" : " physical core");
        }
        *out_lnc = (uint32_t)value;
        return 0;
    }
    return 0;
}

/* Parses cores such as "0-3,4", which must be contiguous and ascending. */
static int visible_cores_get(const char *text, struct ntk_core_options *options,
                             struct ntk_err *err)
{
    uint32_t cores[CORES_MAX];
    size_t count = CORES_MAX;

    if (ntk_str_parse_list(text, CORES_MAX - 1, cores, &count) < 0 || count == 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "NEURON_RT_VISIBLE_CORES=%s: expected cores such as 0-3", text);
    }
    for (size_t i = 1; i < count; i++) {
        if (cores[i] != cores[i - 1] + 1) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "NEURON_RT_VISIBLE_CORES=%s: the cores must be contiguous "
                               "(start a process for each range)",
                               text);
        }
    }
    options->exact = true;
    options->first_core = cores[0];
    options->core_count = (uint32_t)count;
    return 0;
}

static int scratchpad_get(struct ntk_core_options *options, struct ntk_err *err)
{
    uint64_t page_mb = DEFAULT_PAGE_MB;

    options->contiguous_scratchpad = true;
    int ret = ntk_env_bool("NEURON_RT_CONTIGUOUS_SCRATCHPAD", &options->contiguous_scratchpad, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_u64("NEURON_SCRATCHPAD_PAGE_SIZE", &page_mb, err);
    if (ret < 0) {
        return ret;
    }
    if (page_mb == 0 || page_mb % DEFAULT_PAGE_MB != 0 || page_mb >= PAGE_MB_LIMIT) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "NEURON_SCRATCHPAD_PAGE_SIZE=%llu: expected a multiple of 512 below 4096",
            (unsigned long long)page_mb);
    }
    options->scratchpad_page_bytes = page_mb << 20;
    return 0;
}

static int shortage_get(struct ntk_core_options *options, struct ntk_err *err)
{
    bool is_reported = true;
    int ret = ntk_env_bool("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", &is_reported, err);

    options->shortage_off = !is_reported;
    options->dump_folder = ntk_env_text("NEURON_RT_OOM_DUMP_DIRECTORY");
    options->dump_name = "nrt";
    return ret;
}

int nrt_env_options_get(const struct ntk_core_machine *machine,
                        struct ntk_core_options *out_options, struct ntk_err *err)
{
    struct ntk_core_options options = { .memlog_entries = DEFAULT_MEMLOG_ENTRIES,
                                        .lnc_name = "NEURON_LOGICAL_NC_CONFIG" };
    const char *visible = ntk_env_text("NEURON_RT_VISIBLE_CORES");
    const char *verbosity = ntk_env_text("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY");
    uint64_t count = 0;
    uint64_t seed = 0;
    int ret = lnc_get(machine, &options.lnc, err);

    if (ret < 0) {
        return ret;
    }
    if (visible) {
        ret = visible_cores_get(visible, &options, err);
    } else {
        ret = ntk_env_u64("NEURON_RT_NUM_CORES", &count, err);
        options.core_count = count > CORES_MAX ? CORES_MAX : (uint32_t)count;
    }
    if (ret < 0) {
        return ret;
    }
    ret = scratchpad_get(&options, err);
    if (ret < 0) {
        return ret;
    }
    /* This is on by default: docs/decisions/execution.md. */
    options.report_numerical_errors =
        !(verbosity && (strcasecmp(verbosity, "none") == 0 || strcasecmp(verbosity, "off") == 0 ||
                        strcmp(verbosity, "0") == 0));
    bool fails_on_nan = false;
    ret = ntk_env_bool("NEURON_FAIL_ON_NAN", &fails_on_nan, err);
    if (ret < 0) {
        return ret;
    }
    options.report_numerical_errors = options.report_numerical_errors || fails_on_nan;
    ret = ntk_env_u64("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", &options.memlog_entries, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_u64("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR", &count, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_soft_options_get(&options, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_u64("NEURON_RT_STOCHASTIC_ROUNDING_SEED", &seed, err);
    if (ret == 0 && seed > UINT32_MAX) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          "NEURON_RT_STOCHASTIC_ROUNDING_SEED=%llu: expected at most %u",
                          (unsigned long long)seed, UINT32_MAX);
    }
    if (ret < 0) {
        return ret;
    }
    options.rounding_seed = (uint32_t)seed;
    ret = shortage_get(&options, err);
    if (ret < 0) {
        return ret;
    }
    bool is_legacy; /* read again where a type is reported */
    ret = ntk_env_bool("NEURON_SOFT_LEGACY_DTYPE", &is_legacy, err);
    if (ret < 0) {
        return ret;
    }
    *out_options = options;
    return 0;
}

int nrt_env_load_options_get(const struct ntk_core_machine *machine,
                             struct ntk_core_load_options *out_options, struct ntk_err *err)
{
    struct ntk_core_load_options options = { .nc = NTK_CORE_ANY };
    uint64_t timeout_s =
        machine->generation == 1 ? DEFAULT_TIMEOUT_GENERATION_1_S : DEFAULT_TIMEOUT_S;
    int ret = ntk_env_u64("NEURON_RT_EXEC_TIMEOUT", &timeout_s, err);

    if (ret < 0) {
        return ret;
    }
    if (timeout_s > UINT64_MAX / NTK_NS_PER_SECOND) {
        timeout_s = UINT64_MAX / NTK_NS_PER_SECOND;
    }
    options.execution_timeout_ns = timeout_s * NTK_NS_PER_SECOND;
    /* A run without a limit in the environment must not wait ten minutes:
     * docs/decisions/execution.md. */
    options.hangs_last = ntk_env_text("NEURON_RT_EXEC_TIMEOUT") != NULL;
    ret = ntk_env_bool("NEURON_RT_VALIDATE_HASH", &options.validate_hash, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_bool("NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS", &options.share_weights, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_bool("NEURON_RT_ALLOW_LEGACY_NEFF", &options.allow_legacy, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_bool("NEURON_RT_STOCHASTIC_ROUNDING_EN", &options.rounds_by_chance, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_env_soft_load_options_get(&options, err);
    if (ret < 0) {
        return ret;
    }
    *out_options = options;
    return 0;
}

int nrt_env_debug_events_get(uint32_t *out_count, struct ntk_err *err)
{
    uint64_t count = DEFAULT_DEBUG_EVENTS;
    int ret = ntk_env_u64("NEURON_RT_DEBUG_STREAM_BUFFER_SIZE", &count, err);

    if (ret < 0) {
        return ret;
    }
    if (count == 0 || count > NTK_CORE_DEBUG_EVENTS_MAX || (count & (count - 1)) != 0) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "NEURON_RT_DEBUG_STREAM_BUFFER_SIZE=%llu: expected a power of two, at most %u",
            (unsigned long long)count, NTK_CORE_DEBUG_EVENTS_MAX);
    }
    *out_count = (uint32_t)count;
    return 0;
}

int nrt_env_profile_bounds_get(struct ntk_core_recorder_bounds *out_bounds, struct ntk_err *err)
{
    const struct {
        const char *name; /* NULL without a variable */
        uint64_t default_mb;
        uint64_t *bytes;
    } bounds[] = {
        { NULL, 128, &out_bounds->instruction_bytes_max },
        { "NEURON_RT_PROFILE_BUF_EVENT_MB", 64, &out_bounds->event_bytes_max },
        { "NEURON_RT_PROFILE_BUF_DMA_MB", 128, &out_bounds->dma_bytes_max },
        { "NEURON_RT_PROFILE_BUF_THROTTLE_MB", 64, &out_bounds->throttle_bytes_max },
    };

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        uint64_t mb = bounds[i].default_mb;
        int ret = bounds[i].name ? ntk_env_u64(bounds[i].name, &mb, err) : 0;

        if (ret < 0) {
            return ret;
        }
        if (mb == 0 || mb > PROFILE_MB_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s=%llu: expected 1 to %u",
                               bounds[i].name, (unsigned long long)mb, PROFILE_MB_MAX);
        }
        *bounds[i].bytes = mb << 20;
    }
    return 0;
}

int nrt_env_async_get(struct nrt_env_async *out_async, struct ntk_err *err)
{
    uint64_t implicit_depth = 0;
    uint64_t compute_depth = DEFAULT_COMPUTE_DEPTH;
    int ret = ntk_env_u64("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", &implicit_depth, err);

    if (ret < 0) {
        return ret;
    }
    if (implicit_depth > IMPLICIT_DEPTH_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=%llu: expected at most %u",
                           (unsigned long long)implicit_depth, IMPLICIT_DEPTH_MAX);
    }
    ret = ntk_env_u64("NEURON_RT_XU_COMPUTE_MAX_QUEUED_REQUESTS", &compute_depth, err);
    if (ret < 0) {
        return ret;
    }
    if (compute_depth == 0 || compute_depth > COMPUTE_DEPTH_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "NEURON_RT_XU_COMPUTE_MAX_QUEUED_REQUESTS=%llu: expected 1 to %u",
                           (unsigned long long)compute_depth, COMPUTE_DEPTH_MAX);
    }
    out_async->implicit_depth = (uint32_t)implicit_depth;
    out_async->compute_depth = (uint32_t)compute_depth;
    return 0;
}

uint64_t nrt_env_dump_status(void)
{
    struct ntk_err err;
    uint64_t status = 0;

    (void)ntk_env_u64("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR", &status, &err);
    return status;
}

bool nrt_env_legacy_dtype(void)
{
    bool is_on = false;

    (void)ntk_env_bool("NEURON_SOFT_LEGACY_DTYPE", &is_on, NULL);
    return is_on;
}
