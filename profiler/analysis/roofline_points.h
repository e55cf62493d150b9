/* SPDX-License-Identifier: MIT */
/*
 * roofline_points - adds rows of regions and source lines to a roofline with known ceilings.
 *
 * Owner:   the roofline owns the rows: ntk_roofline_fini() frees them.
 * Errors:  -ENOMEM, -errno of a long list; rows that were already added are freed in the same way.
 * Time:    is linear in instructions, times NTK_ROOFLINE_REGIONS_MAX for instructions that compute
 *          or transfer.
 */
#ifndef NTK_PROFILER_ANALYSIS_ROOFLINE_POINTS_H
#define NTK_PROFILER_ANALYSIS_ROOFLINE_POINTS_H

#include "profiler/analysis/roofline.h"

int ntk_roofline_add_regions(const struct ntk_program *program, struct ntk_roofline *roofline);
int ntk_roofline_add_lines(const struct ntk_program *program, struct ntk_roofline *roofline);

#endif
