/* SPDX-License-Identifier: MIT */
#include "shared/formats/common/zip.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/vec.h"
#include "shared/formats/common/archive_failed.h"
#include "shared/formats/common/tar.h"

/* Size of one read from a member. Its memory grows with the data, not with the stated size. */
#define BLOCK_BYTES (UINT64_C(1) << 20)

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)
#define TOO_MUCH(...) ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

void ntk_zip_fini(struct ntk_zip *zip)
{
    if (zip) {
        for (size_t i = 0; i < zip->member_count; i++) {
            free(zip->members[i].name);
            free(zip->members[i].bytes);
        }
        free(zip->members);
        *zip = (struct ntk_zip){ 0 };
    }
}

static int read_bytes(struct archive *archive, struct archive_entry *entry, uint64_t *left,
                      struct ntk_zip_member *member, struct ntk_err *err)
{
    bool is_declared = archive_entry_size_is_set(entry);
    uint64_t declared = is_declared ? (uint64_t)archive_entry_size(entry) : 0;
    uint64_t capacity = 0;

    if (is_declared && declared > *left) {
        return TOO_MUCH("member '%s': %llu bytes exceed the limit", member->name,
                        (unsigned long long)declared);
    }
    for (;;) {
        if (member->bytes_count == capacity) {
            /* One extra byte shows whether data follows beyond the stated size. */
            uint64_t more = capacity < BLOCK_BYTES ? BLOCK_BYTES : capacity;
            uint64_t room =
                is_declared && declared - capacity < more ? declared - capacity + 1 : more;
            uint8_t *grown = realloc(member->bytes, capacity + room + 1);

            if (!grown) {
                return ntk_err_no_memory(err);
            }
            member->bytes = grown;
            capacity += room;
        }
        la_ssize_t got = archive_read_data(archive, member->bytes + member->bytes_count,
                                           capacity - member->bytes_count);
        if (got < 0) {
            return ntk_archive_failed(archive, err);
        }
        if (got == 0) {
            break;
        }
        member->bytes_count += (size_t)got;
        if (member->bytes_count > *left || (is_declared && member->bytes_count > declared)) {
            return TOO_MUCH("member '%s' expands beyond %s", member->name,
                            is_declared ? "its declared size" : "the size limit");
        }
    }
    if (is_declared && member->bytes_count != declared) {
        return BAD("member '%s' ends after %zu of %llu bytes", member->name, member->bytes_count,
                   (unsigned long long)declared);
    }
    member->bytes[member->bytes_count] = '\0';
    *left -= member->bytes_count;
    return 0;
}

static int read_member(struct archive *archive, struct archive_entry *entry,
                       const struct ntk_zip_limits *limits, uint64_t *left, struct ntk_vec *members,
                       struct ntk_err *err)
{
    const char *name = archive_entry_pathname(entry);

    if (archive_entry_filetype(entry) == AE_IFDIR) {
        return 0;
    }
    if (!name || !ntk_tar_name_is_inside(name)) {
        return BAD("invalid member name '%s'", name ? name : "");
    }
    if (strlen(name) > limits->name_bytes) {
        return TOO_MUCH("the name of a member is too long (%zu bytes)", strlen(name));
    }
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_is_encrypted(entry)) {
        return BAD("member '%s' is encrypted or not a regular file", name);
    }
    if (members->count == limits->member_count) {
        return TOO_MUCH("too many members (at most %zu)", limits->member_count);
    }
    struct ntk_zip_member *member = ntk_vec_add(members);
    if (!member) {
        return ntk_err_no_memory(err);
    }
    member->name = strdup(name);
    if (!member->name) {
        return ntk_err_no_memory(err);
    }
    return read_bytes(archive, entry, left, member, err);
}

int ntk_zip_read(const void *bytes, size_t bytes_count, const struct ntk_zip_limits *limits,
                 struct ntk_zip *out_zip, struct ntk_err *err)
{
    struct ntk_vec members = NTK_VEC_INIT(struct ntk_zip_member);
    uint64_t left = limits->total_bytes;
    struct ntk_zip zip;
    struct archive *archive;
    int ret = 0;

    /* An empty archive consists only of an end record. */
    if (bytes_count < 4 || (memcmp(bytes, "PK\3\4", 4) != 0 && memcmp(bytes, "PK\5\6", 4) != 0)) {
        return BAD("not a zip archive");
    }
    archive = archive_read_new();
    if (!archive) {
        return ntk_err_no_memory(err);
    }
    if (archive_read_support_format_zip_seekable(archive) != ARCHIVE_OK ||
        archive_read_open_memory(archive, bytes, bytes_count) != ARCHIVE_OK) {
        ret = ntk_archive_failed(archive, err);
    }
    while (ret == 0) {
        struct archive_entry *entry;
        int got = archive_read_next_header(archive, &entry);

        if (got == ARCHIVE_EOF) {
            break;
        }
        ret = got < ARCHIVE_OK ? ntk_archive_failed(archive, err)
                               : read_member(archive, entry, limits, &left, &members, err);
    }
    archive_read_free(archive);
    zip = (struct ntk_zip){ members.items, members.count };
    if (ret < 0) {
        ntk_zip_fini(&zip);
        return ret;
    }
    *out_zip = zip;
    return 0;
}
