/* SPDX-License-Identifier: MIT */
/*
 * queue_names - the DMA queues of all cores of a trace, numbered: one for each name on each core,
 * and one for each kind of ring without a name.
 *
 * Owner:   caller's storage; _fini frees. Names are the capture's. Threads: immutable after _init.
 */
#ifndef NTK_PROFILER_ANALYSIS_QUEUE_NAMES_H
#define NTK_PROFILER_ANALYSIS_QUEUE_NAMES_H

#include "profiler/trace/trace.h"

struct ntk_queue_name {
    size_t core;       /* index in the trace */
    const char *name;  /* as in the file; NULL: a ring without a name */
    uint8_t dma_class; /* of those without a name */
};

struct ntk_queue_names_core;

struct ntk_queue_names {
    size_t count;
    struct ntk_queue_name *items;
    struct ntk_queue_names_core *cores;
};

/* 0 or -ENOMEM. */
int ntk_queue_names_init(struct ntk_queue_names *names, const struct ntk_trace *trace);
void ntk_queue_names_fini(struct ntk_queue_names *names);
/* A ring's name, as in the file; NULL: no name. Of several entries in the file the last one
 * counts. */
const char *ntk_queue_name_get(const struct ntk_ntff_subgraph *subgraph, unsigned engine,
                               unsigned queue);
/* Name as in every output: "qSyncIO0", "(instruction)" for those without a name. Returns buf. */
const char *ntk_queue_name_show(const char *name, unsigned dma_class, char *buf, size_t buf_bytes);
/* Index in items; core is that of the trace. */
size_t ntk_queue_names_find(const struct ntk_queue_names *names, size_t core,
                            const struct ntk_trace_packet *packet);

#endif
