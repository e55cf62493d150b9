/* SPDX-License-Identifier: MIT */
/*
 * output_counts - counts sent, lost and waiting items of each output of this process, for the pages
 * about it.
 *
 * Each output has a source that adds its counts; sources with the same name are one output.
 *
 * Owner:   the output owns its source from add to remove.
 * Threads: any; read() is called on the requesting thread, and no longer after remove has returned.
 */
#ifndef NTK_EXPORTERS_TRANSPORT_OUTPUT_COUNTS_H
#define NTK_EXPORTERS_TRANSPORT_OUTPUT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_OUTPUT_COUNTS_MAX 12 /* maximum number of names; further ones are not counted */
#define NTK_OUTPUT_NAME_BYTES 64

/* Counts of items; the output defines the items: samples, data points, reports. All counts except
 * the waiting items only increase. */
struct ntk_output_counts {
    char name[NTK_OUTPUT_NAME_BYTES];
    uint64_t sent_items;
    uint64_t refused_items; /* the peer would reject them again */
    uint64_t lost_items;    /* beyond the limits on waiting items */
    bool has_cut;
    uint64_t cut_items;    /* items sent without a part that was too long */
    uint64_t retry_count;  /* number of deliveries that were or will be retried */
    uint64_t memory_items; /* waiting in memory */
    uint64_t spool_items;  /* waiting on disk */
    bool has_complete;
    /* Unix time of the last commit, or of the last moment without waiting items */
    uint64_t complete_ns;
    bool has_free;
    uint64_t free_bytes; /* free space in the file system of the output */
};

struct ntk_output_source {
    const char *name; /* borrowed */
    /* Adds to the counts; must not change the name. */
    void (*read)(void *ctx, struct ntk_output_counts *counts);
    void *ctx;
    struct ntk_output_source *next; /* private */
};

void ntk_output_source_add(struct ntk_output_source *source);
/* Removes a source; a source that was never added is allowed. */
void ntk_output_source_remove(struct ntk_output_source *source);
/* Fills rows sorted by name; returns their number. */
size_t ntk_output_counts_read(struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX]);

#ifdef __cplusplus
}
#endif
#endif
