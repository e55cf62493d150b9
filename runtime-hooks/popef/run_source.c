/* SPDX-License-Identifier: MIT */
/* run_source - reads the data of an input: a tensor, a feed, or a file of the caller. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/popef/run.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

#define START_BYTES 4200 /* bytes at the start of a NumPy file that contain its header */
#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

static int file_open(struct run_source *source, const char *path, struct ntk_err *err)
{
    uint8_t start[START_BYTES];
    struct ntk_neff_npy npy;
    struct stat status;
    size_t offset = 0;

    source->path = path;
    source->file = ntk_fs_open_regular(path, &status, err);
    if (source->file < 0) {
        return source->file;
    }
    source->total_bytes = (uint64_t)status.st_size;
    if (!ntk_str_ends_with(path, ".npy")) {
        return 0;
    }
    ssize_t got = pread(source->file, start, sizeof start, 0);
    int ret = ntk_neff_npy_read_start(start, got > 0 ? (size_t)got : 0, source->total_bytes, &npy,
                                      &offset, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
        return ret;
    }
    if (npy.fortran_order && npy.dim_count > 1) {
        return BAD("%s: the array is stored in column-major order (fortran_order); save it in "
                   "row-major order",
                   path);
    }
    source->offset = offset;
    source->total_bytes = npy.data_bytes;
    return 0;
}

static int stream_open(struct run_source *source, const struct popef_reader *reader,
                       const struct popef_blob *blob, struct ntk_err *err)
{
    struct popef_error popef_err = { 0 };

    source->total_bytes = blob->data_size;
    if (popef_reader_open_stream(reader, blob, &source->stream, &popef_err) < 0) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", popef_err.text);
    }
    return 0;
}

int run_source_open(struct run_source *source, const struct popef_reader *reader,
                    const struct popef_model_anchor *found, const struct popef_metadata *metadata,
                    const char *path, uint64_t seed, bool has_seed, struct ntk_err *err)
{
    const struct popef_anchor *anchor = found->anchor;
    uint64_t one = 0;
    int ret = 0;

    *source = (struct run_source){ .anchor = anchor, .file = -1 };
    source->item_bytes = (uint64_t)popef_tensor_info_size_in_bytes(&anchor->tensor_info);
    if (run_anchor_replica_bytes(anchor, metadata, &one) == 0 && source->item_bytes > 0) {
        return BAD("%s: the shape of the anchor is too small for its replicas and repeats",
                   anchor->name);
    }
    bool is_seed = has_seed && metadata->seed_handle[0] != '\0' &&
                   strcmp(anchor->handle, metadata->seed_handle) == 0;
    if (path) {
        ret = file_open(source, path, err);
        if (ret == 0 && one > 0 && source->total_bytes % one != 0) {
            ret = BAD("%s has %" PRIu64 " bytes, not a multiple of the tensor size %" PRIu64
                      " for %s",
                      path, source->total_bytes, one, anchor->name);
        }
    } else if (found->feed) {
        ret = stream_open(source, reader, &found->feed->blob, err);
    } else if (found->tensor) {
        source->is_constant = true;
        ret = stream_open(source, reader, &found->tensor->blob, err);
    } else if (is_seed) {
        source->is_constant = true;
    } else {
        ret = ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                          "the input '%s' (%s) has no source: no tensor or feed has its name; "
                          "use --input %s=FILE",
                          anchor->name, anchor->handle, anchor->name);
    }
    if (ret == 0 && source->total_bytes == 0 && source->item_bytes > 0 && !is_seed) {
        ret = ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "the data for the input '%s' is empty",
                          anchor->name);
    }
    if (ret == 0) {
        source->item = calloc(1, source->item_bytes + 1);
        ret = source->item ? 0
                           : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                                         "out of memory for %" PRIu64 " bytes of the input '%s'",
                                         source->item_bytes, anchor->name);
    }
    if (ret == 0 && source->item && is_seed && !source->stream && source->file < 0) {
        memcpy(source->item, &seed, source->item_bytes < 8 ? source->item_bytes : 8);
    }
    return ret;
}

void run_source_close(struct run_source *source)
{
    popef_stream_close(source->stream);
    if (source->anchor && source->file >= 0) {
        (void)close(source->file);
    }
    free(source->item);
    *source = (struct run_source){ 0 };
}

uint64_t run_source_items(const struct run_source *source)
{
    if (source->is_constant || source->item_bytes == 0) {
        return UINT64_MAX;
    }
    return source->total_bytes / source->item_bytes +
           (source->total_bytes % source->item_bytes != 0);
}

static int stream_read(struct run_source *source, uint64_t at, size_t count, struct ntk_err *err)
{
    struct popef_error popef_err = { 0 };

    if (popef_stream_seek(source->stream, at, &popef_err) < 0 ||
        popef_stream_read(source->stream, source->item, count, &popef_err) < 0) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", popef_err.text);
    }
    return 0;
}

int run_source_take(struct run_source *source, struct ntk_err *err)
{
    uint64_t at = source->next * source->item_bytes;
    int ret = 0;

    if (source->is_constant && source->next > 0) {
        return 0; /* the item has already been read */
    }
    source->next++;
    if (!source->stream && source->file < 0) {
        return 0;
    }
    uint64_t left = at < source->total_bytes ? source->total_bytes - at : 0;
    size_t count = left < source->item_bytes ? (size_t)left : (size_t)source->item_bytes;
    if (count > 0) {
        ret = source->stream ? stream_read(source, at, count, err)
                             : ntk_fs_pread(source->file, source->item, count, source->offset + at);
        if (ret < 0 && source->file >= 0) {
            ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", source->path,
                        strerror(-ret));
        }
    }
    memset(source->item + count, 0, source->item_bytes - count);
    return ret;
}
