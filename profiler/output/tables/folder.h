/* SPDX-License-Identifier: MIT */
/*
 * folder - writes an export as a folder with one file per table; it appears completely or not at
 * all.
 *
 * The files are written to "<path>.tmp-XXXXXX", which replaces <path> at the end. An existing
 * folder is replaced only if it contains only files of an export; anything else is an error
 * before anything is written. A table without rows has no file.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_FOLDER_H
#define NTK_PROFILER_OUTPUT_TABLES_FOLDER_H

#include "profiler/output/export_to.h"
#include "profiler/output/tables/table.h"

/* Functions that write a table to a file. */
struct ntk_folder_format {
    const char *extension; /* such as "csv" */
    /* Creates the state for one file; NULL if out of memory. */
    void *(*begin)(const struct ntk_table *table, struct ntk_sink *sink);
    int (*put)(void *state, const void *row);
    /* Writes data after the last row; -errno. */
    int (*end)(void *state);
    void (*destroy)(void *state);
};

/* Files of any kind in a folder. */
struct ntk_folder_files {
    const char *name; /* name of the format */
    /* Returns true if this export writes a file with that name. */
    bool (*is_ours)(const char *name, const void *ctx);
    int (*write)(const char *folder, const void *ctx, struct ntk_err *err);
    const void *ctx;
};

/* Returns 0 or -errno with a message. */
int ntk_folder_write(const char *path, const struct ntk_folder_files *files, struct ntk_err *err);

/* Same, with the tables of the export. */
int ntk_folder_export(const struct ntk_export *export, const char *path,
                      const struct ntk_folder_format *format, struct ntk_err *err);

#endif
