/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_params_layout.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/common/zip.h"

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

void mlu_params_fini(struct mlu_params *params)
{
    ntk_map_each(entry, &params->arrays) {
        mlu_array_fini(entry->value);
        free(entry->value);
    }
    ntk_map_fini(&params->arrays);
}

const struct mlu_array *mlu_params_get(const struct mlu_params *params, const char *name)
{
    return ntk_map_get(&params->arrays, name);
}

int mlu_params_add(struct mlu_params *params, const char *name, struct mlu_array *array,
                   struct ntk_err *err)
{
    struct mlu_array *kept = NULL;
    int ret;

    if (ntk_str_starts_with(name, "arg:") || ntk_str_starts_with(name, "aux:")) {
        name += 4;
    }
    if (name[0] == '\0') {
        ret = BAD("an array without a name");
    } else if (ntk_map_get(&params->arrays, name)) {
        ret = ntk_err_set(err, -EEXIST, NTK_ERR_NO_OFFSET, "duplicate array '%s'", name);
    } else if (params->arrays.count == MLU_PARAMS_COUNT_MAX) {
        ret = ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "too many arrays (at most %d)",
                          MLU_PARAMS_COUNT_MAX);
    } else {
        kept = malloc(sizeof *kept);
        ret = kept ? ntk_map_put(&params->arrays, name, kept) : -ENOMEM;
        if (ret < 0) {
            ntk_err_no_memory(err);
        }
    }
    if (ret < 0 || !kept) {
        free(kept);
        mlu_array_fini(array);
        return ret;
    }
    *kept = *array;
    *array = (struct mlu_array){ 0 };
    return 0;
}

static int parse_zip(const void *bytes, size_t bytes_count, struct mlu_params *params,
                     struct ntk_err *err)
{
    static const struct ntk_zip_limits limits = { .total_bytes = MLU_PARAMS_BYTES_MAX,
                                                  .member_count = MLU_PARAMS_COUNT_MAX,
                                                  .name_bytes = MLU_PARAMS_NAME_BYTES_MAX };
    struct ntk_zip zip;
    int ret = ntk_zip_read(bytes, bytes_count, &limits, &zip, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; ret == 0 && i < zip.member_count; i++) {
        struct ntk_zip_member *member = &zip.members[i];
        struct mlu_array array;

        if (ntk_str_ends_with(member->name, ".npy")) {
            member->name[strlen(member->name) - 4] = '\0';
        }
        ret = mlu_array_from_npy(&array, member->bytes, member->bytes_count, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%s", member->name);
        } else {
            ret = mlu_params_add(params, member->name, &array, err);
        }
        free(member->bytes); /* the array now owns them */
        member->bytes = NULL;
    }
    ntk_zip_fini(&zip);
    return ret;
}

static bool is_inside(uint64_t offset, uint64_t count, uint64_t from, uint64_t to)
{
    return offset >= from && offset <= to && count <= to - offset;
}

static int parse_entry(const uint8_t *bytes, const struct mlu_params_header *header, uint32_t index,
                       struct mlu_params *params, struct ntk_err *err)
{
    uint64_t names_from =
        sizeof *header + (uint64_t)header->count * sizeof(struct mlu_params_entry);
    struct mlu_params_entry entry;
    struct mlu_shape shape = { 0 };
    struct mlu_array array;
    char name[MLU_PARAMS_NAME_BYTES_MAX + 1];
    int ret;

    memcpy(&entry, bytes + sizeof *header + index * sizeof entry, sizeof entry);
    if (entry.dtype >= MLU_DTYPE_COUNT || entry.dim_count > MLU_DIMS_MAX) {
        return BAD("unsupported entry %u: element type %u, %u dimensions", index, entry.dtype,
                   entry.dim_count);
    }
    if (entry.name_bytes == 0 || entry.name_bytes > MLU_PARAMS_NAME_BYTES_MAX ||
        !is_inside(entry.name_offset, entry.name_bytes, names_from, header->file_bytes)) {
        return BAD("the name of entry %u is empty, too long or outside the file", index);
    }
    memcpy(name, bytes + entry.name_offset, entry.name_bytes);
    name[entry.name_bytes] = '\0';
    if (strlen(name) != entry.name_bytes) {
        return BAD("the name of entry %u contains a NUL", index);
    }
    if (entry.data_offset % MLU_PARAMS_ALIGN != 0 ||
        !is_inside(entry.data_offset, entry.data_bytes, names_from, header->file_bytes)) {
        return BAD("%s: its data is outside the file or not aligned to %d", name, MLU_PARAMS_ALIGN);
    }
    shape.dim_count = entry.dim_count;
    memcpy(shape.dims, entry.dims, sizeof shape.dims);
    uint64_t count = mlu_shape_count(&shape);
    if (count > MLU_PARAMS_BYTES_MAX ||
        count * mlu_dtype_bytes((enum mlu_dtype)entry.dtype) != entry.data_bytes) {
        return BAD("%s: %llu bytes do not match its shape", name,
                   (unsigned long long)entry.data_bytes);
    }
    ret = mlu_array_init(&array, (enum mlu_dtype)entry.dtype, &shape, err);
    if (ret < 0) {
        return ret;
    }
    memcpy(array.data, bytes + entry.data_offset, entry.data_bytes);
    return mlu_params_add(params, name, &array, err);
}

static int parse_raw(const uint8_t *bytes, size_t bytes_count, struct mlu_params *params,
                     struct ntk_err *err)
{
    struct mlu_params_header header;
    uint64_t array_bytes = 0;

    if (bytes_count < sizeof header) {
        return BAD("the file ends inside the header");
    }
    memcpy(&header, bytes, sizeof header);
    if (header.version != MLU_PARAMS_VERSION) {
        return BAD("unsupported raw parameters version %u (supported: %d)", header.version,
                   MLU_PARAMS_VERSION);
    }
    if (header.file_bytes != bytes_count) {
        return BAD("the file has %zu bytes, but its header states %llu", bytes_count,
                   (unsigned long long)header.file_bytes);
    }
    if (header.count > MLU_PARAMS_COUNT_MAX ||
        header.count > (bytes_count - sizeof header) / sizeof(struct mlu_params_entry)) {
        return BAD("invalid number of entries: %u do not fit in the file, or exceed %d",
                   header.count, MLU_PARAMS_COUNT_MAX);
    }
    for (uint32_t i = 0; i < header.count; i++) {
        struct mlu_params_entry entry;

        memcpy(&entry, bytes + sizeof header + i * sizeof entry, sizeof entry);
        /* Entries may share bytes of the file, but their total size in memory is limited to the
         * size of the file. */
        if (__builtin_add_overflow(array_bytes, entry.data_bytes, &array_bytes) ||
            array_bytes > bytes_count) {
            return BAD("the data of entry %u overlaps another entry", i);
        }
        int ret = parse_entry(bytes, &header, i, params, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

int mlu_params_parse(const void *bytes, size_t bytes_count, struct mlu_params *out_params,
                     struct ntk_err *err)
{
    struct mlu_params params = { 0 };
    int ret;

    if (bytes_count == 0) {
        return BAD("the file is empty");
    }
    if (bytes_count >= 8 && memcmp(bytes, MLU_PARAMS_MAGIC, 8) == 0) {
        ret = parse_raw(bytes, bytes_count, &params, err);
    } else if (bytes_count >= 2 && memcmp(bytes, "PK", 2) == 0) {
        ret = parse_zip(bytes, bytes_count, &params, err);
    } else {
        ret = BAD("neither a zip archive of .npy files nor raw parameters");
    }
    if (ret < 0) {
        mlu_params_fini(&params);
        return ret;
    }
    *out_params = params;
    return 0;
}

int mlu_params_read(const char *path, struct mlu_params *out_params, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count;
    int ret = ntk_fs_read(path, MLU_PARAMS_BYTES_MAX, &bytes, &count, err);

    if (ret < 0) {
        return ret;
    }
    ret = mlu_params_parse(bytes, count, out_params, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    free(bytes);
    return ret;
}

static uint64_t aligned(uint64_t offset)
{
    return (offset + MLU_PARAMS_ALIGN - 1) / MLU_PARAMS_ALIGN * MLU_PARAMS_ALIGN;
}

static void write_zeros(FILE *file, uint64_t count)
{
    static const uint8_t zeros[MLU_PARAMS_ALIGN];

    fwrite(zeros, 1, count, file);
}

int mlu_params_write(const struct mlu_params *params, const char *path, struct ntk_err *err)
{
    struct mlu_params_header header = { .magic = MLU_PARAMS_MAGIC,
                                        .version = MLU_PARAMS_VERSION,
                                        .count = (uint32_t)params->arrays.count };
    uint64_t names_at = sizeof header + params->arrays.count * sizeof(struct mlu_params_entry);
    uint64_t data_at = names_at;
    struct ntk_fs_replace replace = { 0 };
    int ret;

    ntk_map_each(entry, &params->arrays) {
        if (strlen(entry->key) > MLU_PARAMS_NAME_BYTES_MAX) {
            return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                               "name too long: %zu bytes (at most %d)", strlen(entry->key),
                               MLU_PARAMS_NAME_BYTES_MAX);
        }
        data_at += strlen(entry->key);
    }
    uint64_t first_data = data_at = aligned(data_at);
    header.file_bytes = data_at;
    ntk_map_each(entry, &params->arrays) {
        const struct mlu_array *array = entry->value;

        header.file_bytes =
            aligned(header.file_bytes + array->count * mlu_dtype_bytes(array->dtype));
    }
    ret = ntk_fs_replace_begin(&replace, path, err);
    if (ret < 0) {
        return ret;
    }
    fwrite(&header, sizeof header, 1, replace.file);
    ntk_map_each(entry, &params->arrays) {
        const struct mlu_array *array = entry->value;
        struct mlu_params_entry row = { .dtype = array->dtype,
                                        .dim_count = array->shape.dim_count,
                                        .name_offset = names_at,
                                        .name_bytes = strlen(entry->key),
                                        .data_offset = data_at,
                                        .data_bytes =
                                            array->count * mlu_dtype_bytes(array->dtype) };

        memcpy(row.dims, array->shape.dims, array->shape.dim_count * sizeof row.dims[0]);
        fwrite(&row, sizeof row, 1, replace.file);
        names_at += row.name_bytes;
        data_at = aligned(data_at + row.data_bytes);
    }
    ntk_map_each(entry, &params->arrays) {
        fwrite(entry->key, 1, strlen(entry->key), replace.file);
    }
    write_zeros(replace.file, first_data - names_at);
    ntk_map_each(entry, &params->arrays) {
        const struct mlu_array *array = entry->value;
        uint64_t bytes = array->count * mlu_dtype_bytes(array->dtype);

        fwrite(array->data, 1, bytes, replace.file);
        write_zeros(replace.file, aligned(bytes) - bytes);
    }
    return ntk_fs_replace_commit(&replace, err);
}
