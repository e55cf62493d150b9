/* SPDX-License-Identifier: MIT */
/*
 * export_to - a profile in each of its formats.
 *
 * The file (or folder) appears whole or not at all; what an interrupted run leaves is a name with
 * ".tmp-" in it. The same capture gives the same bytes. Memory does not grow with the output. Path
 * "-" is stdout where the format is one file that can be written from front to back.
 *
 * Each returns 0 or -errno with a message.
 */
#ifndef NTK_PROFILER_OUTPUT_EXPORT_TO_H
#define NTK_PROFILER_OUTPUT_EXPORT_TO_H

#include "profiler/output/export.h"
#include "profiler/output/output.h"
#include "profiler/output/sink.h"
#include "shared/base/err.h"

typedef int ntk_export_function(const struct ntk_export *export, const char *path,
                                struct ntk_err *err);

struct ntk_export_format {
    const char *name; /* "json" */
    /* What the original calls it, where it has it; NULL: it is of folders alone. */
    const char *default_path;
    const char *system_path; /* the same, of folders of inspections; NULL: it is of one capture */
    ntk_export_function *write;
    bool is_timeline; /* of folders it has the captures too */
};

/* NULL for an unknown name. */
const struct ntk_export_format *ntk_export_format_find(const char *name);

ntk_export_function ntk_export_to_chakra;
ntk_export_function ntk_export_to_chrome;
ntk_export_function ntk_export_to_csv;
ntk_export_function ntk_export_to_folded;
ntk_export_function ntk_export_to_json;
ntk_export_function ntk_export_to_kineto;
ntk_export_function ntk_export_to_parquet;
ntk_export_function ntk_export_to_perfetto;
ntk_export_function ntk_export_to_pprof;
ntk_export_function ntk_export_to_sqlite;

/* What the rows returned, and what became of the file: the end of every writer of one file. */
int ntk_export_finish(struct ntk_sink *sink, int ret, struct ntk_err *err);

#endif
