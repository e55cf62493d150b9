/* SPDX-License-Identifier: MIT */
/*
 * line_costs - costs of one source line caused by another: the time that its instructions waited,
 * or the bytes that they moved. Sums by pairs of lines, to name the most expensive pair.
 *
 * The lines are those of the back end (neff_positions.h). A cost without any line is not counted.
 * If out of memory, costs are dropped: they only make a message more precise.
 *
 * Owner:   caller's storage, zeroed is empty; _fini frees. Files are indices of positions->files.
 */
#ifndef NTK_PROFILER_ANALYSIS_LINE_COSTS_H
#define NTK_PROFILER_ANALYSIS_LINE_COSTS_H

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff_positions.h"

struct ntk_line_pair { /* file, line 0: no line is known */
    uint32_t file, line;
    uint32_t by_file, by_line; /* the responsible line */
    double cost;
};

struct ntk_line_costs {
    struct ntk_vec pairs;   /* struct ntk_line_pair */
    struct ntk_map numbers; /* file << 32 | line to 1 + number */
    struct ntk_map by_pair; /* number << 32 | number of the other line to 1 + index */
    size_t line_count;
};

/* at and by may be NULL. */
void ntk_line_costs_add(struct ntk_line_costs *costs, const struct ntk_neff_position *at,
                        const struct ntk_neff_position *by, double cost);
/* The most expensive pair; NULL: no cost has a line. */
const struct ntk_line_pair *ntk_line_costs_most(const struct ntk_line_costs *costs);
void ntk_line_costs_fini(struct ntk_line_costs *costs);
/* Appends "attn.py:394". */
void ntk_line_name_add(const struct ntk_neff_positions *positions, uint32_t file, uint32_t line,
                       struct ntk_buf *out);

#endif
