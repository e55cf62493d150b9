/* SPDX-License-Identifier: MIT */
/* neff_read - opens a NEFF: header, archive, info.json; neff_read_graph.c reads the rest. */
#include "shared/formats/neff/neff_read_private.h"

#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/cursor.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff_layout.h"

/* Members of the tar archive are returned as public members without copying. */
static_assert(sizeof(struct ntk_neff_member) == sizeof(struct ntk_tar_member), "same struct");
static_assert(offsetof(struct ntk_neff_member, bytes_count) ==
                  offsetof(struct ntk_tar_member, bytes_count),
              "same struct");
static_assert(offsetof(struct ntk_neff_member, is_omitted) ==
                  offsetof(struct ntk_tar_member, is_omitted),
              "same struct");

/* ---- header ---- */

struct ntk_neff_header ntk_neff_header_of(const uint8_t *bytes)
{
    struct ntk_neff_header header = { 0 };
    struct ntk_cursor cursor;

    ntk_cursor_init(&cursor, bytes, NTK_NEFF_HEADER_BYTES);
    header.pkg_version = ntk_cursor_u64(&cursor);
    header.header_size = ntk_cursor_u64(&cursor);
    header.data_size = ntk_cursor_u64(&cursor);
    header.version_major = ntk_cursor_u64(&cursor);
    header.version_minor = ntk_cursor_u64(&cursor);
    memcpy(header.build_version, ntk_cursor_take(&cursor, 128), 128);
    header.num_tpb = ntk_cursor_u32(&cursor);
    memcpy(header.hash, ntk_cursor_take(&cursor, 32), 32);
    memcpy(header.uuid, ntk_cursor_take(&cursor, 16), 16);
    memcpy(header.name, ntk_cursor_take(&cursor, 256), 256);
    header.requested_tpb_count = ntk_cursor_u32(&cursor);
    memcpy(header.tpb_per_node, ntk_cursor_take(&cursor, 64), 64);
    header.feature_bits = ntk_cursor_u64(&cursor);
    header.lnc_size = ntk_cursor_u32(&cursor);
    return header;
}

int ntk_neff_read_header(const void *bytes, size_t bytes_count, struct ntk_neff_header *out_header,
                         struct ntk_err *err)
{
    if (bytes_count == 0) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the file is empty");
    }
    if (bytes_count <= NTK_NEFF_HEADER_BYTES) {
        return ntk_err_set(err, -EBADMSG, bytes_count,
                           "not a NEFF: %zu bytes are too few for its header", bytes_count);
    }
    struct ntk_neff_header header = ntk_neff_header_of(bytes);
    if (header.header_size < NTK_NEFF_HEADER_BYTES || header.header_size >= bytes_count) {
        return ntk_err_set(err, -EBADMSG, 8,
                           "not a NEFF: a header of %llu bytes in a file of %zu bytes",
                           (unsigned long long)header.header_size, bytes_count);
    }
    if (header.data_size == 0 || header.data_size > bytes_count - header.header_size) {
        return ntk_err_set(err, -EBADMSG, 16, "%s: expected %llu bytes of payload, found %llu",
                           header.data_size == 0 ? "not a NEFF" : "the file is truncated",
                           (unsigned long long)header.data_size,
                           (unsigned long long)(bytes_count - header.header_size));
    }
    if (header.pkg_version != 1 && header.pkg_version != 2) {
        return ntk_err_set(err, -ENOTSUP, 0,
                           "unsupported NEFF package version %llu (supported: 1 and 2)",
                           (unsigned long long)header.pkg_version);
    }
    *out_header = header;
    return 0;
}

uint32_t ntk_neff_lnc(const struct ntk_neff_header *header)
{
    return header->lnc_size == 0 ? 1 : header->lnc_size;
}

int ntk_neff_check_versions(const struct ntk_neff_header *header, uint64_t supported_features,
                            struct ntk_err *err)
{
    if (header->pkg_version != 1 && header->pkg_version != 2) {
        return ntk_err_set(err, -ENOTSUP, 0,
                           "unsupported NEFF package version %llu (supported: 1 and 2)",
                           (unsigned long long)header->pkg_version);
    }
    bool has_unknown = header->feature_bits & ~supported_features;
    if (header->version_major > 2 && !has_unknown) {
        return ntk_err_set(
            err, -ENOTSUP, 24, "NEFF version: %llu.%llu is not supported (supported: up to 2)",
            (unsigned long long)header->version_major, (unsigned long long)header->version_minor);
    }
    if (has_unknown) {
        return ntk_err_set(
            err, -ENOTSUP, 544,
            "NEFF version: %llu.%llu, features: 0x%llx are not supported. Currently supporting: "
            "%s0x%llx",
            (unsigned long long)header->version_major, (unsigned long long)header->version_minor,
            (unsigned long long)header->feature_bits,
            header->version_major > 2 ? "versions up to 2, " : "",
            (unsigned long long)supported_features);
    }
    return 0;
}

void ntk_neff_features_show(const struct ntk_neff_header *header, struct ntk_buf *out)
{
    static const char *const names[64] = { [10] = "virtual-core", [11] = "v3-2x-4x-dve-perf-mode" };
    const char *separator = "";

    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(header->feature_bits >> bit & 1)) {
            continue;
        }
        ntk_buf_add_text(out, separator);
        separator = ", ";
        if (names[bit]) {
            ntk_buf_add_text(out, names[bit]);
        } else {
            ntk_buf_add_format(out, "bit %u", bit);
        }
    }
    if (header->feature_bits == 0) {
        ntk_buf_add_text(out, "N/A");
    }
}

/* ---- info.json ---- */

static int read_info(struct reader *r)
{
    struct ntk_neff_info *info = &r->neff->info;
    const char *what = "info.json";
    const char *text;
    json_t *json;
    int ret;

    if (!ntk_neff_member_get(r->neff, what)) {
        return 0;
    }
    ret = neff_load_json(r, what, &json);
    if (ret < 0) {
        return ret;
    }
    ret = neff_get_text(r, json, what, "tool_version", "", &text);
    if (ret == 0) {
        ntk_str_copy(info->tool_version, sizeof info->tool_version, text);
        ret = neff_get_text(r, json, what, "kelp_version", "", &text);
    }
    if (ret == 0) {
        ntk_str_copy(info->kelp_version, sizeof info->kelp_version, text);
        text = json_string_value(json_object_get(json, "nki_version")); /* only for display */
        ntk_str_copy(info->nki_version, sizeof info->nki_version, text ? text : "");
        ret = neff_get_text(r, json, what, "name", "", &text);
    }
    if (ret == 0) {
        ntk_str_copy(info->name, sizeof info->name, text);
        ret = neff_get_u32(r, json, what, "num_tpb", UINT32_MAX, 0, &info->num_tpb);
    }
    if (ret == 0) {
        ret = neff_get_u32(r, json, what, "num_tpb_requested", UINT32_MAX, 0,
                           &info->num_tpb_requested);
    }
    neff_json_drop(r, json);
    return ret;
}

/* ---- open and close ---- */

static void parsed_drop(struct neff_private *data)
{
    ntk_map_each(entry, &data->parsed) {
        json_decref(entry->value);
    }
    ntk_map_fini(&data->parsed);
    ntk_map_fini(&data->costs);
}

void ntk_neff_close(struct ntk_neff *neff)
{
    struct neff_private *data;

    if (!neff) {
        return;
    }
    data = neff->private_data;
    if (data) {
        ntk_tar_fini(&data->tar);
        ntk_map_fini(&data->members);
        ntk_map_fini(&data->filled);
        parsed_drop(data);
        for (size_t i = 0; i < data->blocks.count; i++) {
            free(*(void **)ntk_vec_at(&data->blocks, i));
        }
        ntk_vec_fini(&data->blocks);
        free(data);
    }
    free(neff);
}

uint64_t ntk_neff_memory_left(const struct ntk_neff *neff)
{
    const struct neff_private *data = neff->private_data;

    return data ? data->budget : UINT64_MAX; /* not read from a file */
}

int ntk_neff_open_with(const void *bytes, size_t bytes_count,
                       const struct ntk_neff_open_options *options, struct ntk_neff **out_neff,
                       struct ntk_err *err)
{
    struct reader r = { .err = err,
                        .leave_constants = options->leave_constants,
                        .leave_code = options->leave_code };
    struct ntk_neff_header header = { 0 };
    struct ntk_neff *neff;
    int ret = ntk_neff_read_header(bytes, bytes_count, &header, err);

    if (ret < 0) {
        return ret;
    }
    neff = calloc(1, sizeof *neff);
    r.data = calloc(1, sizeof *r.data);
    if (!neff || !r.data) {
        free(neff);
        free(r.data);
        return NO_MEMORY(&r);
    }
    neff->private_data = r.data;
    r.data->budget = NEFF_BUDGET(bytes_count);
    r.data->work = 8 * r.data->budget;
    ntk_vec_init(&r.data->blocks, sizeof(void *));
    r.neff = neff;
    neff->header = header;

    if ((ret = neff_read_members(&r, (const uint8_t *)bytes + header.header_size, options)) < 0 ||
        (ret = read_info(&r)) < 0 || (ret = neff_read_graph(&r)) < 0) {
        goto out;
    }
    if (options->check_hash && neff->hash == NTK_NEFF_HASH_DIFFERS &&
        neff_hash_is_other_kind(neff)) {
        neff->hash = NTK_NEFF_HASH_OTHER_KIND;
    }
    parsed_drop(r.data);

    *out_neff = neff;
    neff = NULL;
    ret = 0;

out:
    ntk_neff_close(neff);
    return ret;
}

int ntk_neff_open_bytes(const void *bytes, size_t bytes_count, struct ntk_neff **out_neff,
                        struct ntk_err *err)
{
    return ntk_neff_open_with(bytes, bytes_count, &(struct ntk_neff_open_options){ 0 }, out_neff,
                              err);
}

int ntk_neff_open(const char *path, struct ntk_neff **out_neff, struct ntk_err *err)
{
    struct ntk_neff_open_options options = { .leave_constants = true, .keep_debug = true };
    uint8_t *bytes;
    size_t count;
    /* The file is read, not mapped: a file that shrinks during reading must not crash the
     * process. */
    int ret = ntk_fs_read(path, NTK_NEFF_FILE_BYTES_MAX, &bytes, &count, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_neff_open_with(bytes, count, &options, out_neff, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    free(bytes);
    return ret;
}
