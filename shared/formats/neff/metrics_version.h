/* SPDX-License-Identifier: MIT */
/*
 * metrics_version - the release of the original tool that defines how metrics are counted
 * (docs/formats/profile-summary.md). A zeroed value is the default.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_METRICS_VERSION_H
#define NTK_SHARED_FORMATS_NEFF_METRICS_VERSION_H

enum ntk_metrics_version { NTK_METRICS_2_32, NTK_METRICS_2_28 };

static inline const char *ntk_metrics_version_name(enum ntk_metrics_version version)
{
    return version == NTK_METRICS_2_28 ? "2.28" : "2.32";
}

#endif
