/* SPDX-License-Identifier: MIT */
/* nrt_inspect_config - sets the options of an inspection, by calls or by equivalent variables. */
#include "runtime-hooks/libnrt/nrt_inspect_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"
#include "shared/base/str.h"

static const char *const activity_names[] = { "system_profile", "device_profile", "host_memory",
                                              "cpu_util" };
#define ACTIVITY_COUNT (sizeof activity_names / sizeof *activity_names)
/* --- configuration ---------------------------------------------------------------------------- */

NRT_STATUS nrt_folder_set(char **folder, const char *to)
{
    char *copy;

    if (!to || !*to) {
        return NRT_INVALID;
    }
    copy = strdup(to);
    if (!copy) {
        return NRT_RESOURCE;
    }
    free(*folder);
    *folder = copy;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_init(struct nrt_inspect_config *config)
{
    if (nrt_folder_set(&config->folder, NRT_DEFAULT_FOLDER) != NRT_SUCCESS) {
        return NRT_RESOURCE;
    }
    *config = (struct nrt_inspect_config){ .options = { .session_id = 1,
                                                        .events_per_core = NRT_TRACE_EVENTS_PER_NC,
                                                        .activities = NTK_INSPECT_ALL_ACTIVITIES,
                                                        .device = NTK_INSPECT_BY_MODEL },
                                           .folder = config->folder,
                                           .types = nrt_trace_types_all() };
    memset(config->options.core_enabled, true, sizeof config->options.core_enabled);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options)
{
    if (!options) {
        return NRT_INVALID;
    }
    nrt_inspect_config_t *made = calloc(1, sizeof *made);
    if (!made || nrt_inspect_config_init(made) != NRT_SUCCESS) {
        free(made);
        return NRT_RESOURCE;
    }
    *options = made;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options)
{
    if (!options) {
        return NRT_INVALID;
    }
    free(options->folder);
    free(options);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options)
{
    return options ? nrt_inspect_config_init(options) : NRT_INVALID;
}

NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id)
{
    if (!options || session_id < 0) {
        return NRT_INVALID;
    }
    options->options.session_id = (uint64_t)session_id;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options, const char *output_dir)
{
    return options ? nrt_folder_set(&options->folder, output_dir) : NRT_INVALID;
}

NRT_STATUS
nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *options,
                                                   uint64_t sys_trace_max_events_per_nc)
{
    if (!options || sys_trace_max_events_per_nc == 0 ||
        sys_trace_max_events_per_nc > NTK_CORE_TRACE_EVENTS_MAX) {
        return NRT_INVALID;
    }
    options->options.events_per_core = sys_trace_max_events_per_nc;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
                                                         uint32_t nc_idx, bool enabled)
{
    if (!options || nc_idx >= NTK_INSPECT_CORES) {
        return NRT_INVALID;
    }
    options->options.core_enabled[nc_idx] = enabled;
    return NRT_SUCCESS;
}

NRT_STATUS
nrt_inspect_config_set_capture_enabled_for_event_type_string(nrt_inspect_config_t *options,
                                                             const char *event_type, bool enabled)
{
    if (!options || !event_type || !nrt_trace_types_set(&options->types, event_type, enabled)) {
        return NRT_INVALID;
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options, bool enable_inspect)
{
    if (!options) {
        return NRT_INVALID;
    }
    options->enable_inspect = enable_inspect;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
                                                         bool enable_inspect_on_fail)
{
    if (!options) {
        return NRT_INVALID;
    }
    options->options.on_fail = enable_inspect_on_fail;
    return NRT_SUCCESS;
}

NRT_STATUS
nrt_inspect_config_set_inspect_device_profile_mode(nrt_inspect_config_t *options,
                                                   nrt_inspect_device_profile_mode_t mode)
{
    if (!options || (int)mode < NRT_INSPECT_DEVICE_PROFILE_MODE_OFF ||
        (int)mode > NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION) {
        return NRT_INVALID;
    }
    if (mode == NRT_INSPECT_DEVICE_PROFILE_MODE_OFF) {
        options->options.activities &= ~(uint32_t)NTK_INSPECT_DEVICE_PROFILE;
    } else {
        options->options.activities |= NTK_INSPECT_DEVICE_PROFILE;
        options->options.device = mode == NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION
                                      ? NTK_INSPECT_BY_SESSION
                                      : NTK_INSPECT_BY_MODEL;
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options, const char *activity_type,
                                           bool enabled)
{
    uint32_t named = 0;

    if (!options || !activity_type) {
        return NRT_INVALID;
    }
    for (size_t i = 0; i < ACTIVITY_COUNT; i++) {
        if (strcmp(activity_type, activity_names[i]) == 0 || strcmp(activity_type, "all") == 0) {
            named |= 1U << i;
        }
    }
    options->options.activities =
        enabled ? options->options.activities | named : options->options.activities & ~named;
    return named != 0 ? NRT_SUCCESS : NRT_INVALID;
}

static NRT_STATUS activities_list(uint32_t activities, const char ***names, size_t *count)
{
    const char *known[ACTIVITY_COUNT];
    size_t n = 0;

    if (!names || !count) {
        return NRT_INVALID;
    }
    for (size_t i = 0; i < ACTIVITY_COUNT; i++) {
        if ((activities >> i) & 1) {
            known[n++] = activity_names[i];
        }
    }
    NRT_STATUS status = nrt_trace_names_dup(known, n, names);
    if (status == NRT_SUCCESS) {
        *count = n;
    }
    return status;
}

NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types, size_t *count)
{
    return activities_list(NTK_INSPECT_ALL_ACTIVITIES, activity_types, count);
}

NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
                                                         const char ***activity_types,
                                                         size_t *count)
{
    return options ? activities_list(options->options.activities, activity_types, count)
                   : NRT_INVALID;
}

void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count)
{
    nrt_trace_names_free(activity_types, count);
}

/* --- environment ------------------------------------------------------------------------------ */

/* An invalid value also requests an inspection: nrt_inspect_config_from_environment() reports the
 * error. */
bool nrt_inspect_config_is_wanted(void)
{
    bool is_on = false;
    bool on_fail = false;

    return ntk_env_bool("NEURON_RT_INSPECT_ENABLE", &is_on, NULL) < 0 ||
           ntk_env_bool("NEURON_RT_INSPECT_ON_FAIL", &on_fail, NULL) < 0 || is_on || on_fail;
}

static int environment_bad(const char *name, struct ntk_err *err)
{
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s=%s: invalid value", name,
                       ntk_env_text(name));
}

int nrt_inspect_config_from_environment(struct nrt_inspect_config *config, struct ntk_err *err)
{
    static const struct {
        const char *name;
        bool by_default;
        unsigned activity;
    } switches[] = {
        { "NEURON_RT_INSPECT_SYSTEM_PROFILE", true, NTK_INSPECT_SYSTEM_PROFILE },
        { "NEURON_RT_INSPECT_HOST_MEMORY", false, NTK_INSPECT_HOST_MEMORY },
        { "NEURON_RT_INSPECT_CPU_UTIL", false, NTK_INSPECT_CPU_UTIL },
    };
    static const char cores_name[] = "NEURON_RT_INSPECT_EVENT_FILTER_NC";
    static const char types_name[] = "NEURON_RT_INSPECT_EVENT_FILTER_TYPE";
    static const char events_name[] = "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC";
    static const char device_name[] = "NEURON_RT_INSPECT_DEVICE_PROFILE";
    static const char format_name[] = "NEURON_RT_INSPECT_FORMAT";
    const char *folder = ntk_env_text("NEURON_RT_INSPECT_OUTPUT_DIR");
    const char *cores = ntk_env_text(cores_name);
    const char *types = ntk_env_text(types_name);
    const char *events = ntk_env_text(events_name);
    const char *device = ntk_env_text(device_name);
    const char *format = ntk_env_text(format_name);
    uint32_t numbers[NTK_INSPECT_CORES];
    struct ntk_inspect_options *options = &config->options;
    size_t count = NTK_INSPECT_CORES;
    char word[64];

    if (folder && nrt_inspect_config_set_output_dir(config, folder) != NRT_SUCCESS) {
        return ntk_err_no_memory(err);
    }
    if (cores && strcmp(cores, "all") != 0) {
        if (ntk_str_parse_list(cores, NTK_INSPECT_CORES - 1, numbers, &count) < 0) {
            return environment_bad(cores_name, err);
        }
        memset(options->core_enabled, false, sizeof options->core_enabled);
        for (size_t i = 0; i < count; i++) {
            options->core_enabled[numbers[i]] = true;
        }
    }
    if (types && !nrt_trace_types_parse(types, &config->types, word, sizeof word)) {
        return environment_bad(types_name, err);
    }
    if (events &&
        (ntk_str_parse_u64(events, &options->events_per_core) < 0 ||
         options->events_per_core == 0 || options->events_per_core > NTK_CORE_TRACE_EVENTS_MAX)) {
        return environment_bad(events_name, err);
    }
    bool is_session = device && strcmp(device, "session") == 0;
    if (device && strcmp(device, "0") != 0 && strcmp(device, "1") != 0 &&
        strcmp(device, "model") != 0 && !is_session) {
        return environment_bad(device_name, err);
    }
    if (format && strcmp(format, "own") != 0 && strcmp(format, "vendor") != 0) {
        return environment_bad(format_name, err);
    }
    options->is_vendor = format && strcmp(format, "vendor") == 0;
    options->device = is_session ? NTK_INSPECT_BY_SESSION : NTK_INSPECT_BY_MODEL;
    config->enable_inspect = false;
    options->on_fail = false;
    options->activities = device && strcmp(device, "0") != 0 ? NTK_INSPECT_DEVICE_PROFILE : 0;
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        bool is_on = switches[i].by_default;
        int ret = ntk_env_bool(switches[i].name, &is_on, err);
        if (ret < 0) {
            return ret;
        }
        options->activities |= is_on ? switches[i].activity : 0;
    }
    int ret = ntk_env_bool("NEURON_RT_INSPECT_ENABLE", &config->enable_inspect, err);
    return ret < 0 ? ret : ntk_env_bool("NEURON_RT_INSPECT_ON_FAIL", &options->on_fail, err);
}
