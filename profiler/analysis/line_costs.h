/* SPDX-License-Identifier: MIT */
/*
 * line_costs - adds up costs that one source line causes for another: the time that its
 * instructions waited, or the bytes that they moved. Costs are added by pairs of lines, to find the
 * most expensive pair.
 *
 * The lines come from the compiler's back end (neff_positions.h). A cost without any line is not
 * counted. If out of memory, costs are dropped: they only make a message more precise.
 *
 * Owner:   the caller provides the storage, zeroed if empty; _fini frees the content. Files are
 *          indices of positions->files.
 */
#ifndef NTK_PROFILER_ANALYSIS_LINE_COSTS_H
#define NTK_PROFILER_ANALYSIS_LINE_COSTS_H

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff_positions.h"

struct ntk_line_pair { /* file and line are 0 if no line is known */
    uint32_t file, line;
    uint32_t by_file, by_line; /* responsible line */
    double cost;
};

struct ntk_line_costs {
    struct ntk_vec pairs;   /* elements are struct ntk_line_pair */
    struct ntk_map numbers; /* maps file << 32 | line to 1 + number */
    struct ntk_map by_pair; /* maps number << 32 | number of the other line to 1 + index */
    size_t line_count;
};

/* `at` and `by` may be NULL. */
void ntk_line_costs_add(struct ntk_line_costs *costs, const struct ntk_neff_position *at,
                        const struct ntk_neff_position *by, double cost);
/* Returns the most expensive pair; NULL if no cost has a line. */
const struct ntk_line_pair *ntk_line_costs_most(const struct ntk_line_costs *costs);
void ntk_line_costs_fini(struct ntk_line_costs *costs);
/* Appends a line such as "attn.py:394". */
void ntk_line_name_add(const struct ntk_neff_positions *positions, uint32_t file, uint32_t line,
                       struct ntk_buf *out);

#endif
