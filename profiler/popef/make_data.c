/* SPDX-License-Identifier: MIT */
/* make_data - reads the data of tensors, feeds and opaque blobs: NumPy arrays, raw files,
 * values. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/popef/make.h"
#include "shared/base/fs.h"
#include "shared/base/buf.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)
#define START_BYTES 4200 /* bytes at the start of a NumPy file that contain its header */

/* NumPy's names of types; 8-bit floats are bytes in NumPy. */
static const struct {
    const char *descr;
    enum popef_data_type type;
} npy_types[] = {
    { "|b1", POPEF_BOOL }, { "<f2", POPEF_F16 }, { "<f4", POPEF_F32 }, { "<f8", POPEF_F64 },
    { "|i1", POPEF_S8 },   { "|u1", POPEF_U8 },  { "<i2", POPEF_S16 }, { "<u2", POPEF_U16 },
    { "<i4", POPEF_S32 },  { "<u4", POPEF_U32 }, { "<i8", POPEF_S64 }, { "<u8", POPEF_U64 },
};

static int npy_info(const struct ntk_neff_npy *npy, const char *path,
                    struct popef_tensor_info *info, struct ntk_err *err)
{
    size_t i = 0;

    while (i < sizeof npy_types / sizeof *npy_types &&
           strcmp(npy_types[i].descr, npy->descr) != 0) {
        i++;
    }
    if (i == sizeof npy_types / sizeof *npy_types) {
        return BAD("%s: unsupported element type '%s'", path, npy->descr);
    }
    if (npy->fortran_order && npy->dim_count > 1) {
        return BAD("%s: the array is stored in column-major order (fortran_order); save it in "
                   "row-major order",
                   path);
    }
    info->data_type = npy_types[i].type;
    info->rank = npy->dim_count;
    for (uint32_t d = 0; d < npy->dim_count; d++) {
        info->shape[d] = (int64_t)npy->dims[d];
    }
    return 0;
}

/* Reads type and shape of an array, and finds its data. */
static int npy_open(struct make_data *data, FILE *file, uint64_t file_bytes, struct ntk_err *err)
{
    uint8_t start[START_BYTES];
    size_t count = fread(start, 1, sizeof start, file);
    struct ntk_neff_npy npy;
    size_t offset = 0;
    int ret = ntk_neff_npy_read_start(start, count, file_bytes, &npy, &offset, err);

    if (ret < 0) {
        ntk_err_prefix(err, "%s", data->path);
        return ret;
    }
    data->offset = offset;
    data->bytes_count = npy.data_bytes;
    return npy_info(&npy, data->path, &data->info, err);
}

static int values_read(struct make_description *d, const json_t *values, struct make_data *data,
                       struct ntk_err *err)
{
    struct ntk_buf buf = { 0 };
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)values, i, item)
    {
        double real = json_number_value(item);
        uint64_t whole = (uint64_t)json_integer_value(item);
        float small = (float)real;
        size_t bytes = popef_data_type_size(data->info.data_type);

        if (!json_is_number(item) && !json_is_boolean(item)) {
            return BAD("%s: \"values\": not a number", data->name);
        }
        switch (data->info.data_type) {
        case POPEF_F32:
            ntk_buf_add(&buf, &small, sizeof small);
            break;
        case POPEF_F64:
            ntk_buf_add(&buf, &real, sizeof real);
            break;
        case POPEF_F8:
        case POPEF_F8143:
        case POPEF_F8152:
        case POPEF_F16:
            ntk_buf_fini(&buf);
            return BAD("%s: values of %s must be in a file", data->name,
                       popef_data_type_name(data->info.data_type));
        default:
            whole = json_is_true(item) ? 1 : whole;
            ntk_buf_add(&buf, &whole, bytes); /* little-endian, as in the file */
            break;
        }
    }
    data->bytes_count = buf.bytes_count;
    data->bytes = make_keep(d, ntk_buf_take(&buf, NULL));
    return data->bytes || data->bytes_count == 0 ? 0 : ntk_err_no_memory(err);
}

static int file_open(struct make_description *d, const char *file, struct make_data *data,
                     FILE **out_file, uint64_t *out_bytes, struct ntk_err *err)
{
    struct stat status;
    char *path = NULL;

    if (asprintf(&path, "%s%s%s", file[0] == '/' ? "" : d->folder, file[0] == '/' ? "" : "/",
                 file) < 0 ||
        !(data->path = make_keep(d, path))) {
        return ntk_err_no_memory(err);
    }
    int fd = ntk_fs_open_regular(data->path, &status, err);
    if (fd < 0) {
        return fd;
    }
    *out_file = fdopen(fd, "rb");
    if (!*out_file) {
        (void)close(fd);
        return ntk_err_no_memory(err);
    }
    *out_bytes = (uint64_t)status.st_size;
    return 0;
}

/* Overrides the type: an 8-bit float is stored as an array of bytes of the same size. */
static int type_override(const char *name, const char *type_name, struct make_data *data,
                         struct ntk_err *err)
{
    enum popef_data_type type = POPEF_BOOL;

    if (popef_data_type_find(type_name, &type) < 0) {
        return BAD("%s: unknown data type %s", name, type_name);
    }
    if (popef_data_type_size(type) != popef_data_type_size(data->info.data_type)) {
        return BAD("%s: %s does not match the size of the array's elements", name, type_name);
    }
    data->info.data_type = type;
    return 0;
}

static int shape_read(const json_t *shape, struct make_data *data, struct ntk_err *err)
{
    size_t i;
    json_t *dim;

    if (!json_is_array(shape) || json_array_size(shape) > POPEF_RANK_MAX) {
        return BAD("%s: \"shape\": expected a list of at most %d dimensions", data->name,
                   POPEF_RANK_MAX);
    }
    data->info.rank = (uint32_t)json_array_size(shape);
    json_array_foreach((json_t *)shape, i, dim)
    {
        if (!json_is_integer(dim)) {
            return BAD("%s: \"shape\": invalid dimension", data->name);
        }
        data->info.shape[i] = json_integer_value(dim);
    }
    return 0;
}

/* Computes the number of tensors in a feed, which must divide its size. */
static int feed_count(struct make_data *data, bool is_npy, struct ntk_err *err)
{
    if (is_npy) {
        if (data->info.rank == 0) {
            return BAD("%s: the first dimension of a feed must be the number of its tensors",
                       data->name);
        }
        data->num_tensors = (uint64_t)data->info.shape[0];
        data->info.rank--;
        memmove(data->info.shape, data->info.shape + 1, data->info.rank * sizeof(int64_t));
        return 0;
    }
    int64_t each = popef_tensor_info_size_in_bytes(&data->info);
    if (each <= 0 || data->bytes_count % (uint64_t)each != 0) {
        return BAD("%s: %llu bytes are not a multiple of the tensor size (%lld bytes)", data->name,
                   (unsigned long long)data->bytes_count, (long long)each);
    }
    data->num_tensors = data->bytes_count / (uint64_t)each;
    return 0;
}

static int keys_check(const json_t *item, enum make_data_kind kind, struct ntk_err *err)
{
    static const char *const keys[2][7] = {
        { "name", "file", "dataType", "shape", "values", NULL },
        { "name", "executable", "file", "text", NULL },
    };
    const char *const *known = keys[kind == MAKE_OPAQUE];
    const char *key;
    json_t *value;

    if (!json_is_object(item) || !json_is_string(json_object_get(item, "name"))) {
        return BAD("a tensor, feed or opaque blob has no \"name\"");
    }
    json_object_foreach((json_t *)item, key, value)
    {
        size_t i = 0;

        while (known[i] && strcmp(known[i], key) != 0) {
            i++;
        }
        if (!known[i]) {
            return BAD("%s: unknown key '%s'", json_string_value(json_object_get(item, "name")),
                       key);
        }
    }
    return 0;
}

static int opaque_read(struct make_description *d, const json_t *item, struct make_data *data,
                       struct ntk_err *err)
{
    const char *file = json_string_value(json_object_get(item, "file"));
    const char *text = json_string_value(json_object_get(item, "text"));
    FILE *opened = NULL;

    data->executable = json_string_value(json_object_get(item, "executable"));
    if (file) {
        int ret = file_open(d, file, data, &opened, &data->bytes_count, err);

        if (ret == 0) {
            (void)fclose(opened);
        }
        return ret;
    }
    data->bytes = (uint8_t *)(text ? text : ""); /* the bytes are only read */
    data->bytes_count = text ? strlen(text) : 0;
    return 0;
}

int make_data_read(struct make_description *d, const json_t *item, enum make_data_kind kind,
                   struct make_data *out, struct ntk_err *err)
{
    struct make_data data = { 0 };
    FILE *opened = NULL;
    int ret = keys_check(item, kind, err);

    if (ret < 0) {
        return ret;
    }
    data.name = json_string_value(json_object_get(item, "name"));
    if (kind == MAKE_OPAQUE) {
        ret = opaque_read(d, item, &data, err);
        *out = data;
        return ret;
    }
    const char *file = json_string_value(json_object_get(item, "file"));
    const char *type = json_string_value(json_object_get(item, "dataType"));
    const json_t *values = json_object_get(item, "values");
    bool is_npy = file && ntk_str_ends_with(file, ".npy");

    if ((file != NULL) == (values != NULL)) {
        return BAD("%s: expected either \"file\" or \"values\"", data.name);
    }
    if (file) {
        ret = file_open(d, file, &data, &opened, &data.bytes_count, err);
    }
    if (ret == 0 && is_npy) {
        ret = npy_open(&data, opened, data.bytes_count, err);
        if (ret == 0 && type) {
            ret = type_override(data.name, type, &data, err);
        }
    } else if (ret == 0) {
        if (!type || popef_data_type_find(type, &data.info.data_type) < 0) {
            ret = BAD("%s: missing or unknown \"dataType\": %s", data.name,
                      type ? type : "such as F32");
        } else {
            ret = shape_read(json_object_get(item, "shape"), &data, err);
        }
        if (ret == 0 && values) {
            ret = values_read(d, values, &data, err);
        }
    }
    if (ret == 0 && kind == MAKE_FEED) {
        ret = feed_count(&data, is_npy, err);
    }
    if (opened) {
        (void)fclose(opened);
    }
    *out = data;
    return ret;
}
