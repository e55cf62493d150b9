/* SPDX-License-Identifier: MIT */
/* tar_write - writes tar archives; tar.c reads them. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>

#include "shared/base/buf.h"
#include "shared/formats/common/archive_failed.h"
#include "shared/formats/common/tar.h"

/* Replaces a function of libarchive. In a static libarchive, the tar writer refers to all other
 * writers, and this one needs libxml2 and ICU. We never write xar archives. */
int archive_write_set_format_xar(struct archive *archive)
{
    archive_set_error(archive, ENOSYS, "xar is not supported");
    return ARCHIVE_FATAL;
}

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
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "member '%s' is outside the archive",
                           member->name);
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
        return ntk_archive_failed(archive, err);
    }
    while (done < member->bytes_count) {
        la_ssize_t put = archive_write_data(archive, bytes + done, member->bytes_count - done);

        if (put <= 0) {
            return ntk_archive_failed(archive, err);
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
        ret = ntk_err_no_memory(err);
        goto out;
    }
    archive_write_set_format_pax_restricted(archive);
    if (compress) {
        archive_write_add_filter_gzip(archive);
        archive_write_set_filter_option(archive, "gzip", "timestamp", NULL);
    }
    archive_write_set_bytes_in_last_block(archive, 1);
    if (archive_write_open(archive, &buf, NULL, write_to_buf, NULL) != ARCHIVE_OK) {
        ret = ntk_archive_failed(archive, err);
        goto out;
    }
    for (size_t i = 0; i < member_count; i++) {
        ret = write_member(archive, entry, &members[i], err);
        if (ret < 0) {
            goto out;
        }
    }
    if (archive_write_close(archive) != ARCHIVE_OK) {
        ret = ntk_archive_failed(archive, err);
        goto out;
    }
    if (align > 0 && buf.bytes_count % align != 0) {
        ntk_buf_add_fill(&buf, 0, align - buf.bytes_count % align);
    }
    if (!ntk_buf_ok(&buf)) {
        ret = ntk_err_no_memory(err);
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
