/* SPDX-License-Identifier: MIT */
/*
 * sources - the source text of the examples, which their NEFFs contain in addition to positions.
 *
 * Owner: static data. Threads: any.
 */
#ifndef NTK_SHARED_KERNELS_SOURCES_H
#define NTK_SHARED_KERNELS_SOURCES_H

#include <stddef.h>

/* A row of the table that cmake/ntk_embed.cmake generates. */
struct ntk_example_source {
    const char *name;
    const unsigned char *bytes;
    size_t bytes_count;
};

/* Ended by a NULL name. */
extern const struct ntk_example_source ntk_example_sources[];

#endif
