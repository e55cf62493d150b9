/* SPDX-License-Identifier: MIT */
/*
 * median - the lower median of many numbers, in bounded memory: a long list goes to a temporary
 * file.
 *
 * Owner:   caller's storage; ntk_median_fini() frees, also after _get. Threads: one at a time.
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
/* 0 or -errno, as for ntk_long_list_err_set(). */
int ntk_median_add(struct ntk_median *median, uint64_t number);
/* The median of all added numbers, 0 without any; call once. 0 or -errno. */
int ntk_median_get(struct ntk_median *median, uint64_t *out_number);

#endif
