/* SPDX-License-Identifier: MIT */
#include "shared/formats/common/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/vec.h"

/* Deflate cannot make more than 1032 bytes of one; so no member may claim more. */
#define INFLATION_MAX 1100

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

/* libarchive's own words, or ours when it has none. */
static int archive_failed(struct archive *archive, struct ntk_err *err)
{
    const char *text = archive_error_string(archive);

    if (archive_errno(archive) == ENOMEM) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "archive is damaged: %s",
                       text ? text : "unknown reason");
}

static void members_free(struct ntk_tar_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(members[i].name);
        free(members[i].bytes);
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

static int read_data(struct archive *archive, struct ntk_tar_member *member, uint64_t size,
                     struct ntk_err *err)
{
    size_t done = 0;

    member->bytes = malloc((size_t)size + 1);
    if (!member->bytes) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "no memory for %s of %llu bytes",
                           member->name, (unsigned long long)size);
    }
    while (done < size) {
        la_ssize_t got = archive_read_data(archive, member->bytes + done, (size_t)size - done);

        if (got < 0) {
            return archive_failed(archive, err);
        }
        if (got == 0) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s ends after %zu of %llu bytes",
                               member->name, done, (unsigned long long)size);
        }
        done += (size_t)got;
    }
    member->bytes[done] = 0;
    member->bytes_count = done;
    return 0;
}

static int read_member(struct archive *archive, struct archive_entry *entry,
                       const struct ntk_tar_limits *limits, uint64_t *left, struct ntk_vec *members,
                       struct ntk_err *err)
{
    const char *name = archive_entry_pathname(entry);
    struct ntk_tar_member *member;
    int64_t size = archive_entry_size(entry);

    if (!name) {
        name = archive_entry_pathname_utf8(entry);
    }
    if (!name) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "a member has no readable name");
    }
    while (name[0] == '.' && name[1] == '/') {
        name += 2;
    }
    if (archive_entry_filetype(entry) == AE_IFDIR) {
        return 0;
    }
    if (strlen(name) > limits->name_bytes) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "the name of a member is too long");
    }
    if (!ntk_tar_name_is_inside(name)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "member \"%s\" lies outside the archive", name);
    }
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "member \"%s\" is not a file", name);
    }
    if (members->count >= limits->member_count) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "more than %zu members",
                           limits->member_count);
    }
    if (size < 0 || (uint64_t)size > *left) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                           "member \"%s\" claims %lld bytes, more than the archive can hold", name,
                           (long long)size);
    }
    *left -= (uint64_t)size;

    member = ntk_vec_add(members);
    if (member) {
        member->name = strdup(name);
    }
    if (!member || !member->name) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    return read_data(archive, member, (uint64_t)size, err);
}

int ntk_tar_read(const void *bytes, size_t bytes_count, const struct ntk_tar_limits *limits,
                 struct ntk_tar *out_tar, struct ntk_err *err)
{
    const uint8_t *start = bytes;
    bool is_compressed = bytes_count >= 2 && start[0] == 0x1f && start[1] == 0x8b;
    uint64_t left = is_compressed ? (uint64_t)bytes_count * INFLATION_MAX : bytes_count;
    struct ntk_vec members = NTK_VEC_INIT(struct ntk_tar_member);
    struct archive_entry *entry;
    struct archive *archive = archive_read_new();
    int ret;

    if (!archive) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    if (left > limits->total_bytes) {
        left = limits->total_bytes;
    }
    /* One format, one filter: no other of libarchive's parsers ever sees the bytes. */
    archive_read_support_format_tar(archive);
    if (is_compressed) {
        archive_read_support_filter_gzip(archive);
    }
    if (archive_read_open_memory(archive, bytes, bytes_count) != ARCHIVE_OK) {
        ret = archive_failed(archive, err);
        goto out;
    }

    for (;;) {
        ret = archive_read_next_header(archive, &entry);
        if (ret == ARCHIVE_EOF) {
            break;
        }
        if (ret != ARCHIVE_OK && ret != ARCHIVE_WARN) {
            ret = archive_failed(archive, err);
            goto out;
        }
        ret = read_member(archive, entry, limits, &left, &members, err);
        if (ret < 0) {
            goto out;
        }
    }
    if (members.count == 0) {
        ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the archive is empty");
        goto out;
    }

    *out_tar = (struct ntk_tar){ members.items, members.count, is_compressed };
    members = (struct ntk_vec)NTK_VEC_INIT(struct ntk_tar_member);
    ret = 0;

out:
    members_free(members.items, members.count);
    archive_read_free(archive);
    return ret;
}

/* ---- writing ---- */

static la_ssize_t write_to_buf(struct archive *archive, void *ctx, const void *bytes, size_t count)
{
    struct ntk_buf *buf = ctx;

    ntk_buf_add(buf, bytes, count);
    if (!ntk_buf_ok(buf)) {
        archive_set_error(archive, ENOMEM, "out of memory");
        return -1;
    }
    return (la_ssize_t)count;
}

static int write_member(struct archive *archive, struct archive_entry *entry,
                        const struct ntk_tar_source *member, struct ntk_err *err)
{
    const uint8_t *bytes = member->bytes;
    size_t done = 0;

    if (!ntk_tar_name_is_inside(member->name)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "member \"%s\" lies outside the archive", member->name);
    }
    archive_entry_clear(entry);
    archive_entry_set_pathname(entry, member->name);
    archive_entry_set_size(entry, (la_int64_t)member->bytes_count);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0664);
    archive_entry_set_uid(entry, 1000);
    archive_entry_set_gid(entry, 1000);
    archive_entry_set_uname(entry, "nobody");
    archive_entry_set_gname(entry, "nobody");
    archive_entry_set_mtime(entry, 0, 0);
    if (archive_write_header(archive, entry) != ARCHIVE_OK) {
        return archive_failed(archive, err);
    }
    while (done < member->bytes_count) {
        la_ssize_t put = archive_write_data(archive, bytes + done, member->bytes_count - done);

        if (put <= 0) {
            return archive_failed(archive, err);
        }
        done += (size_t)put;
    }
    return 0;
}

int ntk_tar_write(const struct ntk_tar_source *members, size_t member_count, bool compress,
                  size_t align, uint8_t **out_bytes, size_t *out_count, struct ntk_err *err)
{
    struct ntk_buf buf = { 0 };
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    int ret;

    if (!archive || !entry) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
        goto out;
    }
    archive_write_set_format_pax_restricted(archive);
    if (compress) {
        archive_write_add_filter_gzip(archive);
        archive_write_set_filter_option(archive, "gzip", "timestamp", NULL);
    }
    archive_write_set_bytes_in_last_block(archive, 1);
    if (archive_write_open(archive, &buf, NULL, write_to_buf, NULL) != ARCHIVE_OK) {
        ret = archive_failed(archive, err);
        goto out;
    }
    for (size_t i = 0; i < member_count; i++) {
        ret = write_member(archive, entry, &members[i], err);
        if (ret < 0) {
            goto out;
        }
    }
    if (archive_write_close(archive) != ARCHIVE_OK) {
        ret = archive_failed(archive, err);
        goto out;
    }
    if (align > 0 && buf.bytes_count % align != 0) {
        ntk_buf_add_fill(&buf, 0, align - buf.bytes_count % align);
    }
    if (!ntk_buf_ok(&buf)) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
        goto out;
    }
    *out_bytes = (uint8_t *)ntk_buf_take(&buf, out_count);
    ret = 0;

out:
    archive_entry_free(entry);
    archive_write_free(archive);
    ntk_buf_fini(&buf);
    return ret;
}
