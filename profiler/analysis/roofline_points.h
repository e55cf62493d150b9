/* SPDX-License-Identifier: MIT */
/*
 * roofline_points - rows of regions and source lines for a roofline with known ceilings.
 *
 * Owner:   the rows are the roofline's: ntk_roofline_fini() frees them.
 * Errors:  -ENOMEM, -errno of a long list; rows that were already added are freed as above.
 * Time:    linear in instructions, times NTK_ROOFLINE_REGIONS_MAX for those that compute or
 *          transfer.
 */
#ifndef NTK_PROFILER_ANALYSIS_ROOFLINE_POINTS_H
#define NTK_PROFILER_ANALYSIS_ROOFLINE_POINTS_H

#include "profiler/analysis/roofline.h"

int ntk_roofline_add_regions(const struct ntk_program *program, struct ntk_roofline *roofline);
int ntk_roofline_add_lines(const struct ntk_program *program, struct ntk_roofline *roofline);

#endif
