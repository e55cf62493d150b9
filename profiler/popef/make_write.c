/* SPDX-License-Identifier: MIT */
/* make_write - writes a description as blobs of a file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/popef/make.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/order.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff.h"

#define COPY_BYTES ((size_t)1 << 20)
#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

static int failed(struct ntk_err *err, const struct popef_error *from)
{
    return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", from->text);
}

/* ---- the archive of programs ---- */

struct executable {
    uint8_t *bytes;
    size_t count;
};

NTK_ORDER(by_index, struct make_program, NTK_UP(index));

static void programs_json(const struct make_description *d, struct ntk_buf *buf)
{
    struct ntk_json json;

    ntk_json_init(&json, buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "version", 1);
    ntk_json_key_object_begin(&json, "programs");
    ntk_vec_each(struct make_program, program, &d->programs) {
        char text[32];

        (void)snprintf(text, sizeof text, "%" PRIu32, program->index);
        ntk_json_key_object_begin(&json, text);
        ntk_json_key_text(&json, "kind", program->kind);
        if (strcmp(program->kind, "neff") == 0) {
            (void)snprintf(text, sizeof text, "%" PRIu32 ".neff", program->index);
            ntk_json_key_text(&json, "file", text);
        }
        ntk_json_object_end(&json);
    }
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
}

static int neff_load(struct make_description *d, struct make_program *program, struct ntk_err *err)
{
    bool is_absolute = program->file && program->file[0] == '/';
    uint8_t *bytes = NULL;
    char *path = NULL;

    if (program->bytes || !program->file) {
        return 0;
    }
    if (asprintf(&path, "%s%s%s", is_absolute ? "" : d->folder, is_absolute ? "" : "/",
                 program->file) < 0) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_fs_read(path, NTK_NEFF_FILE_BYTES_MAX, &bytes, &program->bytes_count, err);
    free(path);
    if (ret == 0) {
        program->bytes = make_keep(d, bytes);
        ret = program->bytes ? 0 : ntk_err_no_memory(err);
    }
    return ret;
}

static int archive_make(struct make_description *d, struct executable *out, struct ntk_err *err)
{
    struct ntk_tar_source *members = calloc(d->programs.count + 1, sizeof *members);
    struct ntk_buf list = { 0 };
    size_t count = 1;
    int ret = members ? 0 : ntk_err_no_memory(err);

    ntk_vec_sort(&d->programs, by_index);
    ntk_vec_each(struct make_program, program, &d->programs) {
        char *name = NULL;

        ret = ret == 0 ? neff_load(d, program, err) : ret;
        if (ret < 0 || !members || !program->bytes) {
            continue;
        }
        if (asprintf(&name, "%" PRIu32 ".neff", program->index) < 0 || !make_keep(d, name)) {
            ret = ntk_err_no_memory(err);
            continue;
        }
        members[count++] = (struct ntk_tar_source){ name, program->bytes, program->bytes_count };
    }
    if (ret == 0 && members) {
        programs_json(d, &list);
        members[0] = (struct ntk_tar_source){ "programs.json", list.bytes, list.bytes_count };
        ret = ntk_buf_ok(&list)
                  ? ntk_tar_write(members, count, false, 512, &out->bytes, &out->count, err)
                  : ntk_err_no_memory(err);
    }
    ntk_buf_fini(&list);
    free(members);
    return ret;
}

static int executable_make(struct make_description *d, struct executable *out, struct ntk_err *err)
{
    int ret = d->executable_path
                  ? ntk_fs_read(d->executable_path, SIZE_MAX / 4, &out->bytes, &out->count, err)
                  : archive_make(d, out, err);

    if (ret == 0 && d->executable[0] == '\0' &&
        make_profile_hashes(d->profile)) {   /* a decimal hash, as in PopART */
        uint64_t hash = 0xcbf29ce484222325u; /* initial value of FNV-1a */

        for (size_t i = 0; i < out->count; i++) {
            hash = (hash ^ out->bytes[i]) * 0x100000001b3u;
        }
        (void)snprintf(d->hash, sizeof d->hash, "%" PRIu64, hash);
        d->executable = d->hash;
    }
    return ret;
}

/* ---- blobs ---- */

static int bytes_put(struct popef_blob_writer *blob, const void *bytes, size_t count,
                     struct ntk_err *err)
{
    struct popef_error popef_err = { 0 };

    return popef_blob_writer_write(blob, bytes, count, &popef_err) < 0 ? failed(err, &popef_err)
                                                                       : 0;
}

/* Copies the data of a file in pieces. */
static int file_put(struct popef_blob_writer *blob, const struct make_data *data,
                    struct ntk_err *err)
{
    int fd = ntk_fs_open_regular(data->path, NULL, NULL);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    uint8_t *piece = malloc(COPY_BYTES);
    int ret = piece ? 0 : ntk_err_no_memory(err);

    if (!file || fseeko(file, (off_t)data->offset, SEEK_SET) != 0) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", data->path,
                          strerror(errno));
    }
    for (uint64_t left = data->bytes_count; ret == 0 && left > 0;) {
        size_t take = left < COPY_BYTES ? (size_t)left : COPY_BYTES;

        if (fread(piece, 1, take, file) != take) {
            ret = BAD("%s shrank while it was being read", data->path);
        } else {
            ret = bytes_put(blob, piece, take, err);
        }
        left -= take;
    }
    free(piece);
    if (file) {
        (void)fclose(file);
    }
    return ret;
}

static int data_put(struct popef_writer *writer, const struct make_description *d,
                    const struct make_data *data, int kind, struct ntk_err *err)
{
    struct popef_tensor_data_info tensor = { data->name, data->info };
    struct popef_feed_data_info feed = { data->name, data->info, data->num_tensors };
    struct popef_error popef_err = { 0 };
    struct popef_blob_writer *blob = NULL;
    int ret = kind == POPEF_BLOB_TENSOR
                  ? popef_writer_create_tensor_data(writer, &tensor, &blob, &popef_err)
              : kind == POPEF_BLOB_FEED
                  ? popef_writer_create_feed_data(writer, &feed, &blob, &popef_err)
                  : popef_writer_create_opaque_blob(
                        writer, data->name, data->executable ? data->executable : d->executable,
                        &blob, &popef_err);

    if (ret < 0) {
        return failed(err, &popef_err);
    }
    ret = data->path ? file_put(blob, data, err)
                     : bytes_put(blob, data->bytes, (size_t)data->bytes_count, err);
    if (ret == 0 && popef_blob_writer_close(blob, &popef_err) < 0) {
        ret = failed(err, &popef_err);
    }
    return ret;
}

static int executable_put(struct popef_writer *writer, const struct make_description *d,
                          const struct executable *executable, struct ntk_err *err)
{
    struct popef_error popef_err = { 0 };
    struct popef_blob_writer *blob = NULL;

    if (!d->executable) {
        return 0;
    }
    if (popef_writer_create_executable(writer, d->executable, d->compress, &blob, &popef_err) < 0) {
        return failed(err, &popef_err);
    }
    int ret = bytes_put(blob, executable->bytes, executable->count, err);
    if (ret == 0 && popef_blob_writer_close(blob, &popef_err) < 0) {
        ret = failed(err, &popef_err);
    }
    return ret;
}

static int metadata_put(struct popef_writer *writer, struct make_description *d,
                        struct ntk_err *err)
{
    struct popef_metadata *m = &d->metadata;
    struct popef_error popef_err = { 0 };

    if (!d->has_metadata) {
        return 0;
    }
    m->executable = m->executable ? m->executable : d->executable;
    m->engine_options = d->engine_options.items;
    m->engine_option_count = d->engine_options.count;
    m->device_options = d->device_options.items;
    m->device_option_count = d->device_options.count;
    m->program_flow.load = (struct popef_programs){ d->load.items, d->load.count };
    m->program_flow.main = (struct popef_programs){ d->main.items, d->main.count };
    m->program_flow.save = (struct popef_programs){ d->save.items, d->save.count };
    m->programs_map = d->programs_map.items;
    m->programs_map_count = d->programs_map.count;
    m->anchors = d->anchors.items;
    m->anchor_count = d->anchors.count;
    return popef_writer_write_metadata(writer, m, &popef_err) < 0 ? failed(err, &popef_err) : 0;
}

static int kind_put(struct popef_writer *writer, struct make_description *d,
                    const struct executable *executable, int kind, struct ntk_err *err)
{
    const struct ntk_vec *list = kind == POPEF_BLOB_TENSOR ? &d->tensors
                                 : kind == POPEF_BLOB_FEED ? &d->feeds
                                                           : &d->opaques;
    int ret = 0;

    if (kind == POPEF_BLOB_EXECUTABLE) {
        return executable_put(writer, d, executable, err);
    }
    if (kind == POPEF_BLOB_METADATA) {
        return metadata_put(writer, d, err);
    }
    ntk_vec_each(struct make_data, data, list) {
        /* PopTorch adds its opaque blob at the end of the file. */
        bool is_last = kind == POPEF_BLOB_OPAQUE && strcmp(data->name, "poptorch") == 0;

        ret = ret == 0 && !is_last ? data_put(writer, d, data, kind, err) : ret;
    }
    return ret;
}

/* Checks before writing that data fits the anchor with its name. */
static int anchors_check(const struct make_description *d, struct ntk_err *err)
{
    ntk_vec_each(struct popef_anchor, anchor, &d->anchors) {
        struct popef_tensor_info plain = anchor->tensor_info;

        (void)popef_anchor_unextended(anchor, d->metadata.replication_factor, &plain);
        for (int is_feed = 0; is_feed < 2; is_feed++) {
            ntk_vec_each(struct make_data, data, is_feed ? &d->feeds : &d->tensors) {
                if (strcmp(data->name, anchor->name) == 0 &&
                    !popef_tensor_info_equal(&data->info, &anchor->tensor_info) &&
                    !(is_feed && popef_tensor_info_equal(&data->info, &plain))) {
                    return BAD("%s: shape or type differs from its anchor", anchor->name);
                }
            }
        }
    }
    return 0;
}

int make_write(struct make_description *d, const char *path, enum popef_writer_mode mode,
               struct ntk_err *err)
{
    struct popef_error popef_err = { 0 };
    struct popef_writer *writer = NULL;
    struct executable executable = { 0 };
    int ret = anchors_check(d, err);

    if (ret == 0 && d->executable) {
        ret = executable_make(d, &executable, err);
    }
    if (ret == 0 && popef_writer_open(path, mode, &writer, &popef_err) < 0) {
        ret = failed(err, &popef_err);
    }
    for (const int *kind = make_profile_order(d->profile); ret == 0 && *kind >= 0; kind++) {
        ret = kind_put(writer, d, &executable, *kind, err);
    }
    ntk_vec_each(struct make_data, opaque, &d->opaques) {
        if (ret == 0 && strcmp(opaque->name, "poptorch") == 0) {
            ret = data_put(writer, d, opaque, POPEF_BLOB_OPAQUE, err);
        }
    }
    if (ret == 0) {
        ret = popef_writer_close(writer, &popef_err) < 0 ? failed(err, &popef_err) : 0;
    } else {
        popef_writer_abort(writer);
    }
    free(executable.bytes);
    return ret;
}
