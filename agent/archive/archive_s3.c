/* SPDX-License-Identifier: MIT */
/* archive_s3 - an archive in a bucket. */
#include <errno.h>

#include "agent/archive/archive_target.h"

int ntk_archive_s3_open(const struct ntk_archive_target_options *options,
                        struct ntk_archive_target **out_target, struct ntk_err *err)
{
    (void)options;
    (void)out_target;
    return ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "not yet");
}
