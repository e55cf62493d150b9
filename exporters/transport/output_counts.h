/* SPDX-License-Identifier: MIT */
/*
 * output_counts - the fate of the items that each output of this process was given, for the
 * pages about the process.
 *
 * An output has a source that says how far it is; sources of one name are one output.
 *
 * Owner:   a source is its output's, from add to remove.
 * Threads: any; read() is called on whichever thread asks, and not any more once remove is done.
 */
#ifndef NTK_EXPORTERS_TRANSPORT_OUTPUT_COUNTS_H
#define NTK_EXPORTERS_TRANSPORT_OUTPUT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_OUTPUT_COUNTS_MAX 8 /* names; further ones are not counted */
#define NTK_OUTPUT_NAME_BYTES 64

/* Items are what the output counts: samples, data points, reports. All but the waiting ones only
 * grow. */
struct ntk_output_counts {
    char name[NTK_OUTPUT_NAME_BYTES];
    uint64_t sent_items;
    uint64_t refused_items; /* by the peer, which would refuse them again */
    uint64_t lost_items;    /* beyond the bounds of what may wait */
    bool has_cut;
    uint64_t cut_items;    /* of all: without a part that made them too long */
    uint64_t retry_count;  /* deliveries that will be, or were, retried */
    uint64_t memory_items; /* waiting */
    uint64_t spool_items;  /* waiting on the disk */
    bool has_complete;
    uint64_t complete_ns; /* Unix time of the last commit, or when nothing was waiting */
    bool has_free;
    uint64_t free_bytes; /* of the file system that the output writes to */
};

struct ntk_output_source {
    const char *name; /* borrowed */
    /* Adds to the counts; the name is not its business. */
    void (*read)(void *ctx, struct ntk_output_counts *counts);
    void *ctx;
    struct ntk_output_source *next; /* private */
};

void ntk_output_source_add(struct ntk_output_source *source);
/* A source that was never added is fine. */
void ntk_output_source_remove(struct ntk_output_source *source);
/* How many rows were filled, sorted by name. */
size_t ntk_output_counts_read(struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX]);

#ifdef __cplusplus
}
#endif
#endif
