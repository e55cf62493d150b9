/* SPDX-License-Identifier: MIT */
/* archive_failed - reports the error of a libarchive call; for this folder only. */
#ifndef NTK_SHARED_FORMATS_COMMON_ARCHIVE_FAILED_H
#define NTK_SHARED_FORMATS_COMMON_ARCHIVE_FAILED_H

#include <archive.h>
#include <errno.h>

#include "shared/base/err.h"

/* Uses libarchive's message, or a standard one if it has none. */
static inline int ntk_archive_failed(struct archive *archive, struct ntk_err *err)
{
    const char *text = archive_error_string(archive);

    if (archive_errno(archive) == ENOMEM) {
        return ntk_err_no_memory(err);
    }
    return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the archive is damaged: %s",
                       text ? text : "unknown reason");
}

#endif
