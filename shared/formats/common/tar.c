/* SPDX-License-Identifier: MIT */
#include "shared/formats/common/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "shared/base/buf.h"
#include "shared/base/vec.h"
#include "shared/formats/common/archive_failed.h"

/* Maximum inflation: Deflate cannot expand one byte to more than 1032, so no member may claim
 * more. */
#define INFLATION_MAX 1100

/* Size of the blocks that are inflated, hashed and passed to libarchive; a block fits into the
 * processor's cache. */
#define BLOCK_BYTES (64U << 10)

/* Limit for the names of all members together. */
#define NAMES_BYTES_MAX (16U << 20)

/* Limit on the input for one header and its extensions. libarchive stores what it reads there (the
 * map of a sparse file takes eight times its text); a normal header has a few kilobytes. */
#define HEADER_BYTES_MAX (4U << 20)

bool ntk_tar_name_is_inside(const char *name)
{
    const char *part = name;

    if (name[0] == '\0' || name[0] == '/') {
        return false;
    }
    for (;;) {
        size_t length = strcspn(part, "/");

        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.')) {
            return false;
        }
        if (part[length] == '\0') {
            return true;
        }
        part += length + 1;
    }
}

static void members_free(struct ntk_tar_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(members[i].name);
        free(members[i].head);
        if (!members[i].is_landed) {
            free(members[i].bytes);
        }
    }
    free(members);
}

void ntk_tar_fini(struct ntk_tar *tar)
{
    if (tar) {
        members_free(tar->members, tar->member_count);
        *tar = (struct ntk_tar){ 0 };
    }
}

/* State while reading a member. */
struct tar_reader {
    struct archive *archive;
    const struct ntk_tar_limits *limits;
    const struct ntk_tar_hooks *hooks; /* NULL: none */
    const uint8_t *bytes;              /* the input; NULL for a stream */
    size_t bytes_count;
    size_t given; /* number of bytes passed to libarchive or zlib */
    int64_t (*read)(void *ctx, void *to, size_t bytes_count, struct ntk_err *err);
    void *read_ctx;
    uint8_t *block;      /* for a stream: BLOCK_BYTES bytes */
    size_t block_filled; /* bytes that were read to detect the format and are not passed on yet */
    int read_failed;     /* the read callback failed; read_err has the reason */
    struct ntk_err read_err;
    uint64_t left;
    bool is_limited; /* `left` began with the caller's limit */
    size_t names_left;
    uint64_t header_left; /* bytes that libarchive may still request for this header */
    /* For a compressed archive. libarchive's gzip filter is not used, because it does not check a
     * stream's checksums. */
    z_stream gzip;
    bool is_gzip_begun, is_gzip_ended;
    uint8_t *inflated; /* BLOCK_BYTES bytes */
    struct ntk_vec members;
    struct ntk_err *err;
};

/* Reads bytes_count bytes of the member into `to`. */
static int read_exactly(struct tar_reader *r, const char *name, uint64_t size, uint64_t done,
                        uint8_t *to, size_t bytes_count)
{
    size_t filled = 0;

    while (filled < bytes_count) {
        la_ssize_t got = archive_read_data(r->archive, to + filled, bytes_count - filled);

        if (got < 0) {
            return ntk_archive_failed(r->archive, r->err);
        }
        if (got == 0) {
            return ntk_err_set(r->err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "%s ends after %llu of %llu bytes", name,
                               (unsigned long long)done + filled, (unsigned long long)size);
        }
        filled += (size_t)got;
    }
    return 0;
}

static int skip_data(struct tar_reader *r)
{
    return archive_read_data_skip(r->archive) == ARCHIVE_OK
               ? 0
               : ntk_archive_failed(r->archive, r->err);
}

/* Reads a member into memory of the caller. */
static int read_landed(struct tar_reader *r, struct ntk_tar_member *member,
                       const struct ntk_tar_landing *landing)
{
    size_t ready = landing->start_bytes - landing->head_bytes;

    member->bytes = landing->bytes;
    member->bytes_count = (size_t)landing->bytes_count - landing->head_bytes;
    member->is_landed = true;
    member->head_bytes = landing->head_bytes;
    member->head = malloc(landing->head_bytes + 1);
    if (!member->head) {
        return ntk_err_no_memory(r->err);
    }
    memcpy(member->head, landing->start, landing->head_bytes);
    if (landing->is_there) {
        return skip_data(r);
    }
    memcpy(member->bytes, landing->start + landing->head_bytes, ready);
    return read_exactly(r, member->name, landing->bytes_count, landing->start_bytes,
                        member->bytes + ready, member->bytes_count - ready);
}

/* Reads a member that no caller needs in memory; a callback sees its blocks. */
static int read_omitted(struct tar_reader *r, struct ntk_tar_member *member, uint64_t size)
{
    uint8_t block[NTK_TAR_START_BYTES * 4];
    uint64_t done = 0;
    int ret = 0;

    member->bytes_count = (size_t)size;
    member->is_omitted = true;
    if (!r->hooks->pass) {
        return skip_data(r);
    }
    do {
        size_t count = size - done < sizeof block ? (size_t)(size - done) : sizeof block;

        ret = read_exactly(r, member->name, size, done, block, count);
        done += count;
        if (ret == 0) {
            ret = r->hooks->pass(r->hooks->ctx, member->name, block, count, done == size, r->err);
        }
    } while (ret == 0 && done < size);
    return ret;
}

static int read_data(struct tar_reader *r, struct ntk_tar_member *member, uint64_t size)
{
    uint8_t start[NTK_TAR_START_BYTES];
    struct ntk_tar_landing landing = { .name = member->name, .bytes_count = size, .start = start };
    size_t index = r->members.count - 1;
    int ret;

    if (r->hooks && r->hooks->land && size >= r->hooks->land_bytes_min) {
        landing.start_bytes = size < sizeof start ? (size_t)size : sizeof start;
        ret = read_exactly(r, member->name, size, 0, start, landing.start_bytes);
        if (ret < 0) {
            return ret;
        }
        /* Pass only the members before this one. */
        r->hooks->land(r->hooks->ctx, r->members.items, index, &landing);
        if (landing.bytes) {
            return read_landed(r, member, &landing);
        }
    }
    if (r->hooks && r->hooks->keep && !r->hooks->keep(r->hooks->ctx, index, member->name, size)) {
        return read_omitted(r, member, size);
    }
    member->bytes = malloc((size_t)size + 1);
    if (!member->bytes) {
        return ntk_err_set(r->err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory for %s of %llu bytes",
                           member->name, (unsigned long long)size);
    }
    memcpy(member->bytes, start, landing.start_bytes);
    ret = read_exactly(r, member->name, size, landing.start_bytes,
                       member->bytes + landing.start_bytes, (size_t)size - landing.start_bytes);
    if (ret < 0) {
        return ret;
    }
    member->bytes[size] = 0;
    member->bytes_count = (size_t)size;
    return 0;
}

static int read_member(struct tar_reader *r, struct archive_entry *entry)
{
    const struct ntk_tar_limits *limits = r->limits;
    struct ntk_err *err = r->err;
    const char *name = archive_entry_pathname(entry);
    struct ntk_tar_member *member;
    int64_t size = archive_entry_size(entry);

    if (!name) {
        name = archive_entry_pathname_utf8(entry);
    }
    if (!name) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "a member has an unreadable name");
    }
    while (name[0] == '.' && name[1] == '/') {
        name += 2;
    }
    if (archive_entry_filetype(entry) == AE_IFDIR) {
        return skip_data(r);
    }
    if (strlen(name) > limits->name_bytes || strlen(name) > r->names_left) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "the name of a member is too long");
    }
    r->names_left -= strlen(name);
    if (!ntk_tar_name_is_inside(name)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "member '%s' is outside the archive",
                           name);
    }
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "member '%s' is not a regular file",
                           name);
    }
    if (r->members.count >= limits->member_count) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "too many members (at most %zu)",
                           limits->member_count);
    }
    if (size < 0 || (uint64_t)size > r->left) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                           "member '%s' claims %lld bytes, more than the %s", name, (long long)size,
                           r->is_limited ? "members of one file may have in total"
                                         : "archive can contain");
    }
    r->left -= (uint64_t)size;

    member = ntk_vec_add(&r->members);
    if (member) {
        member->name = strdup(name);
    }
    if (!member || !member->name) {
        return ntk_err_no_memory(err);
    }
    return read_data(r, member, (uint64_t)size);
}

/* Reads from a stream until the block has count bytes; returns the number of bytes in it. */
static size_t fill_block(struct tar_reader *r, size_t count)
{
    while (r->block_filled < count && r->read_failed == 0) {
        int64_t got =
            r->read(r->read_ctx, r->block + r->block_filled, count - r->block_filled, &r->read_err);

        if (got <= 0) {
            r->read_failed = (int)got;
            break;
        }
        r->block_filled += (size_t)got;
    }
    return r->block_filled;
}

/* Gets the next block of the input, at most BLOCK_BYTES. */
static size_t next_block(struct tar_reader *r, const uint8_t **out_block)
{
    size_t count = r->bytes_count - r->given;

    if (count > BLOCK_BYTES) {
        count = BLOCK_BYTES;
    }
    if (r->read) {
        count = fill_block(r, count);
        r->block_filled = 0;
    }
    *out_block = r->read ? r->block : r->bytes + r->given;
    r->given += count;
    if (r->hooks && r->hooks->consume) {
        r->hooks->consume(r->hooks->ctx, r->given);
    }
    return count;
}

/* Counts the bytes that libarchive gets while it reads a header. */
static la_ssize_t give(struct tar_reader *r, size_t count)
{
    if (count > r->header_left) {
        archive_set_error(r->archive, EINVAL, "the header of a member has more than %u bytes",
                          HEADER_BYTES_MAX);
        return -1;
    }
    r->header_left -= count;
    return (la_ssize_t)count;
}

static la_ssize_t give_block(struct archive *archive, void *ctx, const void **out_block)
{
    const uint8_t *block;
    size_t count = next_block(ctx, &block);

    (void)archive;
    *out_block = block;
    return give(ctx, count);
}

/* At the end of a gzip stream, checks whether another one follows directly; anything else is
 * ignored. */
static bool another_stream(struct tar_reader *r)
{
    const uint8_t *next = r->gzip.next_in;
    size_t left = r->gzip.avail_in;

    if (!r->read) {
        left += r->bytes_count - r->given;
    } else if (left < 2) {
        size_t more = r->bytes_count - r->given < BLOCK_BYTES - left ? r->bytes_count - r->given
                                                                     : BLOCK_BYTES - left;

        memmove(r->block, next, left);
        r->block_filled = left;
        more = fill_block(r, left + more) - left;
        r->block_filled = 0;
        r->given += more;
        left += more;
        next = r->block;
        r->gzip.next_in = r->block;
        r->gzip.avail_in = (uInt)left;
    }
    return left >= 2 && next[0] == 0x1f && next[1] == 0x8b && inflateReset(&r->gzip) == Z_OK;
}

/* Inflates up to BLOCK_BYTES bytes and returns their number, 0 at the end. zlib checks the checksum
 * and length of each stream. */
static la_ssize_t inflate_block(struct archive *archive, void *ctx, const void **out_block)
{
    struct tar_reader *r = ctx;
    z_stream *gzip = &r->gzip;

    *out_block = r->inflated;
    gzip->next_out = r->inflated;
    gzip->avail_out = BLOCK_BYTES;
    while (!r->is_gzip_ended && gzip->avail_out > 0) {
        int ret;

        if (gzip->avail_in == 0) {
            const uint8_t *block;

            gzip->avail_in = (uInt)next_block(r, &block);
            gzip->next_in = (Bytef *)(uintptr_t)block;
        }
        ret = inflate(gzip, Z_NO_FLUSH);
        if (ret == Z_STREAM_END) {
            r->is_gzip_ended = !another_stream(r);
        } else if (ret != Z_OK) {
            archive_set_error(archive, ret == Z_MEM_ERROR ? ENOMEM : EINVAL, "gzip: %s",
                              ret == Z_BUF_ERROR ? "the stream is truncated"
                              : gzip->msg        ? gzip->msg
                                                 : "damaged stream");
            return -1;
        }
    }
    return give(r, BLOCK_BYTES - gzip->avail_out);
}

/* Inflates the input after the last member, which libarchive did not read, because the checksums
 * are at the very end. */
static int inflate_rest(struct tar_reader *r)
{
    const void *block;
    uint64_t rest = 0;
    la_ssize_t count = 0;

    do {
        count = inflate_block(r->archive, r, &block);
        rest += count > 0 ? (uint64_t)count : 0;
        if (rest > r->limits->total_bytes) {
            return ntk_err_set(r->err, -EFBIG, NTK_ERR_NO_OFFSET,
                               "more than %llu bytes follow the last member",
                               (unsigned long long)r->limits->total_bytes);
        }
    } while (count > 0);
    return count < 0 ? ntk_archive_failed(r->archive, r->err) : 0;
}

static int open_input(struct tar_reader *r, bool is_compressed)
{
    int ret;

    /* One format and no filter, so the bytes reach no other parser of libarchive. */
    archive_read_support_format_tar(r->archive);
    if (is_compressed) {
        r->inflated = malloc(BLOCK_BYTES);
        if (!r->inflated || inflateInit2(&r->gzip, MAX_WBITS + 16) != Z_OK) {
            return ntk_err_no_memory(r->err);
        }
        r->is_gzip_begun = true;
        ret = archive_read_open(r->archive, r, NULL, inflate_block, NULL);
    } else {
        ret = archive_read_open(r->archive, r, NULL, give_block, NULL);
    }
    return ret == ARCHIVE_OK ? 0 : ntk_archive_failed(r->archive, r->err);
}

static int read_members(struct tar_reader *r)
{
    struct archive_entry *entry;
    int ret;

    for (;;) {
        r->header_left = HEADER_BYTES_MAX;
        ret = archive_read_next_header(r->archive, &entry);
        r->header_left = UINT64_MAX;
        if (ret == ARCHIVE_EOF) {
            break;
        }
        if (ret != ARCHIVE_OK && ret != ARCHIVE_WARN) {
            return ntk_archive_failed(r->archive, r->err);
        }
        ret = read_member(r, entry);
        if (ret < 0) {
            return ret;
        }
    }
    return r->members.count > 0
               ? 0
               : ntk_err_set(r->err, -EBADMSG, NTK_ERR_NO_OFFSET, "the archive is empty");
}

/* Reads the rest of a stream after the archive, because its reader checks the checksums at the very
 * end. */
static void read_rest(struct tar_reader *r)
{
    while (r->given < r->bytes_count) {
        const uint8_t *block;

        if (next_block(r, &block) == 0) {
            return;
        }
    }
}

static int read_archive(struct tar_reader *r, struct ntk_tar *out_tar)
{
    const uint8_t *start = r->bytes;
    size_t start_bytes = r->bytes_count;
    bool is_compressed;
    int ret;

    r->names_left = NAMES_BYTES_MAX;
    r->header_left = UINT64_MAX;
    ntk_vec_init(&r->members, sizeof(struct ntk_tar_member));
    r->archive = archive_read_new();
    r->block = r->read ? malloc(BLOCK_BYTES) : NULL;
    if (!r->archive || (r->read && !r->block)) {
        ret = ntk_err_no_memory(r->err);
        goto out;
    }
    if (r->read) {
        start_bytes = fill_block(r, r->bytes_count < 2 ? r->bytes_count : 2);
        start = r->block;
    }
    is_compressed = start_bytes >= 2 && start[0] == 0x1f && start[1] == 0x8b;
    r->left = r->bytes_count;
    if (is_compressed && __builtin_mul_overflow(r->left, INFLATION_MAX, &r->left)) {
        r->left = UINT64_MAX;
    }
    if (r->left > r->limits->total_bytes) {
        r->left = r->limits->total_bytes;
        r->is_limited = true;
    }
    if ((ret = open_input(r, is_compressed)) < 0 || (ret = read_members(r)) < 0 ||
        (is_compressed && (ret = inflate_rest(r)) < 0)) {
        goto out;
    }
    if (r->read) {
        read_rest(r);
    }
    if (r->read_failed < 0) {
        goto out;
    }

    *out_tar = (struct ntk_tar){ r->members.items, r->members.count, is_compressed };
    r->members = (struct ntk_vec)NTK_VEC_INIT(struct ntk_tar_member);

out:
    if (r->read_failed < 0) {
        ret = r->read_failed;
        if (r->err) {
            *r->err = r->read_err;
        }
    }
    members_free(r->members.items, r->members.count);
    archive_read_free(r->archive);
    if (r->is_gzip_begun) {
        (void)inflateEnd(&r->gzip);
    }
    free(r->inflated);
    free(r->block);
    return ret;
}

int ntk_tar_read_with(const void *bytes, size_t bytes_count, const struct ntk_tar_limits *limits,
                      const struct ntk_tar_hooks *hooks, struct ntk_tar *out_tar,
                      struct ntk_err *err)
{
    struct tar_reader r = {
        .limits = limits, .hooks = hooks, .bytes = bytes, .bytes_count = bytes_count, .err = err
    };

    return read_archive(&r, out_tar);
}

int ntk_tar_read_stream(int64_t (*read)(void *ctx, void *to, size_t bytes_count,
                                        struct ntk_err *err),
                        void *ctx, uint64_t bytes_count, const struct ntk_tar_limits *limits,
                        struct ntk_tar *out_tar, struct ntk_err *err)
{
    struct tar_reader r = {
        .limits = limits, .read = read, .read_ctx = ctx, .bytes_count = bytes_count, .err = err
    };

    return read_archive(&r, out_tar);
}

int ntk_tar_read(const void *bytes, size_t bytes_count, const struct ntk_tar_limits *limits,
                 struct ntk_tar *out_tar, struct ntk_err *err)
{
    return ntk_tar_read_with(bytes, bytes_count, limits, NULL, out_tar, err);
}
