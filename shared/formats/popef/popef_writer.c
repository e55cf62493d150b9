/* SPDX-License-Identifier: MIT */
/*
 * popef_writer - writes blobs to a file in order. A blob's header is written last, when its size is
 * known; a blob that cannot be finished is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/base/fs.h"
#include "shared/base/map.h"
#include "shared/formats/popef/popef_layout.h"
#include "shared/formats/popef/popef_private.h"

#define BUFFER_BYTES ((size_t)256 << 10)

struct popef_blob_writer {
    struct popef_writer *writer;
    struct popef_blob_writer *next; /* list of the writer's blob writers that are not closed */
};

/* The blob that is being written. */
struct active {
    /* NULL for metadata, which has no blob writer, or without an active blob */
    struct popef_blob_writer *blob;
    bool is_open;
    uint32_t type;
    char *name;
    uint64_t offset; /* position of its header */
    uint64_t info_bytes;
    uint64_t stored_bytes, full_bytes;
    bool has_expected; /* full_bytes must be reached at the end */
    uint64_t expected_bytes;
    bool is_compressed;
    z_stream deflater;
};

struct popef_writer {
    char *path;
    int fd;
    bool is_fd_ours;
    bool is_new; /* appending created the file */
    struct ntk_fs_replace replace;
    uint64_t begin;  /* size of the file when it was opened, which an abort restores */
    uint64_t offset; /* position of the buffer's content in the file */
    uint8_t *buffer; /* BUFFER_BYTES bytes */
    size_t buffered;
    struct active active;
    struct popef_blob_writer *blobs;
    struct ntk_map names[POPEF_BLOB_OPAQUE + 1]; /* names of executables, tensors and feeds */
    int failed; /* error that persists: the file can no longer be trusted */
};

static int cannot_write(struct popef_writer *writer, int error, struct popef_error *err)
{
    writer->failed = ntk_popef_fail(err, POPEF_ERROR_IO, POPEF_NO_OFFSET, "cannot write '%s': %s",
                                    writer->path, strerror(error));
    return writer->failed;
}

/* ---- bytes ---- */

static int flush(struct popef_writer *writer, struct popef_error *err)
{
    int ret = ntk_fs_pwrite(writer->fd, writer->buffer, writer->buffered, writer->offset);

    if (ret < 0) {
        return cannot_write(writer, -ret, err);
    }
    writer->offset += writer->buffered;
    writer->buffered = 0;
    return 0;
}

static uint64_t end_of(const struct popef_writer *writer)
{
    return writer->offset + writer->buffered;
}

static int put(struct popef_writer *writer, const void *bytes, size_t bytes_count,
               struct popef_error *err)
{
    if (bytes_count > BUFFER_BYTES - writer->buffered) {
        int ret = flush(writer, err);

        if (ret < 0) {
            return ret;
        }
    }
    if (bytes_count >= BUFFER_BYTES) { /* write large data without copying it */
        int ret = ntk_fs_pwrite(writer->fd, bytes, bytes_count, writer->offset);

        if (ret < 0) {
            return cannot_write(writer, -ret, err);
        }
        writer->offset += bytes_count;
    } else if (bytes_count > 0) {
        memcpy(writer->buffer + writer->buffered, bytes, bytes_count);
        writer->buffered += bytes_count;
    }
    return 0;
}

/* Overwrites earlier bytes. */
static int change(struct popef_writer *writer, uint64_t offset, const void *bytes,
                  size_t bytes_count, struct popef_error *err)
{
    if (offset >= writer->offset) {
        memcpy(writer->buffer + (offset - writer->offset), bytes, bytes_count);
        return 0;
    }
    int ret = flush(writer, err); /* the bytes may be partly in the buffer */
    if (ret == 0 && (ret = ntk_fs_pwrite(writer->fd, bytes, bytes_count, offset)) < 0) {
        ret = cannot_write(writer, -ret, err);
    }
    return ret;
}

/* ---- the active blob ---- */

static void active_end(struct popef_writer *writer)
{
    if (writer->active.is_compressed) {
        (void)deflateEnd(&writer->active.deflater);
    }
    free(writer->active.name);
    writer->active = (struct active){ 0 };
}

/* Restores the state before the active blob. */
static void active_take_back(struct popef_writer *writer)
{
    struct active *active = &writer->active;

    if (!active->is_open) {
        return;
    }
    if (active->offset >= writer->offset) {
        writer->buffered = (size_t)(active->offset - writer->offset);
    } else {
        writer->buffered = 0;
        writer->offset = active->offset;
        if (ftruncate(writer->fd, (off_t)active->offset) < 0) {
            (void)cannot_write(writer, errno, NULL);
        }
    }
    if (active->name && active->type <= POPEF_BLOB_OPAQUE) {
        (void)ntk_map_remove(&writer->names[active->type], active->name);
    }
    active_end(writer);
}

static int wrong_size(struct popef_writer *writer, uint64_t actual, struct popef_error *err)
{
    struct active *active = &writer->active;
    int ret =
        ntk_popef_fail(err, POPEF_ERROR_DATA_SIZE, active->offset,
                       "%s: %s: data size %llu, expected %llu", writer->path, active->name,
                       (unsigned long long)actual, (unsigned long long)active->expected_bytes);

    active_take_back(writer);
    return ret;
}

static int deflate_some(struct popef_writer *writer, const void *bytes, size_t bytes_count, int how,
                        struct popef_error *err)
{
    z_stream *z = &writer->active.deflater;
    uint8_t out[16 << 10];
    const uint8_t *at = bytes;
    int status = Z_OK;

    do {
        uInt count = bytes_count < INT32_MAX ? (uInt)bytes_count : INT32_MAX;

        z->next_in = (Bytef *)at;
        z->avail_in = count;
        do {
            z->next_out = out;
            z->avail_out = sizeof out;
            status = deflate(z, how);
            size_t given = sizeof out - z->avail_out;
            int ret = put(writer, out, given, err);

            if (ret < 0) {
                return ret;
            }
            writer->active.stored_bytes += given;
        } while (z->avail_out == 0 || (how == Z_FINISH && status == Z_OK));
        at = at ? at + count : NULL;
        bytes_count -= count;
    } while (bytes_count > 0);
    return 0;
}

static int active_finish(struct popef_writer *writer, struct popef_error *err)
{
    struct active *active = &writer->active;
    uint8_t header[NTK_OPEF_HEADER_BYTES];
    int ret = 0;

    if (!active->is_open) {
        return 0;
    }
    if (active->has_expected && active->full_bytes != active->expected_bytes) {
        return wrong_size(writer, active->full_bytes, err);
    }
    if (active->is_compressed) {
        ret = deflate_some(writer, NULL, 0, Z_FINISH, err);
    }
    if (ret == 0) {
        ntk_opef1_header(header, active->type, active->is_compressed, active->info_bytes,
                         active->stored_bytes, active->full_bytes);
        ret = change(writer, active->offset, header, sizeof header, err);
    }
    if (ret < 0) {
        active_take_back(writer);
        return ret;
    }
    ntk_popef_log(POPEF_LOG_DEBUG, "%s: %s '%s' of %llu bytes at offset %llu", writer->path,
                  ntk_popef_kind(active->type), active->name ? active->name : "",
                  (unsigned long long)active->stored_bytes, (unsigned long long)active->offset);
    active_end(writer);
    return 0;
}

/* ---- beginning a blob ---- */

static int name_add(struct popef_writer *writer, uint32_t type, const char *name,
                    struct popef_error *err)
{
    struct ntk_map *names = &writer->names[type];

    if (type == POPEF_BLOB_EXECUTABLE && (!name || name[0] == '\0')) {
        return ntk_popef_fail(err, POPEF_ERROR_NO_NAME, POPEF_NO_OFFSET,
                              "%s: executable without a name", writer->path);
    }
    if (!name || type == POPEF_BLOB_OPAQUE || type == POPEF_BLOB_METADATA) {
        return 0;
    }
    if (ntk_map_get(names, name)) {
        return ntk_popef_fail(err,
                              type == POPEF_BLOB_EXECUTABLE ? POPEF_ERROR_DUPLICATE_EXECUTABLE
                                                            : POPEF_ERROR_DUPLICATE_TENSOR,
                              POPEF_NO_OFFSET, "duplicate %s '%s'", ntk_popef_kind(type), name);
    }
    return ntk_map_put(names, name, writer) < 0 ? ntk_popef_no_memory(err) : 0;
}

static int put_start(struct popef_writer *writer, uint32_t type, const struct ntk_popef_info *info,
                     struct popef_error *err)
{
    static const uint8_t no_header[NTK_OPEF_HEADER_BYTES];
    struct ntk_buf start = { 0 };
    int ret = 0;

    ntk_opef1_put_info(&start, type, info, &writer->active.info_bytes);
    if (!ntk_buf_ok(&start)) {
        ret = ntk_popef_no_memory(err);
    } else if (writer->active.info_bytes > POPEF_INFO_BYTES_MAX) {
        ret = ntk_popef_fail(err, POPEF_ERROR_ARGUMENT, POPEF_NO_OFFSET,
                             "%s: the description is longer than 16 MiB", ntk_popef_kind(type));
    } else if ((ret = put(writer, no_header, sizeof no_header, err)) == 0) {
        ret = put(writer, start.bytes, start.bytes_count, err);
    }
    ntk_buf_fini(&start);
    return ret;
}

/* Finishes the previous blob and begins a new one. out_blob NULL: no data is written. */
static int begin(struct popef_writer *writer, uint32_t type, const struct ntk_popef_info *info,
                 bool compress, struct popef_blob_writer **out_blob, struct popef_error *err)
{
    struct active *active = &writer->active;
    struct popef_blob_writer *blob = NULL;
    int ret = writer->failed < 0 ? ntk_popef_fail(err, -writer->failed, POPEF_NO_OFFSET,
                                                  "%s: an earlier write failed", writer->path)
                                 : active_finish(writer, err);

    if (ret == 0) {
        ret = ntk_opef1_check(type, info, err);
    }
    if (ret == 0) {
        ret = name_add(writer, type, info->name, err);
    }
    if (ret < 0) {
        return ret;
    }
    active->is_open = true;
    active->type = type;
    active->offset = end_of(writer);
    active->name = strdup(info->name ? info->name : "metadata");
    if (!active->name || (out_blob && !(blob = calloc(1, sizeof *blob)))) {
        ret = ntk_popef_no_memory(err);
    } else if (compress && deflateInit(&active->deflater, Z_DEFAULT_COMPRESSION) != Z_OK) {
        ret = ntk_popef_no_memory(err);
    } else {
        active->is_compressed = compress;
        ret = put_start(writer, type, info, err);
    }
    if (ret < 0) {
        free(blob);
        active_take_back(writer);
        return ret;
    }
    if (blob) {
        blob->writer = writer;
        blob->next = writer->blobs;
        writer->blobs = blob;
        active->blob = blob;
        *out_blob = blob;
    }
    return 0;
}

int popef_writer_create_executable(struct popef_writer *writer, const char *name, bool compress,
                                   struct popef_blob_writer **out_blob, struct popef_error *err)
{
    struct ntk_popef_info info = { .name = name ? name : "" };

    return begin(writer, POPEF_BLOB_EXECUTABLE, &info, compress, out_blob, err);
}

int popef_writer_create_opaque_blob(struct popef_writer *writer, const char *name,
                                    const char *executable, struct popef_blob_writer **out_blob,
                                    struct popef_error *err)
{
    struct ntk_popef_info info = { .name = name ? name : "",
                                   .executable = executable ? executable : "" };

    return begin(writer, POPEF_BLOB_OPAQUE, &info, false, out_blob, err);
}

int popef_writer_create_tensor_data(struct popef_writer *writer,
                                    const struct popef_tensor_data_info *data,
                                    struct popef_blob_writer **out_blob, struct popef_error *err)
{
    struct ntk_popef_info info = { .name = data->name ? data->name : "",
                                   .tensor_info = data->tensor_info };
    int ret = begin(writer, POPEF_BLOB_TENSOR, &info, false, out_blob, err);

    if (ret == 0) {
        writer->active.has_expected = true;
        writer->active.expected_bytes =
            (uint64_t)popef_tensor_info_size_in_bytes(&data->tensor_info);
    }
    return ret;
}

int popef_writer_create_feed_data(struct popef_writer *writer,
                                  const struct popef_feed_data_info *data,
                                  struct popef_blob_writer **out_blob, struct popef_error *err)
{
    struct ntk_popef_info info = { .name = data->name ? data->name : "",
                                   .tensor_info = data->tensor_info,
                                   .num_tensors = data->num_tensors };
    int64_t each = popef_tensor_info_size_in_bytes(&data->tensor_info);
    uint64_t expected = 0;

    if (each >= 0 && (__builtin_mul_overflow((uint64_t)each, data->num_tensors, &expected) ||
                      expected > INT64_MAX)) {
        return ntk_popef_fail(err, POPEF_ERROR_ARGUMENT, POPEF_NO_OFFSET,
                              "%s: more tensors than a file can contain", info.name);
    }
    int ret = begin(writer, POPEF_BLOB_FEED, &info, false, out_blob, err);
    if (ret == 0) {
        writer->active.has_expected = true;
        writer->active.expected_bytes = expected;
    }
    return ret;
}

int popef_writer_write_metadata(struct popef_writer *writer, const struct popef_metadata *metadata,
                                struct popef_error *err)
{
    /* The cast is safe because the writer only reads the metadata. */
    struct ntk_popef_info info = { .metadata = (struct popef_metadata *)metadata };
    int ret = begin(writer, POPEF_BLOB_METADATA, &info, false, NULL, err);

    return ret < 0 ? ret : active_finish(writer, err);
}

/* ---- the data of a blob ---- */

int popef_blob_writer_write(struct popef_blob_writer *blob, const void *bytes, size_t bytes_count,
                            struct popef_error *err)
{
    struct popef_writer *writer = blob->writer;
    struct active *active = &writer->active;
    uint64_t full_bytes = 0;
    int ret;

    if (active->blob != blob) {
        return ntk_popef_fail(err, POPEF_ERROR_INACTIVE, POPEF_NO_OFFSET,
                              "blob writer is no longer active");
    }
    if (__builtin_add_overflow(active->full_bytes, bytes_count, &full_bytes) ||
        (active->has_expected && full_bytes > active->expected_bytes)) {
        return wrong_size(writer, full_bytes, err);
    }
    if (active->is_compressed) {
        ret = bytes_count > 0 ? deflate_some(writer, bytes, bytes_count, Z_NO_FLUSH, err) : 0;
    } else {
        ret = put(writer, bytes, bytes_count, err);
        active->stored_bytes += bytes_count;
    }
    active->full_bytes = full_bytes;
    if (ret < 0) {
        active_take_back(writer);
    }
    return ret;
}

int popef_blob_writer_close(struct popef_blob_writer *blob, struct popef_error *err)
{
    int ret = 0;

    if (!blob) {
        return 0;
    }
    struct popef_writer *writer = blob->writer;
    if (writer->active.blob == blob) {
        ret = active_finish(writer, err);
    }
    for (struct popef_blob_writer **at = &writer->blobs; *at; at = &(*at)->next) {
        if (*at == blob) {
            *at = blob->next;
            break;
        }
    }
    free(blob);
    return ret;
}

/* ---- the file ---- */

static void writer_free(struct popef_writer *writer)
{
    while (writer->blobs) {
        struct popef_blob_writer *next = writer->blobs->next;

        free(writer->blobs);
        writer->blobs = next;
    }
    for (size_t i = 0; i < sizeof writer->names / sizeof *writer->names; i++) {
        ntk_map_fini(&writer->names[i]);
    }
    ntk_fs_replace_abort(&writer->replace);
    if (writer->is_fd_ours && writer->fd >= 0) {
        (void)close(writer->fd);
    }
    free(writer->buffer);
    free(writer->path);
    free(writer);
}

void popef_writer_abort(struct popef_writer *writer)
{
    if (!writer) {
        return;
    }
    active_end(writer);
    if (!writer->replace.file && writer->fd >= 0) {
        if (writer->is_new) {
            (void)unlink(writer->path);
        } else {
            /* a failure cannot be reported */
            int ret = ftruncate(writer->fd, (off_t)writer->begin);
            (void)ret;
        }
    }
    writer_free(writer);
}

int popef_writer_close(struct popef_writer *writer, struct popef_error *err)
{
    struct ntk_err base_err = { 0 };
    int ret = writer->failed < 0 ? ntk_popef_fail(err, -writer->failed, POPEF_NO_OFFSET,
                                                  "%s: an earlier write failed", writer->path)
                                 : active_finish(writer, err);

    if (ret == 0) {
        ret = flush(writer, err);
    }
    if (ret < 0) {
        popef_writer_abort(writer);
        return ret;
    }
    if (writer->replace.file) {
        if (ntk_fs_replace_commit(&writer->replace, &base_err) < 0) {
            ret = ntk_popef_fail_from(err, POPEF_ERROR_IO, &base_err);
        }
    } else if (writer->is_fd_ours && close(writer->fd) < 0) {
        ret = cannot_write(writer, errno, err);
    }
    writer->fd = -1;
    writer_free(writer);
    return ret;
}

/* Reads the names in a valid file to which blobs are appended. */
static int names_read(struct popef_writer *writer, struct popef_error *err)
{
    struct popef_reader *reader = NULL;
    struct stat status;
    int ret = popef_reader_open(&reader, err);

    if (ret == 0) {
        ret = popef_reader_parse_fd(reader, writer->fd, writer->path, err);
    }
    for (size_t i = 0; ret == 0 && i < popef_reader_executable_count(reader); i++) {
        ret = name_add(writer, POPEF_BLOB_EXECUTABLE, popef_reader_executable(reader, i)->blob.name,
                       err);
    }
    for (size_t i = 0; ret == 0 && i < popef_reader_tensor_count(reader); i++) {
        ret = name_add(writer, POPEF_BLOB_TENSOR, popef_reader_tensor(reader, i)->info.name, err);
    }
    for (size_t i = 0; ret == 0 && i < popef_reader_feed_count(reader); i++) {
        ret = name_add(writer, POPEF_BLOB_FEED, popef_reader_feed(reader, i)->info.name, err);
    }
    popef_reader_close(reader);
    if (ret == 0 && fstat(writer->fd, &status) < 0) {
        ret = cannot_write(writer, errno, err);
    }
    if (ret == 0) {
        writer->begin = writer->offset = (uint64_t)status.st_size;
    }
    return ret;
}

static struct popef_writer *writer_make(const char *path)
{
    struct popef_writer *writer = calloc(1, sizeof *writer);

    if (writer) {
        writer->fd = -1;
        writer->path = strdup(path);
        writer->buffer = malloc(BUFFER_BYTES);
        if (!writer->path || !writer->buffer) {
            writer_free(writer);
            writer = NULL;
        }
    }
    return writer;
}

static int open_new(struct popef_writer *writer, struct popef_error *err)
{
    struct ntk_err base_err = { 0 };

    if (ntk_fs_replace_begin(&writer->replace, writer->path, &base_err) < 0) {
        return ntk_popef_fail_from(err, POPEF_ERROR_OPEN, &base_err);
    }
    writer->fd = fileno(writer->replace.file);
    return 0;
}

static int open_old(struct popef_writer *writer, struct popef_error *err)
{
    int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK;

    writer->is_fd_ours = true;
    writer->fd = open(writer->path, flags);
    if (writer->fd < 0 && errno == ENOENT) {
        writer->fd = open(writer->path, flags | O_CREAT | O_EXCL, 0666);
        writer->is_new = writer->fd >= 0;
    }
    if (writer->fd < 0) {
        return ntk_popef_fail(err, POPEF_ERROR_OPEN, POPEF_NO_OFFSET, "cannot open '%s': %s",
                              writer->path, strerror(errno));
    }
    return names_read(writer, err);
}

int popef_writer_open(const char *path, enum popef_writer_mode mode,
                      struct popef_writer **out_writer, struct popef_error *err)
{
    struct popef_writer *writer = writer_make(path);

    if (!writer) {
        return ntk_popef_no_memory(err);
    }
    int ret = mode == POPEF_WRITER_APPEND ? open_old(writer, err) : open_new(writer, err);
    if (ret < 0) {
        writer_free(writer);
        return ret;
    }
    *out_writer = writer;
    return 0;
}

int popef_writer_open_fd(int fd, const char *name, struct popef_writer **out_writer,
                         struct popef_error *err)
{
    struct popef_writer *writer = writer_make(name);

    if (!writer) {
        return ntk_popef_no_memory(err);
    }
    writer->fd = fd;
    int ret = names_read(writer, err);
    if (ret < 0) {
        writer_free(writer);
        return ret;
    }
    *out_writer = writer;
    return 0;
}
