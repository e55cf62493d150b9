/* SPDX-License-Identifier: MIT */
/*
 * archive_target - the destination of an archive: a folder, or a bucket of an S3 service.
 *
 * A part is written to a hidden file and appears complete or not at all. It replaces an existing
 * part, or is dropped if existing parts are to be kept. Several programs may write to one archive.
 *
 * Owner:   _open / _close; one part at a time, between _begin and _commit or _abort.
 * Threads: one at a time per target; _cancel from any.
 */
#ifndef NTK_AGENT_ARCHIVE_ARCHIVE_TARGET_H
#define NTK_AGENT_ARCHIVE_ARCHIVE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_archive_target;

struct ntk_clock;

struct ntk_archive_target_options {
    const char *destination; /* such as "/folder", "s3://bucket" or "s3://bucket/prefix" */
    /* Endpoint of S3; NULL: from the environment and files that AWS programs read. */
    const char *endpoint;
    const char *region;
    const char *profile;
    /* Folder for a part until it is uploaded; NULL: $TMPDIR, else /var/tmp */
    const char *temporary_folder;
    const struct ntk_clock *clock; /* for pauses; borrowed; NULL for the system clock */
};

/* Opens the target; creates the folder. */
int ntk_archive_target_open(const struct ntk_archive_target_options *options,
                            struct ntk_archive_target **out_target, struct ntk_err *err);
/* Accepts NULL. */
void ntk_archive_target_close(struct ntk_archive_target *target);
/* Returns a file descriptor for writing the part; the target owns it. */
int ntk_archive_target_begin(struct ntk_archive_target *target, const char *path, int *out_fd,
                             struct ntk_err *err);
/* Returns 0 if the part was written; 1 if a part existed and was kept (only with keeps). */
int ntk_archive_target_commit(struct ntk_archive_target *target, bool keeps, struct ntk_err *err);
void ntk_archive_target_abort(struct ntk_archive_target *target);
/* Makes a commit return soon if it waits for the network. */
void ntk_archive_target_cancel(struct ntk_archive_target *target);

/* The operations of one kind of target; private to the files of targets. */
struct ntk_archive_target_ops {
    int (*begin)(struct ntk_archive_target *target, const char *path, int *out_fd,
                 struct ntk_err *err);
    int (*commit)(struct ntk_archive_target *target, bool keeps, struct ntk_err *err);
    void (*abort)(struct ntk_archive_target *target);
    void (*cancel)(struct ntk_archive_target *target);
    void (*close)(struct ntk_archive_target *target);
};
struct ntk_archive_target {
    const struct ntk_archive_target_ops *ops;
};
int ntk_archive_folder_open(const char *folder, struct ntk_archive_target **out_target,
                            struct ntk_err *err);
int ntk_archive_s3_open(const struct ntk_archive_target_options *options,
                        struct ntk_archive_target **out_target, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
