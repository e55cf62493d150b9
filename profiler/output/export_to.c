/* SPDX-License-Identifier: MIT */
/* export_to - lists the formats by name, and implements the common end of all writers of one
 * file. */
#include "profiler/output/export_to.h"

#include <string.h>

static const struct ntk_export_format formats[] = {
    { "json", "ntff.json", "system_profile.json", ntk_export_to_json, false },
    { "csv", "ntff_csv", "system_profile_csv", ntk_export_to_csv, false },
    { "sqlite", "ntff.sqlite", "system_profile.sqlite", ntk_export_to_sqlite, false },
    { "parquet", "ntff_parquet", "system_profile_parquet", ntk_export_to_parquet, false },
    { "perfetto", "ntff.pftrace", "system_profile.pftrace", ntk_export_to_perfetto, true },
    { "chrome", "ntff.trace.json", "system_profile.trace.json", ntk_export_to_chrome, true },
    { "pprof", "ntff.pb.gz", NULL, ntk_export_to_pprof, false },
    { "folded", "ntff.folded", NULL, ntk_export_to_folded, false },
    { "kineto", NULL, "system_profile_kineto", ntk_export_to_kineto, false },
    { "chakra", NULL, "system_profile_chakra", ntk_export_to_chakra, false },
};

const struct ntk_export_format *ntk_export_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

int ntk_export_finish(struct ntk_sink *sink, int ret, struct ntk_err *err)
{
    if (ret < 0 && !sink->failed) {
        sink->failed = ret;
    }
    return ntk_sink_commit(sink, err);
}
