/* SPDX-License-Identifier: MIT */
/*
 * archive - writes the history of a database as Parquet files below a folder or a prefix: one file
 * per table, host and step (docs/formats/archive.md).
 *
 * A part contains all rows of its step in the database, so writing it again changes nothing. If the
 * database has started to delete a step, an existing part is kept. Rows are read and written one at
 * a time: memory holds one row group.
 *
 * Owner:   _open / _close; options are borrowed for that time.
 * Threads: one at a time per archive; _cancel from any.
 */
#ifndef NTK_AGENT_ARCHIVE_ARCHIVE_H
#define NTK_AGENT_ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/archive/archive_target.h"
#include "shared/base/err.h"
#include "shared/store/store_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the layout and of the meaning of columns; it is stored in the metadata of each
 * file. */
#define NTK_ARCHIVE_VERSION 1
#define NTK_ARCHIVE_CLUSTER "default"
/* Maximum size of a part; the rest is written to the next file, because S3 accepts 5 GiB in one
 * request. */
#define NTK_ARCHIVE_PART_BYTES_MAX (UINT64_C(1) << 30)

struct ntk_clock;

struct ntk_archive_options {
    struct ntk_archive_target_options target;
    const char *cluster;     /* NULL for NTK_ARCHIVE_CLUSTER */
    const char *host;        /* NULL for the host name in the database */
    uint64_t part_bytes_max; /* 0 for NTK_ARCHIVE_PART_BYTES_MAX */
    bool wanted[NTK_STORE_DATASET_COUNT];
    const struct ntk_clock *clock; /* for the agent's waits; borrowed; NULL for the system clock */
};

struct ntk_archive_counts {
    uint64_t parts; /* number of written parts */
    uint64_t rows;
    uint64_t bytes;
    uint64_t kept; /* number of existing parts that were kept */
};

/* Returns the name of a table; NULL after the last. */
const char *ntk_archive_table_name(size_t index);
/* Parses a list such as "core_minute,error_log"; a pattern such as "core" or "*_hour" selects a
 * family of tables. -EINVAL. */
int ntk_archive_tables_parse(const char *list, bool wanted[NTK_STORE_DATASET_COUNT],
                             struct ntk_err *err);

struct ntk_archive;

int ntk_archive_open(const struct ntk_archive_options *options, struct ntk_archive **out_archive,
                     struct ntk_err *err);
/* Accepts NULL. */
void ntk_archive_close(struct ntk_archive *archive);
/* Writes the rows of (start_ns, start_ns + step]; if it finds none, it writes no part. Adds to
 * counts. */
int ntk_archive_write(struct ntk_archive *archive, struct ntk_store_reader *reader,
                      enum ntk_store_dataset_id dataset, uint64_t start_ns,
                      struct ntk_archive_counts *counts, struct ntk_err *err);
void ntk_archive_cancel(struct ntk_archive *archive);

#ifdef __cplusplus
}
#endif
#endif
