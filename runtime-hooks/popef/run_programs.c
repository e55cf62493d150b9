/* SPDX-License-Identifier: MIT */
/* run_programs - reads an executable: a tar archive with programs.json and the NEFFs listed in
 * it. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/popef/run.h"
#include "shared/base/json_place.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_layout.h"

#define LIST_NAME "programs.json"
#define LIST_VERSION 1

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

static int64_t blob_read(void *ctx, void *to, size_t bytes_count, struct ntk_err *err)
{
    struct popef_error popef_err = { 0 };
    int64_t got = popef_stream_read(ctx, to, bytes_count, &popef_err);

    return got < 0 ? BAD("%s", popef_err.text) : got;
}

/* Streams the archive from the file through zlib to its members; it is never completely in
 * memory. */
static int archive_read(const struct popef_reader *reader, const struct popef_blob *blob,
                        uint64_t limit, struct ntk_tar *out_archive, struct ntk_err *err)
{
    struct ntk_tar_limits limits = { limit, 4096, 1024 };
    struct popef_error popef_err = { 0 };
    struct popef_stream *stream = NULL;
    int ret;

    if (blob->data_size > limit) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                           "the stored data expands to %" PRIu64 " bytes from %" PRIu64
                           ", more than the limit of %" PRIu64
                           " (4 times the stored size + 64 MiB)",
                           blob->data_size, blob->available_read_size, limit);
    }
    if (popef_reader_open_stream(reader, blob, &stream, &popef_err) < 0) {
        return BAD("%s", popef_err.text);
    }
    ret = ntk_tar_read_stream(blob_read, stream, blob->data_size, &limits, out_archive, err);
    popef_stream_close(stream);
    return ret;
}

static const struct ntk_tar_member *member_get(const struct ntk_tar *tar, const char *name)
{
    for (size_t i = 0; i < tar->member_count; i++) {
        if (strcmp(tar->members[i].name, name) == 0) {
            return &tar->members[i];
        }
    }
    return NULL;
}

static int neff_add(struct run_programs *programs, struct run_program *program, const char *file,
                    struct ntk_err *err)
{
    const struct ntk_tar_member *member = file ? member_get(&programs->archive, file) : NULL;

    if (!member) {
        return BAD(LIST_NAME ": the file for program %u (%s) is not in the archive", program->index,
                   file ? file : "no name");
    }
    program->neff = member->bytes;
    program->neff_bytes = member->bytes_count;
    program->core_count = 1;
    if (member->bytes_count >= NTK_NEFF_HEADER_BYTES) {
        uint32_t cores = ntk_neff_header_of(member->bytes).num_tpb;

        program->core_count = cores > 1 && cores <= RUN_REPLICAS_MAX ? cores : 1;
    }
    return 0;
}

static int program_add(struct run_programs *programs, const char *key, const json_t *item,
                       struct ntk_err *err)
{
    static const char *const kinds[] = {
        [RUN_COPY_IN] = "copy_in", [RUN_COPY_OUT] = "copy_out", [RUN_NEFF] = "neff"
    };
    const char *kind = json_string_value(json_object_get(item, "kind"));
    struct run_program program = { 0 };
    uint64_t index = 0;
    int ret = 0;

    if (ntk_str_parse_u64(key, &index) < 0 || index > UINT32_MAX) {
        return BAD(LIST_NAME ": invalid program number '%s'", key);
    }
    program.index = (uint32_t)index;
    while (program.kind <= RUN_NEFF && (!kind || strcmp(kind, kinds[program.kind]) != 0)) {
        program.kind++;
    }
    if (program.kind > RUN_NEFF) {
        return BAD(LIST_NAME ": program %s has an unknown kind: %s", key, kind ? kind : "none");
    }
    if (program.kind == RUN_NEFF) {
        ret = neff_add(programs, &program, json_string_value(json_object_get(item, "file")), err);
    }
    if (ret == 0 && ntk_vec_push(&programs->list, &program) < 0) {
        ret = ntk_err_no_memory(err);
    }
    return ret;
}

static int list_read(struct run_programs *programs, const struct ntk_tar_member *member,
                     struct ntk_err *err)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)member->bytes, member->bytes_count,
                              JSON_REJECT_DUPLICATES, &error);
    json_t *list = json_object_get(root, "programs");
    const char *key;
    json_t *item;
    int ret = 0;

    if (!root) {
        return BAD(LIST_NAME ": line %d: %s", error.line, error.text);
    }
    if (json_integer_value(json_object_get(root, "version")) != LIST_VERSION) {
        ret = BAD(LIST_NAME " is not version %d", LIST_VERSION);
    } else if (!json_is_object(list)) {
        ret = BAD(LIST_NAME " has no object \"programs\"");
    }
    json_object_foreach(ret == 0 ? list : NULL, key, item)
    {
        ret = ret == 0 ? program_add(programs, key, item, err) : ret;
    }
    json_decref(root);
    return ret;
}

int run_programs_read(const struct popef_reader *reader, const struct popef_blob *executable,
                      struct run_programs *out, struct ntk_err *err)
{
    struct run_programs programs = { .list = NTK_VEC_INIT(struct run_program) };
    uint64_t limit = executable->available_read_size * 4 + (UINT64_C(64) << 20);
    const struct ntk_tar_member *list = NULL;
    int ret = archive_read(reader, executable, limit, &programs.archive, err);

    if (ret == 0) {
        list = member_get(&programs.archive, LIST_NAME);
    }
    if (!list && ret != -ENOMEM && ret != -EFBIG) {
        ret = BAD("it contains no programs for NeuronCores (expected a tar with " LIST_NAME
                  "): it can be listed, but not run");
    }
    if (ret == 0 && list) {
        for (size_t i = 0; i < programs.archive.member_count; i++) {
            limit -= programs.archive.members[i].bytes_count; /* limits the total size */
        }
        ret = ntk_json_tree_bytes((const char *)list->bytes, list->bytes_count) <= limit
                  ? list_read(&programs, list, err)
                  : BAD(LIST_NAME " of %zu bytes is too large", list->bytes_count);
    }
    if (ret < 0) {
        ntk_err_prefix(err, "executable '%s'", executable->name);
        run_programs_fini(&programs);
        return ret;
    }
    *out = programs;
    return 0;
}

const struct run_program *run_programs_find(const struct run_programs *programs, uint32_t index)
{
    ntk_vec_each(struct run_program, program, &programs->list) {
        if (program->index == index) {
            return program;
        }
    }
    return NULL;
}

void run_programs_fini(struct run_programs *programs)
{
    ntk_tar_fini(&programs->archive);
    ntk_vec_fini(&programs->list);
}
