/* SPDX-License-Identifier: MIT */
/*
 * nrt_profile - recording what a model does on its core.
 */
#ifndef NRT_NRT_PROFILE_H
#define NRT_NRT_PROFILE_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on executions of the model are recorded; the file is emptied at once. */
NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename);
/* The same name as at the start; writes the NTFF. */
NRT_STATUS nrt_profile_stop(const char *filename);

/* --- inspection: system trace, device profiles and the host, into a folder of its own ------------- */

/* <output folder>/<instance>_pid_<pid>/<time> holds the files of one inspection (docs/formats/ntrace.md). */
typedef struct nrt_inspect_config nrt_inspect_config_t;

/* What the NEURON_RT_INSPECT_* variables say. NRT_INVALID while an inspection is on. */
NRT_STATUS nrt_inspect_begin(void);
/* What options say, the variables do not matter; NULL: the defaults. */
NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options);
/* Writes the files. NRT_INVALID when none is on. */
NRT_STATUS nrt_inspect_stop(void);

NRT_STATUS nrt_inspect_config_allocate(nrt_inspect_config_t **options);
NRT_STATUS nrt_inspect_config_free(nrt_inspect_config_t *options);
/* Session 1, folder "./output", all activities, cores and events, 1,000,000 events per core. */
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
/* Kept, without effect: begin is what turns an inspection on. */
NRT_STATUS nrt_inspect_config_set_enable_inspect(nrt_inspect_config_t *options,
                                                 bool enable_inspect);
/* "system_profile", "device_profile", "host_memory", "cpu_util" or "all". */
NRT_STATUS nrt_inspect_config_set_activity(nrt_inspect_config_t *options, const char *activity_type,
                                           bool enabled);
/* Freed by the last of the three. */
NRT_STATUS nrt_inspect_config_get_all_activity_types(const char ***activity_types, size_t *count);
NRT_STATUS nrt_inspect_config_get_enabled_activity_types(nrt_inspect_config_t *options,
                                                         const char ***activity_types,
                                                         size_t *count);
void nrt_inspect_config_free_activity_types(const char **activity_types, size_t count);
/* The folder of this process below output_dir. NRT_INVALID when it does not fit into buf. */
NRT_STATUS nrt_inspect_get_instance_output_dir(const char *output_dir, char *buf, size_t buf_size);

#ifdef __cplusplus
}
#endif
#endif
