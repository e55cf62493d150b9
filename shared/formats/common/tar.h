/* SPDX-License-Identifier: MIT */
/*
 * tar - reads the members of a tar archive into memory, and writes archives from members.
 *
 * Reading takes ustar, GNU and PAX archives, plain or as gzip; data after the gzip stream, or after
 * the end of a plain archive, is ignored. Checksum and length of the gzip stream are checked, so
 * every flipped bit is found. Only regular files and folders are accepted, and only names that stay
 * inside the archive. If a caller names the members that it needs, only these are kept in memory,
 * whatever the size of the others. Writing is deterministic: equal members give equal bytes.
 *
 * Owner:   ntk_tar_read() fills the caller's storage, ntk_tar_fini() frees it.
 * Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_COMMON_TAR_H
#define NTK_SHARED_FORMATS_COMMON_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_tar_member {
    char *name;     /* name without a leading "./" */
    uint8_t *bytes; /* followed by an uncounted NUL, unless it landed */
    size_t bytes_count;
    /* For a member that landed (struct ntk_tar_hooks): the bytes before `bytes`; otherwise NULL and
     * 0. */
    uint8_t *head;
    size_t head_bytes;
    bool is_landed; /* bytes are in the caller's memory */
    /* bytes is NULL because no caller needs the content; bytes_count is still set. */
    bool is_omitted;
};

struct ntk_tar {
    struct ntk_tar_member *members; /* in archive order, without folders */
    size_t member_count;
    bool is_compressed;
};

struct ntk_tar_limits {
    uint64_t total_bytes; /* limit for all members together */
    size_t member_count;
    size_t name_bytes;
};

/* A member for ntk_tar_hooks.land, and its answer. */
struct ntk_tar_landing {
    const char *name;
    uint64_t bytes_count;
    /* the first start_bytes bytes of the member: all, or NTK_TAR_START_BYTES */
    const uint8_t *start;
    size_t start_bytes;
    /* answer, at most start_bytes: number of leading bytes to store separately */
    size_t head_bytes;
    uint8_t *bytes; /* answer: memory for the remaining bytes; NULL: the member does not land */
    bool is_there;  /* answer: the memory already contains the bytes, which are skipped */
};

#define NTK_TAR_START_BYTES 4224

/* Callbacks that inspect members while they are read. All are optional. */
struct ntk_tar_hooks {
    /* Called for members of at least land_bytes_min bytes. `members` has the members before it. */
    void (*land)(void *ctx, const struct ntk_tar_member *members, size_t member_count,
                 struct ntk_tar_landing *landing);
    uint64_t land_bytes_min;
    /* Returns true if a member that did not land must be in memory; index is its position in
     * members. */
    bool (*keep)(void *ctx, size_t index, const char *name, uint64_t bytes_count);
    /* Receives a block of an omitted member; the first negative answer stops the reading and is
     * returned. */
    int (*pass)(void *ctx, const char *name, const uint8_t *block, size_t bytes_count, bool is_last,
                struct ntk_err *err);
    /* Called when the input up to bytes[count) is needed next: the best time to hash it. */
    void (*consume)(void *ctx, size_t count);
    void *ctx;
};

/* Returns -EBADMSG if it is not an archive, is truncated, or has a rejected name or kind of member;
 * -EFBIG beyond a limit; or -ENOMEM. */
int ntk_tar_read(const void *bytes, size_t bytes_count, const struct ntk_tar_limits *limits,
                 struct ntk_tar *out_tar, struct ntk_err *err);
int ntk_tar_read_with(const void *bytes, size_t bytes_count, const struct ntk_tar_limits *limits,
                      const struct ntk_tar_hooks *hooks, struct ntk_tar *out_tar,
                      struct ntk_err *err);
/* Same, for an archive that arrives in pieces: read returns up to bytes_count next bytes, 0 at the
 * end, or a negative value with err filled. Only the members are kept. */
int ntk_tar_read_stream(int64_t (*read)(void *ctx, void *to, size_t bytes_count,
                                        struct ntk_err *err),
                        void *ctx, uint64_t bytes_count, const struct ntk_tar_limits *limits,
                        struct ntk_tar *out_tar, struct ntk_err *err);
void ntk_tar_fini(struct ntk_tar *tar);

/* Returns true if the name is a relative path without "..", empty or "." parts. */
bool ntk_tar_name_is_inside(const char *name);

struct ntk_tar_source {
    const char *name;
    const void *bytes;
    size_t bytes_count;
};

/* Writes ustar (PAX only for members that need it), mode 0664, owner 1000/1000 "nobody", time 0,
 * gzip without a time if compress is set, then zeros up to a multiple of align. The caller frees
 * *out_bytes with free(). */
int ntk_tar_write(const struct ntk_tar_source *members, size_t member_count, bool compress,
                  size_t align, uint8_t **out_bytes, size_t *out_count, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
