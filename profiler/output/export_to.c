/* SPDX-License-Identifier: MIT */
/* export_to - the formats by name, and the end that all writers of one file share. */
#include "profiler/output/export_to.h"

#include <string.h>

static const struct ntk_export_format formats[] = {
    { "json", "ntff.json", ntk_export_to_json },
    { "csv", "ntff_csv", ntk_export_to_csv },
    { "sqlite", "ntff.sqlite", ntk_export_to_sqlite },
    { "parquet", "ntff_parquet", ntk_export_to_parquet },
    { "perfetto", "ntff.pftrace", ntk_export_to_perfetto },
    { "chrome", "ntff.trace.json", ntk_export_to_chrome },
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
