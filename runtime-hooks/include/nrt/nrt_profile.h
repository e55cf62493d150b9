/* SPDX-License-Identifier: MIT */
/*
 * nrt_profile - records the activity of a model on its core.
 */
#ifndef NRT_NRT_PROFILE_H
#define NRT_NRT_PROFILE_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records executions of the model from now on; the file is truncated immediately. */
NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);
/* Stops the recording and writes the NTFF. filename is the same as at the start. */
NRT_STATUS nrt_profile_stop(const char *filename);

/* --- continuous: the latest execution of every core is kept in memory and written on request -- */

typedef struct nrt_profile_continuous_options nrt_profile_continuous_options_t;

NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options);
NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options);
/* The default is "./output". */
NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                              const char *output_dir);
/* Records all models on all cores. options NULL: the defaults. NRT_INVALID while continuous
 * profiling is on, while an inspection records the device, or while executions are queued
 * (NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS). */
NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options);
/* Writes the latest execution of a core to a file with a name chosen by the library, and continues
 * to record. NRT_INVALID: nothing has run on the core yet. */
NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options);
/* Stops recording without writing a file. */
NRT_STATUS nrt_profile_continuous_stop(void);

/* --- sessions: everything that runs on one core between start and stop, in one capture -------- */

/* NRT_INVALID: unknown core, or it already has a session. */
NRT_STATUS nrt_profile_session_start(int32_t vnc);
/* The library keeps the session until it is dropped. NRT_RESOURCE: too many sessions are kept;
 * this one continues. */
NRT_STATUS nrt_profile_session_stop(int32_t vnc, uint64_t *session_id);
/* May be called repeatedly. NRT_INVALID: the session is unknown, or nothing ran during it. */
NRT_STATUS nrt_profile_session_serialize(uint64_t session_id, const char *filename);
NRT_STATUS nrt_profile_session_drop(uint64_t session_id);
/* Drops the kept sessions of a core; of all cores if negative. Running sessions continue. */
NRT_STATUS nrt_profile_session_drop_all(int32_t vnc);

/* --- inspection: system trace, device profiles and the host, into a separate folder ----------- */

/* <output folder>/<instance>_pid_<pid>/<time> holds the files of one inspection
 * (docs/formats/ntrace.md). */
typedef struct nrt_inspect_config nrt_inspect_config_t;

/* Begins an inspection with the settings in NEURON_RT_INSPECT_*. NRT_INVALID while an inspection is
 * on. */
NRT_STATUS nrt_inspect_begin(void);
/* Options override the environment; NULL: the defaults. */
NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options);
/* Stops the inspection and writes its files. NRT_INVALID if no inspection is on. */
NRT_STATUS nrt_inspect_stop(void);

NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options);
NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options);
/* Sets session 1, folder "./output", all activities, cores and events, and 1,000,000 events per
 * core. */
NRT_STATUS nrt_inspect_config_set_defaults(nrt_inspect_config_t *options);
NRT_STATUS nrt_inspect_config_set_session_id(nrt_inspect_config_t *options, int session_id);
NRT_STATUS nrt_inspect_config_set_output_dir(nrt_inspect_config_t *options, const char *output_dir);
NRT_STATUS nrt_inspect_config_set_sys_trace_max_events_per_nc(nrt_inspect_config_t *options,
                                                              uint64_t sys_trace_max_events_per_nc);
NRT_STATUS nrt_inspect_config_set_capture_enabled_for_nc(nrt_inspect_config_t *options,
                                                         uint32_t nc_idx, bool enabled);
NRT_STATUS
nrt_inspect_config_set_capture_enabled_for_event_type_string(nrt_inspect_config_t *options,
                                                             const char *event_type, bool enabled);
/* Matters only if enable_inspect_on_fail is set: makes begin start an inspection. */
NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
                                                 bool enable_inspect);
/* A failed execution writes its device profile, and the trace up to then. Without enable_inspect
 * nothing is written unless an execution fails. */
NRT_STATUS nrt_inspect_config_set_enable_inspect_on_fail(nrt_inspect_config_t *options,
                                                         bool enable_inspect_on_fail);
/* The vendor's numbers are not public: docs/decisions/captures.md. */
typedef enum nrt_inspect_device_profile_mode {
    NRT_INSPECT_DEVICE_PROFILE_MODE_OFF = 0,
    NRT_INSPECT_DEVICE_PROFILE_MODE_MODEL = 1,   /* the first execution of each NEFF on each core */
    NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION = 2, /* all executions, a file per core */
} nrt_inspect_device_profile_mode_t;
/* Also turns the activity "device_profile" on or off. */
NRT_STATUS
nrt_inspect_config_set_inspect_device_profile_mode(nrt_inspect_config_t *options,
                                                   nrt_inspect_device_profile_mode_t mode);
/* The activity is "system_profile", "device_profile", "host_memory", "cpu_util" or "all". */
NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options, const char *activity_type,
                                           bool enabled);
/* The last of the three calls frees the list. */
NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types, size_t *count);
NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
                                                         const char ***activity_types,
                                                         size_t *count);
void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count);
/* Returns the folder of this process below output_dir. NRT_INVALID if it does not fit in buf. */
NRT_STATUS nrt_inspect_get_instance_output_dir(const char *output_dir, char *buf, size_t buf_size);

#ifdef __cplusplus
}
#endif
#endif
