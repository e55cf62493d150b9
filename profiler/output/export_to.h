/* SPDX-License-Identifier: MIT */
/*
 * export_to - writes a profile in each of its formats.
 *
 * The file (or folder) appears whole or not at all; an interrupted run may leave a file with
 * ".tmp-" in its name. The same capture produces the same bytes. Memory does not grow with the
 * output. Path "-" is stdout if the format is one file that is written sequentially.
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
    const char *name; /* such as "json" */
    /* Same name as in the original tool, if it has the format; NULL if only for folders. */
    const char *default_path;
    /* default path for folders of inspections; NULL if only for one capture */
    const char *system_path;
    ntk_export_function *write;
    bool is_timeline; /* for folders it includes the captures */
};

/* Returns NULL for an unknown name. */
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

/* Combines the results of the rows and of the file, at the end of every writer of one file. */
int ntk_export_finish(struct ntk_sink *sink, int ret, struct ntk_err *err);

#endif
