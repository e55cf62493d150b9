/* SPDX-License-Identifier: MIT */
/*
 * archive_target - the place of an archive: a folder, or a bucket of a service that speaks S3.
 *
 * A part is written into a hidden file and appears at its place whole or not at all. What is at the
 * place is replaced, or stays on request. Any number of programs may write into one archive.
 *
 * Owner:   _open / _close; a part between _begin and _commit or _abort, one at a time.
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

struct ntk_archive_target_options {
    const char *destination; /* "/folder", "s3://bucket", "s3://bucket/prefix" */
    /* Of S3; NULL: as AWS's programs find them. */
    const char *endpoint;
    const char *region;
    const char *profile;
    const char *temporary_folder; /* for a part until it is sent; NULL: $TMPDIR, else /var/tmp */
};

/* Makes the folder. */
int ntk_archive_target_open(const struct ntk_archive_target_options *options,
                            struct ntk_archive_target **out_target, struct ntk_err *err);
/* NULL is fine. */
void ntk_archive_target_close(struct ntk_archive_target *target);
/* A descriptor to write the part into; it stays the target's. */
int ntk_archive_target_begin(struct ntk_archive_target *target, const char *path, int *out_fd,
                             struct ntk_err *err);
/* 0: it is there; 1: there was one, which stays (only with keeps). */
int ntk_archive_target_commit(struct ntk_archive_target *target, bool keeps, struct ntk_err *err);
void ntk_archive_target_abort(struct ntk_archive_target *target);
/* A commit that waits for the network ends soon. */
void ntk_archive_target_cancel(struct ntk_archive_target *target);

/* What makes one of a kind; private to the files of targets. */
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
