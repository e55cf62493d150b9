/* SPDX-License-Identifier: MIT */
/*
 * archive_path - builds the path of a part in an archive, in the layout of Hive.
 *
 *   core_minute/cluster=NAME/date=2026-11-24/host=NAME/part-20261124-18a2b3c4d5e6f708.parquet
 *
 * Names are escaped like in Hive: characters with a meaning in a path, pattern or partition become
 * "%" and two digits, bytes that are not UTF-8 become U+FFFD, an empty name is
 * __HIVE_DEFAULT_PARTITION__, which readers treat as NULL. The same step of the same database has
 * the same path, independent of the writer and the time.
 *
 * Threads: any.
 */
#ifndef NTK_AGENT_ARCHIVE_ARCHIVE_PATH_H
#define NTK_AGENT_ARCHIVE_ARCHIVE_PATH_H

#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/store/store_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum length of a path component in file systems. */
#define NTK_ARCHIVE_COMPONENT_BYTES_MAX 255

struct ntk_archive_place {
    enum ntk_store_dataset_id dataset;
    const char *cluster;
    const char *host;
    uint64_t start_ns; /* start of the step */
    uint64_t store_id; /* from ntk_store_dataset_origin() */
    unsigned piece;    /* number of the file, if the step is too large for one file */
};

/* Appends the value of a partition, escaped. */
void ntk_archive_path_add_name(struct ntk_buf *path, const char *name);
/* -ENAMETOOLONG with a message if a name is too long for a folder. */
int ntk_archive_path_check(const char *what, const char *name, struct ntk_err *err);
/* Appends the path, without a leading slash. */
void ntk_archive_path_add(struct ntk_buf *path, const struct ntk_archive_place *place);

#ifdef __cplusplus
}
#endif
#endif
