/* SPDX-License-Identifier: MIT */
/*
 * zip - reads the members of a zip archive into memory.
 *
 * Takes stored and deflated members (and others that libarchive inflates), with or without ZIP64
 * fields; sizes and checksums are checked. Encrypted members, links and names that leave the
 * archive are rejected. The caller's limits apply to all inflated members before memory is
 * allocated, so a zip bomb stays within them.
 *
 * Owner:   ntk_zip_read() fills the caller's storage, ntk_zip_fini() frees it.
 * Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_COMMON_ZIP_H
#define NTK_SHARED_FORMATS_COMMON_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_zip_member {
    char *name;
    uint8_t *bytes; /* followed by an uncounted NUL */
    size_t bytes_count;
};

struct ntk_zip {
    struct ntk_zip_member *members; /* in archive order, without folders */
    size_t member_count;
};

struct ntk_zip_limits {
    uint64_t total_bytes; /* limit for all members together */
    size_t member_count;
    size_t name_bytes;
};

/* Returns -EBADMSG if it is not a zip archive, is truncated or damaged, or has a rejected name or
 * kind of member; -EFBIG beyond a limit; or -ENOMEM. */
int ntk_zip_read(const void *bytes, size_t bytes_count, const struct ntk_zip_limits *limits,
                 struct ntk_zip *out_zip, struct ntk_err *err);
void ntk_zip_fini(struct ntk_zip *zip);

#ifdef __cplusplus
}
#endif
#endif
