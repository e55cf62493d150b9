/* SPDX-License-Identifier: MIT */
/*
 * queue_names - numbers the DMA queues of all cores in a trace: one for each name on each core, and
 * one for each kind of ring without a name.
 *
 * Owner:   the caller provides the storage; _fini frees the content. Names are borrowed from the
 *          capture.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_QUEUE_NAMES_H
#define NTK_PROFILER_ANALYSIS_QUEUE_NAMES_H

#include "profiler/trace/trace.h"

struct ntk_queue_name {
    size_t core;       /* index in the trace */
    const char *name;  /* name in the file; NULL for a ring without a name */
    uint8_t dma_class; /* class of rings without a name */
};

struct ntk_queue_names_core;

struct ntk_queue_names {
    size_t count;
    struct ntk_queue_name *items;
    struct ntk_queue_names_core *cores;
};

/* Returns 0 or -ENOMEM. */
int ntk_queue_names_init(struct ntk_queue_names *names, const struct ntk_trace *trace);
void ntk_queue_names_fini(struct ntk_queue_names *names);
/* Returns the name of a ring in the file; NULL if it has none. If there are several entries in the
 * file, the last one counts. */
const char *ntk_queue_name_get(const struct ntk_ntff_subgraph *subgraph, unsigned engine,
                               unsigned queue);
/* Writes the name as in all outputs, such as "qSyncIO0"; "(instruction)" for rings without a name.
 * Returns buf. */
const char *ntk_queue_name_show(const char *name, unsigned dma_class, char *buf, size_t buf_bytes);
/* Returns the index in items; core is the index in the trace. */
size_t ntk_queue_names_find(const struct ntk_queue_names *names, size_t core,
                            const struct ntk_trace_packet *packet);

#endif
