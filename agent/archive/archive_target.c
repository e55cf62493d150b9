/* SPDX-License-Identifier: MIT */
/* archive_target - selects and opens the destination of an archive. */
#include "agent/archive/archive_target.h"

#include <string.h>

int ntk_archive_target_open(const struct ntk_archive_target_options *options,
                            struct ntk_archive_target **out_target, struct ntk_err *err)
{
    return strncmp(options->destination, "s3://", 5) == 0
               ? ntk_archive_s3_open(options, out_target, err)
               : ntk_archive_folder_open(options->destination, out_target, err);
}

void ntk_archive_target_close(struct ntk_archive_target *target)
{
    if (target) {
        target->ops->abort(target);
        target->ops->close(target);
    }
}

int ntk_archive_target_begin(struct ntk_archive_target *target, const char *path, int *out_fd,
                             struct ntk_err *err)
{
    return target->ops->begin(target, path, out_fd, err);
}

int ntk_archive_target_commit(struct ntk_archive_target *target, bool keeps, struct ntk_err *err)
{
    return target->ops->commit(target, keeps, err);
}

void ntk_archive_target_abort(struct ntk_archive_target *target)
{
    target->ops->abort(target);
}

void ntk_archive_target_cancel(struct ntk_archive_target *target)
{
    if (target->ops->cancel) {
        target->ops->cancel(target);
    }
}
