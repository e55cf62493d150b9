/* SPDX-License-Identifier: MIT */
/* archive_failed - the error of a call of libarchive; for this folder. */
#ifndef NTK_SHARED_FORMATS_COMMON_ARCHIVE_FAILED_H
#define NTK_SHARED_FORMATS_COMMON_ARCHIVE_FAILED_H

#include <archive.h>
#include <errno.h>

#include "shared/base/err.h"

/* libarchive's own words, or ours when it has none. */
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
