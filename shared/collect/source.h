/* SPDX-License-Identifier: MIT */
/*
 * source - the four sources of a collector. Each _open() fills *out_source; its destroy() frees it.
 * options are the collector's and are borrowed for life.
 *
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_COLLECT_SOURCE_H
#define NTK_SHARED_COLLECT_SOURCE_H

#include "shared/collect/aggregate.h"
#include "shared/collect/collect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Segments of observed processes: counters, tables and events. out_note (borrowed from the source)
 * explains why a file was skipped, or which data did not fit into a segment. */
int ntk_source_ring_open(const struct ntk_collector_options *options,
                         struct ntk_collect_source *out_source, const char **out_note,
                         struct ntk_err *err);
/* Reads events from now on, and earlier events that are still in the rings. */
void ntk_source_ring_read_events(struct ntk_collect_source *source,
                                 struct ntk_aggregate *aggregate);
/* Starts counting the latency of known processes now. */
void ntk_source_ring_begin_latency(struct ntk_collect_source *source,
                                   struct ntk_aggregate *aggregate, bool of_cores, bool of_models);
struct ntk_collector_unreadable ntk_source_ring_unreadable(const struct ntk_collect_source *source);
/* See ntk_collector_keep(). */
void ntk_source_ring_keep(struct ntk_collect_source *source, uint64_t sequence);
/* Opens the source of the device tree. */
int ntk_source_device_open(const struct ntk_collector_options *options,
                           struct ntk_collect_source *out_source, struct ntk_err *err);
/* See ntk_collector_hurry(). The argument is the source's state. */
void ntk_source_device_hurry(void *source_device);
/* An ntk_aggregate_has_core; its ctx is the source's state. */
ntk_aggregate_has_core ntk_source_device_has_core;
/* Opens the source of network adapters. */
int ntk_source_adapter_open(const struct ntk_collector_options *options,
                            struct ntk_collect_source *out_source, struct ntk_err *err);
/* Opens the source for /proc: the host, and the processes that the aggregate knows. It must be
 * sampled after the ring source. */
int ntk_source_proc_open(const struct ntk_collector_options *options,
                         struct ntk_collect_source *out_source, struct ntk_err *err);
/* See ntk_collector_read_usage(). */
void ntk_source_proc_read_usage(struct ntk_collect_source *source, struct ntk_aggregate *aggregate,
                                bool wanted);

#ifdef __cplusplus
}
#endif
#endif
