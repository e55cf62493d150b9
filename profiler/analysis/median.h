/* SPDX-License-Identifier: MIT */
/*
 * median - computes the lower median of many numbers, in bounded memory: a long list is stored in a
 * temporary file.
 *
 * Owner:   the caller provides the storage; ntk_median_fini() frees the content, also after _get.
 *          Threads: one at a time.
 */
#ifndef NTK_PROFILER_ANALYSIS_MEDIAN_H
#define NTK_PROFILER_ANALYSIS_MEDIAN_H

#include <stdint.h>

#include "profiler/trace/sorter.h"

struct ntk_median {
    struct ntk_sorter sorter;
};

void ntk_median_init(struct ntk_median *median);
void ntk_median_fini(struct ntk_median *median);
/* Returns 0 or -errno, as for ntk_long_list_err_set(). */
int ntk_median_add(struct ntk_median *median, uint64_t number);
/* Returns the median of all added numbers, 0 if there are none; may be called once. Returns 0 or
 * -errno. */
int ntk_median_get(struct ntk_median *median, uint64_t *out_number);

#endif
