/* SPDX-License-Identifier: MIT */
/*
 * nrt_sys_trace - records the times of host and NeuronCore activity and returns them as JSON.
 *
 *   nrt_sys_trace_start(NULL);
 *   nrt_execute(...);
 *   nrt_sys_trace_fetch_events(&json, &bytes, NULL);
 *   nrt_sys_trace_buffer_free(json);
 *   nrt_sys_trace_stop();
 *
 * docs/formats/system-trace.md describes the JSON and every event.
 */
#ifndef NRT_NRT_SYS_TRACE_H
#define NRT_NRT_SYS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nrt_sys_trace_config nrt_sys_trace_config_t;
typedef struct nrt_sys_trace_fetch_options nrt_sys_trace_fetch_options_t;

/* Sets the defaults: all cores, all events, 1,000,000 events per core. */
NRT_STATUS nrt_sys_trace_config_allocate(nrt_sys_trace_config_t **options);
void nrt_sys_trace_config_set_defaults(nrt_sys_trace_config_t *options);
void nrt_sys_trace_config_free(nrt_sys_trace_config_t *options);
/* Sets the size of the ring of each core; the oldest events are overwritten. */
void nrt_sys_trace_config_set_max_events_per_nc(nrt_sys_trace_config_t *options,
                                                uint64_t max_events_per_nc);
void nrt_sys_trace_config_set_capture_enabled_for_nc(nrt_sys_trace_config_t *options,
                                                     uint32_t nc_idx, bool enabled);
/* event_type: a name, or "hardware" or "software" for a group. NRT_INVALID: unknown event. */
NRT_STATUS nrt_sys_trace_config_set_capture_enabled_for_event_type(nrt_sys_trace_config_t *options,
                                                                   const char *event_type,
                                                                   bool enabled);
/* Returns the names of all events. Free each string and the array with free(), or all of them with
 * the last call. */
NRT_STATUS nrt_sys_trace_get_event_types(const char ***event_types, size_t *count);
NRT_STATUS nrt_sys_trace_config_get_enabled_event_types(nrt_sys_trace_config_t *options,
                                                        const char ***event_types, size_t *count);
void nrt_sys_trace_free_event_types(const char **event_types, size_t count);

/* NULL: the defaults. NRT_INVALID while a trace is on. */
NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *options);
/* Stops the trace; unfetched events are lost. */
NRT_STATUS nrt_sys_trace_stop(void);

NRT_STATUS nrt_sys_trace_fetch_options_allocate(nrt_sys_trace_fetch_options_t **options);
/* Sets the defaults: all events of all cores. */
void nrt_sys_trace_fetch_options_set_defaults(nrt_sys_trace_fetch_options_t *options);
void nrt_sys_trace_fetch_options_free(nrt_sys_trace_fetch_options_t *options);
/* 0 fetches all events. */
void nrt_sys_trace_fetch_options_set_max_events_per_nc(nrt_sys_trace_fetch_options_t *options,
                                                       uint64_t max_events_per_nc);
/* Fetches only events of this core. */
void nrt_sys_trace_fetch_options_set_nc_idx(nrt_sys_trace_fetch_options_t *options,
                                            uint64_t nc_idx);
/* Returns NUL-terminated JSON; *written_size excludes the NUL. Fetched events are removed from the
 * ring. options NULL: all events. */
NRT_STATUS nrt_sys_trace_fetch_events(char **buffer, size_t *written_size,
                                      const nrt_sys_trace_fetch_options_t *options);
void nrt_sys_trace_buffer_free(char *buffer);

#ifdef __cplusplus
}
#endif
#endif
