/* SPDX-License-Identifier: MIT */
#include "shared/formats/neff/neff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "shared/base/cursor.h"
#include "shared/base/map.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff_layout.h"

/* The public member is the tar's, so that nothing is copied. */
static_assert(sizeof(struct ntk_neff_member) == sizeof(struct ntk_tar_member), "same struct");
static_assert(offsetof(struct ntk_neff_member, bytes_count) ==
                  offsetof(struct ntk_tar_member, bytes_count),
              "same struct");

#define BLOCK_BYTES 65536
#define ARRAY_MAX (1 << 24) /* elements of one JSON array */
#define SUBGRAPHS_MAX 256
#define VALUE_MAX (UINT64_C(1) << 48) /* offsets, sizes and steps of transfers */

struct neff_private {
    struct ntk_tar tar;
    struct ntk_map members;
    struct ntk_vec blocks; /* void *: what strings and arrays lie in */
    size_t block_used;     /* of the last block */
    size_t block_bytes;
};

/* What parsing carries along. */
struct reader {
    struct ntk_neff *neff;
    struct neff_private *data;
    struct ntk_err *err;
};

/* The code is spelt out, so that whoever reads the code (a tool too) sees that it is negative. */
#define BAD(r, ...) \
    ((void)ntk_err_set((r)->err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__), -EBADMSG)
#define NO_MEMORY(r) \
    ((void)ntk_err_set((r)->err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory"), -ENOMEM)

/* ---- memory that lives as long as the NEFF ---- */

static void *keep(struct reader *r, size_t count, size_t bytes)
{
    struct neff_private *data = r->data;
    size_t total;
    void *at;

    if (__builtin_mul_overflow(count, bytes, &total) || total > SIZE_MAX - 64) {
        return NULL;
    }
    total = (total + 15) & ~(size_t)15;
    if (total == 0) {
        total = 16;
    }
    if (data->blocks.count == 0 || total > data->block_bytes - data->block_used) {
        size_t block_bytes = total > BLOCK_BYTES ? total : BLOCK_BYTES;
        void *block = calloc(1, block_bytes);

        if (!block || ntk_vec_push(&data->blocks, &block) < 0) {
            free(block);
            return NULL;
        }
        data->block_bytes = block_bytes;
        data->block_used = 0;
    }
    at = *(char **)ntk_vec_at(&data->blocks, data->blocks.count - 1) + data->block_used;
    data->block_used += total;
    return at;
}

static const char *keep_text(struct reader *r, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = keep(r, bytes, 1);

    if (copy) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

/* ---- values of JSON ---- */

static bool number_of(const json_t *value, int64_t *out)
{
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    if (json_is_real(value)) {
        double real = json_real_value(value);

        if (real >= -9007199254740992.0 && real <= 9007199254740992.0 &&
            real == (double)(int64_t)real) {
            *out = (int64_t)real;
            return true;
        }
        return false;
    }
    if (json_is_string(value)) {
        return ntk_str_parse_i64(json_string_value(value), out) == 0;
    }
    return false;
}

static bool is_true(const json_t *value)
{
    int64_t number;

    if (json_is_string(value)) {
        return strcmp(json_string_value(value), "true") == 0 ||
               strcmp(json_string_value(value), "1") == 0;
    }
    return json_is_true(value) || (number_of(value, &number) && number != 0);
}

/* A number between 0 and max, or the fallback when the key is absent. */
static int get_u64(struct reader *r, const json_t *object, const char *what, const char *key,
                   uint64_t max, uint64_t fallback, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    int64_t number;

    if (!value || json_is_null(value)) {
        *out = fallback;
        return 0;
    }
    if (!number_of(value, &number) || number < 0 || (uint64_t)number > max) {
        return BAD(r, "%s: %s is not a number from 0 to %llu", what, key, (unsigned long long)max);
    }
    *out = (uint64_t)number;
    return 0;
}

static int get_u32(struct reader *r, const json_t *object, const char *what, const char *key,
                   uint32_t max, uint32_t fallback, uint32_t *out)
{
    uint64_t number = 0;
    int ret = get_u64(r, object, what, key, max, fallback, &number);

    if (ret == 0) {
        *out = (uint32_t)number;
    }
    return ret;
}

/* Text, or the fallback (which may be NULL) when the key is absent. */
static int get_text(struct reader *r, const json_t *object, const char *what, const char *key,
                    const char *fallback, const char **out)
{
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value)) {
        *out = fallback;
        return 0;
    }
    if (!json_is_string(value)) {
        return BAD(r, "%s: %s is not a text", what, key);
    }
    *out = keep_text(r, json_string_value(value));
    return *out ? 0 : NO_MEMORY(r);
}

/* A required array; its elements. */
static int get_array(struct reader *r, const json_t *object, const char *what, const char *key,
                     bool required, size_t max, const json_t **out, uint32_t *out_count)
{
    const json_t *value = json_object_get(object, key);

    if (!value && !required) {
        *out = NULL;
        *out_count = 0;
        return 0;
    }
    if (!json_is_array(value)) {
        return BAD(r, "%s: %s is not a list", what, key);
    }
    if (json_array_size(value) > max) {
        return BAD(r, "%s: %s has %zu elements, more than %zu", what, key, json_array_size(value),
                   max);
    }
    *out = value;
    *out_count = (uint32_t)json_array_size(value);
    return 0;
}

static int get_texts(struct reader *r, const json_t *object, const char *what, const char *key,
                     const char ***out, uint32_t *out_count)
{
    const json_t *list;
    uint32_t count;
    int ret = get_array(r, object, what, key, false, ARRAY_MAX, &list, &count);

    if (ret < 0 || count == 0) {
        *out_count = 0;
        return ret;
    }
    *out = keep(r, count, sizeof **out);
    if (!*out) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);

        if (!json_is_string(value)) {
            return BAD(r, "%s: %s holds something that is not a text", what, key);
        }
        (*out)[i] = keep_text(r, json_string_value(value));
        if (!(*out)[i]) {
            return NO_MEMORY(r);
        }
    }
    *out_count = count;
    return 0;
}

/* Parses a member; the caller gives the result back with json_decref. */
static int load_json(struct reader *r, const char *name, json_t **out)
{
    const struct ntk_neff_member *member = ntk_neff_member_get(r->neff, name);
    json_error_t error;

    if (!member) {
        return BAD(r, "the archive has no %s", name);
    }
    if (member->bytes_count > NTK_NEFF_JSON_BYTES_MAX) {
        (void)ntk_err_set(r->err, -EFBIG, NTK_ERR_NO_OFFSET, "%s is too large for JSON", name);
        return -EFBIG;
    }
    *out = json_loadb((const char *)member->bytes, member->bytes_count, 0, &error);
    if (!*out) {
        if (json_error_code(&error) == json_error_out_of_memory) {
            return NO_MEMORY(r);
        }
        (void)ntk_err_set(r->err, -EBADMSG, error.position > 0 ? (uint64_t)error.position : 0,
                          "%s: %s", name, error.text);
        return -EBADMSG;
    }
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return BAD(r, "%s: not a JSON object", name);
    }
    return 0;
}

/* "folder/name", kept. */
static const char *join(struct reader *r, const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = keep(r, bytes, 1);

    if (path) {
        snprintf(path, bytes, "%s%s%s", folder, folder[0] ? "/" : "", name);
    }
    return path;
}

/* ---- header ---- */

int ntk_neff_read_header(const void *bytes, size_t bytes_count, struct ntk_neff_header *out_header,
                         struct ntk_err *err)
{
    struct ntk_neff_header header = { 0 };
    struct ntk_cursor cursor;

    if (bytes_count <= NTK_NEFF_HEADER_BYTES) {
        return ntk_err_set(err, -EBADMSG, bytes_count,
                           "not a NEFF: %zu bytes are no more than its header", bytes_count);
    }
    ntk_cursor_init(&cursor, bytes, bytes_count);
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

    if (header.header_size < NTK_NEFF_HEADER_BYTES || header.header_size >= bytes_count) {
        return ntk_err_set(err, -EBADMSG, 8, "not a NEFF: a header of %llu bytes in a file of %zu",
                           (unsigned long long)header.header_size, bytes_count);
    }
    if (header.data_size == 0 || header.data_size > bytes_count - header.header_size) {
        return ntk_err_set(err, -EBADMSG, 16, "%s: %llu bytes of payload announced, %llu are there",
                           header.data_size == 0 ? "not a NEFF" : "the file is cut off",
                           (unsigned long long)header.data_size,
                           (unsigned long long)(bytes_count - header.header_size));
    }
    if (header.pkg_version != 1 && header.pkg_version != 2) {
        return ntk_err_set(err, -ENOTSUP, 0,
                           "NEFF package version %llu is not supported (1 and 2 are)",
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
                           "NEFF package version %llu is not supported (1 and 2 are)",
                           (unsigned long long)header->pkg_version);
    }
    if (header->version_major > 2) {
        return ntk_err_set(
            err, -ENOTSUP, 24, "NEFF version: %llu.%llu is not supported, up to 2 is",
            (unsigned long long)header->version_major, (unsigned long long)header->version_minor);
    }
    if (header->feature_bits & ~supported_features) {
        return ntk_err_set(
            err, -ENOTSUP, 544,
            "NEFF version: %llu.%llu, features: 0x%llx are not supported. Currently supporting: "
            "0x%llx",
            (unsigned long long)header->version_major, (unsigned long long)header->version_minor,
            (unsigned long long)header->feature_bits, (unsigned long long)supported_features);
    }
    return 0;
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
    ret = load_json(r, what, &json);
    if (ret < 0) {
        return ret;
    }
    ret = get_text(r, json, what, "tool_version", "", &text);
    if (ret == 0) {
        ntk_str_copy(info->tool_version, sizeof info->tool_version, text);
        ret = get_text(r, json, what, "kelp_version", "", &text);
    }
    if (ret == 0) {
        ntk_str_copy(info->kelp_version, sizeof info->kelp_version, text);
        ret = get_text(r, json, what, "name", "", &text);
    }
    if (ret == 0) {
        ntk_str_copy(info->name, sizeof info->name, text);
        ret = get_u32(r, json, what, "num_tpb", UINT32_MAX, 0, &info->num_tpb);
    }
    if (ret == 0) {
        ret = get_u32(r, json, what, "num_tpb_requested", UINT32_MAX, 0, &info->num_tpb_requested);
    }
    json_decref(json);
    return ret;
}

/* ---- def.json ---- */

static int lookup(const char *text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static const char *const var_type_names[] = {
    [NTK_NEFF_VAR_STATE_BUFFER] = "state-buffer",
    [NTK_NEFF_VAR_INPUT] = "input",
    [NTK_NEFF_VAR_OUTPUT] = "output",
    [NTK_NEFF_VAR_FILE] = "file",
    [NTK_NEFF_VAR_TMP_BUF] = "tmp-buf",
    [NTK_NEFF_VAR_VIRTUAL] = "virtual",
    [NTK_NEFF_VAR_POINTER] = "pointer",
    [NTK_NEFF_VAR_DGE_TABLE] = "dge-table",
};
static const char *const queue_type_names[] = {
    [NTK_NEFF_QUEUE_IN] = "in",           [NTK_NEFF_QUEUE_OUT] = "out",
    [NTK_NEFF_QUEUE_DATA] = "data",       [NTK_NEFF_QUEUE_EMBEDDING_UPDATE] = "embedding_update",
    [NTK_NEFF_QUEUE_DYNAMIC] = "dynamic",
};
static const char *const transfer_op_names[] = {
    [NTK_NEFF_TRANSFER_COPY] = "copy",
    [NTK_NEFF_TRANSFER_CAST] = "cast",
    [NTK_NEFF_TRANSFER_ADD] = "add",
    [NTK_NEFF_TRANSFER_MIN] = "min",
    [NTK_NEFF_TRANSFER_MAX] = "max",
    [NTK_NEFF_TRANSFER_FMA] = "fma",
    [NTK_NEFF_TRANSFER_TRANSPOSE] = "transpose",
};
static const char *const engine_keys[NTK_ISA_ENGINE_COUNT] = { "pe", "act", "pool", "dve", "sp" };
static const char *const engine_code_keys[NTK_ISA_ENGINE_COUNT] = { "pe_instr", "act_instr",
                                                                    "pool_instr", "dve_instr",
                                                                    "sp_instr" };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static int is_alt_fabric(struct reader *r, const json_t *json, const char *what, bool *out_alt)
{
    const char *fabric;
    int ret = get_text(r, json, what, "fabric_path", "main", &fabric);

    if (ret == 0) {
        *out_alt = strcmp(fabric, "alt") == 0;
    }
    return ret;
}

static int read_file_var(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                         struct ntk_neff_var *var)
{
    const struct ntk_neff_member *member;
    struct ntk_neff_npy npy;
    const char *path;
    int ret;

    if (!var->file_name) {
        return BAD(r, "%s: constant %s names no file", subgraph->name, var->name);
    }
    path = join(r, subgraph->folder, var->file_name);
    if (!path) {
        return NO_MEMORY(r);
    }
    member = ntk_neff_member_get(r->neff, path);
    if (!member) {
        return BAD(r, "%s: the archive has no %s for constant %s", subgraph->name, path, var->name);
    }
    var->data = member->bytes;
    var->data_bytes = member->bytes_count;
    if (ntk_str_ends_with(var->file_name, ".npy")) {
        ret = ntk_neff_npy_read(member->bytes, member->bytes_count, &npy, r->err);
        if (ret < 0) {
            ntk_err_prefix(r->err, "%s", path);
            return ret;
        }
        var->data = npy.data;
        var->data_bytes = npy.data_bytes;
    }
    if (var->data_bytes != var->bytes_count) {
        return BAD(r, "%s: constant %s has %llu bytes, its file %llu", subgraph->name, var->name,
                   (unsigned long long)var->bytes_count, (unsigned long long)var->data_bytes);
    }
    return 0;
}

static int read_var(struct reader *r, const struct ntk_neff_subgraph *subgraph, const char *name,
                    const json_t *json, struct ntk_neff_var *var)
{
    const json_t *list;
    const char *type;
    int index;
    int ret;

    var->name = keep_text(r, name);
    if (!var->name) {
        return NO_MEMORY(r);
    }
    if (!json_is_object(json)) {
        return BAD(r, "%s: variable %s is not an object", subgraph->name, name);
    }
    ret = get_text(r, json, name, "type", "", &type);
    if (ret < 0) {
        return ret;
    }
    index = lookup(type, var_type_names, COUNT_OF(var_type_names));
    if (index < 0) {
        return BAD(r, "%s: variable %s has the unknown type \"%s\"", subgraph->name, name, type);
    }
    var->type = (enum ntk_neff_var_type)index;
    if (!json_object_get(json, "var_id")) {
        return BAD(r, "%s: variable %s has no var_id", subgraph->name, name);
    }
    if ((ret = get_u32(r, json, name, "var_id", UINT32_MAX - 1, 0, &var->var_id)) < 0 ||
        (ret = get_u64(r, json, name, "size", VALUE_MAX, 0, &var->bytes_count)) < 0 ||
        (ret = get_u64(r, json, name, "alignment", VALUE_MAX, 0, &var->alignment)) < 0 ||
        (ret = is_alt_fabric(r, json, name, &var->alt_fabric)) < 0 ||
        (ret = get_text(r, json, name, "file_name", NULL, &var->file_name)) < 0 ||
        (ret = get_u64(r, json, name, "backing_variable_off", VALUE_MAX, 0, &var->backing_offset)) <
            0 ||
        (ret = get_u32(r, json, name, "referenced_var_id", UINT32_MAX - 1, NTK_NEFF_NONE,
                       &var->referenced_var_id)) < 0 ||
        (ret = get_array(r, json, name, "list", false, ARRAY_MAX, &list, &var->list_count)) < 0) {
        return ret;
    }
    if (!json_object_get(json, "size") && var->type != NTK_NEFF_VAR_STATE_BUFFER &&
        var->type != NTK_NEFF_VAR_DGE_TABLE) {
        return BAD(r, "%s: variable %s has no size", subgraph->name, name);
    }
    if (var->list_count > 0) {
        var->list = keep(r, var->list_count, sizeof *var->list);
        if (!var->list) {
            return NO_MEMORY(r);
        }
        for (uint32_t i = 0; i < var->list_count; i++) {
            int64_t number;

            if (!number_of(json_array_get(list, i), &number) || number < 0 ||
                number >= UINT32_MAX) {
                return BAD(r, "%s: the list of %s holds something that is no var_id",
                           subgraph->name, name);
            }
            var->list[i] = (uint32_t)number;
        }
    }
    return var->type == NTK_NEFF_VAR_FILE ? read_file_var(r, subgraph, var) : 0;
}

static int read_vars(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def)
{
    json_t *vars = json_object_get(def, "var");
    struct ntk_map ids = { 0 };
    const char *name;
    json_t *value;
    int ret = 0;

    if (!json_is_object(vars)) {
        return BAD(r, "%s: the definition has no variables", subgraph->name);
    }
    subgraph->vars = keep(r, json_object_size(vars), sizeof *subgraph->vars);
    if (!subgraph->vars) {
        return NO_MEMORY(r);
    }
    json_object_foreach(vars, name, value)
    {
        struct ntk_neff_var *var = &subgraph->vars[subgraph->var_count];

        ret = read_var(r, subgraph, name, value, var);
        if (ret < 0) {
            goto out;
        }
        if (ntk_map_get_number(&ids, var->var_id)) {
            ret = BAD(r, "%s: two variables with var_id %u", subgraph->name, var->var_id);
            goto out;
        }
        if (ntk_map_put_number(&ids, var->var_id, var) < 0) {
            ret = NO_MEMORY(r);
            goto out;
        }
        subgraph->var_count++;
    }
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        const struct ntk_neff_var *var = &subgraph->vars[i];

        if (var->type == NTK_NEFF_VAR_POINTER &&
            !ntk_map_get_number(&ids, var->referenced_var_id)) {
            ret = BAD(r, "%s: pointer %s refers to no variable", subgraph->name, var->name);
            goto out;
        }
        for (uint32_t k = 0; k < var->list_count; k++) {
            if (!ntk_map_get_number(&ids, var->list[k])) {
                ret = BAD(r, "%s: table %s refers to no variable", subgraph->name, var->name);
                goto out;
            }
        }
    }

out:
    ntk_map_fini(&ids);
    return ret;
}

static int read_semaphores(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                           const json_t *json, struct ntk_neff_queue_set *set)
{
    const json_t *list;
    uint32_t count;
    uint32_t one;
    int ret =
        get_array(r, json, set->name, "semaphore_set", false, NTK_NEFF_QUEUES_MAX, &list, &count);

    if (ret < 0) {
        return ret;
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t number;

        if (!number_of(json_array_get(list, i), &number) || number < 0 ||
            number >= NTK_ISA_SEMAPHORES) {
            return BAD(r, "%s: queue set %s names a semaphore that does not exist", subgraph->name,
                       set->name);
        }
        set->semaphores[i] = (uint16_t)number;
    }
    set->semaphore_count = count;
    ret = get_u32(r, json, set->name, "semaphore", NTK_ISA_SEMAPHORES - 1, NTK_NEFF_NONE, &one);
    if (ret == 0 && count == 0 && one != NTK_NEFF_NONE) {
        set->semaphores[0] = (uint16_t)one;
        set->semaphore_count = 1;
    }
    return ret;
}

static int read_queue_set(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                          const char *name, const json_t *json, struct ntk_neff_queue_set *set)
{
    const json_t *dynamic;
    const char *text;
    int index;
    int ret;

    set->name = keep_text(r, name);
    if (!set->name) {
        return NO_MEMORY(r);
    }
    if (!json_is_object(json)) {
        return BAD(r, "%s: queue set %s is not an object", subgraph->name, name);
    }
    ret = get_text(r, json, name, "type", "", &text);
    if (ret < 0) {
        return ret;
    }
    index = lookup(text, queue_type_names, COUNT_OF(queue_type_names));
    if (index < 0) {
        return BAD(r, "%s: queue set %s has the unknown type \"%s\"", subgraph->name, name, text);
    }
    set->type = (enum ntk_neff_queue_type)index;
    ret = get_text(r, json, name, "owner", NULL, &text);
    if (ret < 0) {
        return ret;
    }
    set->owner = NTK_NEFF_NONE;
    if (text) {
        index = lookup(text, engine_keys, NTK_ISA_ENGINE_COUNT);
        if (index < 0) {
            return BAD(r, "%s: queue set %s belongs to no engine: \"%s\"", subgraph->name, name,
                       text);
        }
        set->owner = (uint32_t)index;
    }
    if ((ret = get_u32(r, json, name, "num_queues", NTK_NEFF_QUEUES_MAX, 1, &set->queue_count)) <
            0 ||
        (ret = read_semaphores(r, subgraph, json, set)) < 0 ||
        (ret = is_alt_fabric(r, json, name, &set->alt_fabric)) < 0 ||
        (ret = get_texts(r, json, name, "queue_instances", &set->instances, &set->instance_count)) <
            0) {
        return ret;
    }
    if (set->queue_count == 0) {
        return BAD(r, "%s: queue set %s has no queue", subgraph->name, name);
    }
    set->pinned = is_true(json_object_get(json, "pinned"));
    dynamic = json_object_get(json, "dynamic_dma");
    if (!dynamic) {
        return 0;
    }
    ret = get_u64(r, dynamic, name, "SB_scratch_partition_offset", VALUE_MAX, 0,
                  &set->sbuf_scratch_offset);
    if (ret == 0) {
        ret = get_u64(r, dynamic, name, "SB_scratch_partition_size", VALUE_MAX, 0,
                      &set->sbuf_scratch_bytes);
    }
    return ret;
}

static int read_queue_sets(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def)
{
    json_t *sets = json_object_get(def, "dma_queue");
    const char *name;
    json_t *value;

    if (!sets) {
        return 0;
    }
    if (!json_is_object(sets)) {
        return BAD(r, "%s: dma_queue is not an object", subgraph->name);
    }
    subgraph->queue_sets = keep(r, json_object_size(sets), sizeof *subgraph->queue_sets);
    if (!subgraph->queue_sets) {
        return NO_MEMORY(r);
    }
    json_object_foreach(sets, name, value)
    {
        int ret = read_queue_set(r, subgraph, name, value,
                                 &subgraph->queue_sets[subgraph->queue_set_count]);

        if (ret < 0) {
            return ret;
        }
        subgraph->queue_set_count++;
    }
    return 0;
}

/* ---- DMA descriptor groups ---- */

static int dtype_of(struct reader *r, const json_t *json, const char *what, const char *key,
                    enum ntk_dtype fallback, enum ntk_dtype *out)
{
    const json_t *value = json_object_get(json, key);

    if (!value || json_is_null(value)) {
        *out = fallback;
        return 0;
    }
    *out = json_is_string(value) ? ntk_dtype_find(json_string_value(value)) : NTK_DTYPE_NONE;
    return *out != NTK_DTYPE_NONE ? 0 : BAD(r, "%s: %s is no known dtype", what, key);
}

/* First and one past the last byte a pattern touches; false when it is out of all proportion. */
static bool pattern_extent(const struct ntk_neff_pattern *pattern, int64_t *out_low,
                           int64_t *out_high)
{
    int64_t low = (int64_t)pattern->offset;
    int64_t high = (int64_t)pattern->offset;

    for (uint32_t i = 0; i < pattern->dim_count; i++) {
        uint64_t count = pattern->sizes[i];
        int64_t reach;

        if (i == 0) {
            uint64_t element = pattern->steps[0] == 1 ? 1 : ntk_dtype_bytes(pattern->dtype);

            if (count % element != 0) {
                return false;
            }
            count /= element;
            high += (int64_t)element;
        }
        if (count == 0 || __builtin_mul_overflow(pattern->steps[i], (int64_t)(count - 1), &reach) ||
            reach > (int64_t)(VALUE_MAX * 16) || reach < -(int64_t)(VALUE_MAX * 16)) {
            return false;
        }
        if (reach < 0) {
            low += reach;
        } else {
            high += reach;
        }
    }
    *out_low = low;
    *out_high = high;
    return true;
}

static bool pattern_bytes(const struct ntk_neff_pattern *pattern, uint64_t *out_bytes)
{
    uint64_t bytes = 1;

    for (uint32_t i = 0; i < pattern->dim_count; i++) {
        if (__builtin_mul_overflow(bytes, pattern->sizes[i], &bytes) || bytes > VALUE_MAX) {
            return false;
        }
    }
    *out_bytes = bytes;
    return true;
}

struct group_reader {
    struct reader *r;
    const struct ntk_neff_subgraph *subgraph;
    struct ntk_map *vars; /* name to struct ntk_neff_var */
    const char *where;    /* path of the engine JSON */
    uint32_t group;
};

static int bad_transfer(const struct group_reader *g, const char *text)
{
    return BAD(g->r, "%s: group %u: %s", g->where, g->group, text);
}

static int check_pattern(const struct group_reader *g, const struct ntk_neff_pattern *pattern)
{
    const struct ntk_neff_var *var = &g->subgraph->vars[pattern->var];
    uint64_t limit = var->bytes_count;
    int64_t low;
    int64_t high;

    if (!pattern_extent(pattern, &low, &high)) {
        return bad_transfer(g, "steps or sizes out of all proportion");
    }
    if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
        limit = NTK_NEFF_SBUF_PARTITION_STEP * NTK_ISA_PARTITIONS;
    } else if (var->type == NTK_NEFF_VAR_DGE_TABLE) {
        return bad_transfer(g, "a table cannot be moved");
    }
    if (low < 0 || (uint64_t)high > limit) {
        return BAD(g->r, "%s: group %u leaves variable %s: bytes %lld to %lld of %llu", g->where,
                   g->group, var->name, (long long)low, (long long)high, (unsigned long long)limit);
    }
    return 0;
}

/* side is "from" or "to". */
static int read_pattern(const struct group_reader *g, const json_t *json, const char *side,
                        struct ntk_neff_pattern *pattern)
{
    char key[32];
    const json_t *steps;
    const json_t *sizes;
    const struct ntk_neff_var *var;
    uint32_t size_count;
    const char *name;
    int ret;

    ret = get_text(g->r, json, g->where, side, NULL, &name);
    if (ret < 0) {
        return ret;
    }
    var = name ? ntk_map_get(g->vars, name) : NULL;
    if (!var) {
        return BAD(g->r, "%s: group %u moves %s a variable that is not declared: %s", g->where,
                   g->group, side, name ? name : "no name");
    }
    pattern->var = (uint32_t)(var - g->subgraph->vars);
    snprintf(key, sizeof key, "%s_off", side);
    ret = get_u64(g->r, json, g->where, key, VALUE_MAX, 0, &pattern->offset);
    if (ret < 0) {
        return ret;
    }
    snprintf(key, sizeof key, "%s_dtype", side);
    ret = dtype_of(g->r, json, g->where, key, NTK_DTYPE_UINT8, &pattern->dtype);
    if (ret < 0) {
        return ret;
    }
    snprintf(key, sizeof key, "%s_steps", side);
    ret = get_array(g->r, json, g->where, key, true, NTK_NEFF_TRANSFER_DIMS_MAX, &steps,
                    &pattern->dim_count);
    if (ret < 0) {
        return ret;
    }
    snprintf(key, sizeof key, "%s_sizes", side);
    ret =
        get_array(g->r, json, g->where, key, true, NTK_NEFF_TRANSFER_DIMS_MAX, &sizes, &size_count);
    if (ret < 0) {
        return ret;
    }
    if (size_count != pattern->dim_count || size_count == 0) {
        return bad_transfer(g, "steps and sizes differ in number");
    }
    for (uint32_t i = 0; i < size_count; i++) {
        int64_t step;
        int64_t size;

        if (!number_of(json_array_get(steps, i), &step) ||
            !number_of(json_array_get(sizes, i), &size) || size < 1 || (uint64_t)size > VALUE_MAX ||
            step > (int64_t)VALUE_MAX || step < -(int64_t)VALUE_MAX) {
            return bad_transfer(g, "a step or size is not a sound number");
        }
        pattern->steps[i] = step;
        pattern->sizes[i] = (uint64_t)size;
    }
    return check_pattern(g, pattern);
}

static int read_sources(const struct group_reader *g, const json_t *json,
                        struct ntk_neff_transfer *transfer)
{
    const json_t *list;
    uint32_t count;
    int ret = get_array(g->r, json, g->where, "from_arr", false, NTK_NEFF_TRANSFER_SOURCES_MAX,
                        &list, &count);

    if (ret < 0) {
        return ret;
    }
    transfer->has_source_array = list != NULL;
    if (list && count == 0) {
        return bad_transfer(g, "from_arr is empty");
    }
    transfer->source_count = list ? count : 1;
    transfer->from = keep(g->r, transfer->source_count, sizeof *transfer->from);
    transfer->scales = keep(g->r, transfer->source_count, sizeof *transfer->scales);
    if (!transfer->from || !transfer->scales) {
        return NO_MEMORY(g->r);
    }
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        const json_t *source = list ? json_array_get(list, i) : json;
        const json_t *scale = json_object_get(source, "scale");

        ret = read_pattern(g, source, "from", &transfer->from[i]);
        if (ret < 0) {
            return ret;
        }
        if (!scale) {
            scale = json_object_get(json, "scale");
        }
        transfer->scales[i] = 1;
        if (scale && transfer->op == NTK_NEFF_TRANSFER_FMA) {
            if (!json_is_number(scale)) {
                return bad_transfer(g, "scale is not a number");
            }
            transfer->scales[i] = (float)json_number_value(scale);
        }
    }
    return 0;
}

static int read_constant(const struct group_reader *g, const json_t *json,
                         struct ntk_neff_transfer *transfer)
{
    const json_t *value = json_object_get(json, "constant");
    int ret;

    if (!json_object_get(json, "constant_dtype")) {
        return 0; /* a constant without a dtype is ignored */
    }
    ret = dtype_of(g->r, json, g->where, "constant_dtype", NTK_DTYPE_FLOAT32,
                   &transfer->constant_dtype);
    if (ret < 0) {
        return ret;
    }
    if (transfer->constant_dtype != NTK_DTYPE_FLOAT32 &&
        transfer->constant_dtype != NTK_DTYPE_INT32 &&
        transfer->constant_dtype != NTK_DTYPE_UINT32) {
        return bad_transfer(g, "constant_dtype is none of float32, int32, uint32");
    }
    if (!json_is_number(value)) {
        return bad_transfer(g, "constant_dtype without a constant");
    }
    transfer->has_constant = true;
    transfer->constant = json_number_value(value);
    return 0;
}

static int read_transpose(const struct group_reader *g, const json_t *json,
                          struct ntk_neff_transfer *transfer)
{
    const json_t *shape;
    const char *order;
    uint64_t bytes;
    uint32_t count;
    int ret = get_array(g->r, json, g->where, "transpose_shape", true, 4, &shape, &count);

    if (ret < 0) {
        return ret;
    }
    if (count != 4) {
        return bad_transfer(g, "transpose_shape has not four numbers");
    }
    ret = get_u32(g->r, json, g->where, "transpose_element_size", 8, 0,
                  &transfer->transpose_element_bytes);
    if (ret == 0) {
        ret = get_text(g->r, json, g->where, "transpose_op", "", &order);
    }
    if (ret < 0) {
        return ret;
    }
    bytes = transfer->transpose_element_bytes;
    for (uint32_t i = 0; i < 4; i++) {
        int64_t number;

        if (!number_of(json_array_get(shape, i), &number) || number < 1 || number > (1 << 24) ||
            __builtin_mul_overflow(bytes, (uint64_t)number, &bytes) || bytes > VALUE_MAX) {
            return bad_transfer(g, "transpose_shape is not sound");
        }
        transfer->transpose_shape[i] = (uint32_t)number;
    }
    /* Each of the four letters once. */
    if (strlen(order) != 4 || !strchr(order, 'W') || !strchr(order, 'X') || !strchr(order, 'Y') ||
        !strchr(order, 'Z')) {
        return bad_transfer(g, "transpose_op is no order of W, X, Y, Z");
    }
    memcpy(transfer->transpose_order, order, 5);
    return bytes > 0 ? 0 : bad_transfer(g, "transpose_element_size is missing");
}

static int check_transfer_sizes(const struct group_reader *g,
                                const struct ntk_neff_transfer *transfer)
{
    uint64_t to_bytes;
    uint64_t to_size = ntk_dtype_bytes(transfer->to.dtype);

    if (!pattern_bytes(&transfer->to, &to_bytes)) {
        return bad_transfer(g, "moves too many bytes");
    }
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        const struct ntk_neff_pattern *from = &transfer->from[i];
        uint64_t from_size = ntk_dtype_bytes(from->dtype);
        uint64_t from_bytes;

        if (!pattern_bytes(from, &from_bytes)) {
            return bad_transfer(g, "moves too many bytes");
        }
        if (transfer->op == NTK_NEFF_TRANSFER_COPY || transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
            if (from_bytes != to_bytes) {
                return BAD(g->r, "%s: group %u copies %llu bytes to %llu", g->where, g->group,
                           (unsigned long long)from_bytes, (unsigned long long)to_bytes);
            }
        } else if (from_bytes % from_size != 0 || to_bytes % to_size != 0 ||
                   from->sizes[0] % from_size != 0 || transfer->to.sizes[0] % to_size != 0 ||
                   from_bytes / from_size != to_bytes / to_size) {
            return bad_transfer(g, "the sides differ in elements");
        }
    }
    if (transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
        uint64_t bytes = transfer->transpose_element_bytes;

        for (int i = 0; i < 4; i++) {
            bytes *= transfer->transpose_shape[i];
        }
        if (bytes != to_bytes) {
            return bad_transfer(g, "transpose_shape is not what is moved");
        }
    }
    return 0;
}

static int read_transfer(const struct group_reader *g, const json_t *json,
                         struct ntk_neff_transfer *transfer)
{
    const char *op;
    int index;
    int ret;

    if (!json_is_object(json)) {
        return bad_transfer(g, "a transfer is not an object");
    }
    ret = get_text(g->r, json, g->where, "op",
                   json_object_get(json, "transpose_op") ? "transpose" : "copy", &op);
    if (ret < 0) {
        return ret;
    }
    index = lookup(op, transfer_op_names, COUNT_OF(transfer_op_names));
    if (index < 0) {
        return BAD(g->r, "%s: group %u: unknown op \"%s\"", g->where, g->group, op);
    }
    transfer->op = (enum ntk_neff_transfer_op)index;
    if (transfer->op == NTK_NEFF_TRANSFER_COPY && json_object_get(json, "transpose_op")) {
        transfer->op = NTK_NEFF_TRANSFER_TRANSPOSE;
    }
    if ((ret = read_pattern(g, json, "to", &transfer->to)) < 0 ||
        (ret = read_sources(g, json, transfer)) < 0 ||
        (ret = get_u32(g->r, json, g->where, "num_tiling_dimensions", NTK_NEFF_TRANSFER_DIMS_MAX, 0,
                       &transfer->tiling_dim_count)) < 0 ||
        (ret = read_constant(g, json, transfer)) < 0) {
        return ret;
    }
    if (transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
        ret = read_transpose(g, json, transfer);
        if (ret < 0) {
            return ret;
        }
    }
    if (transfer->source_count > 1 &&
        (transfer->op == NTK_NEFF_TRANSFER_COPY || transfer->op == NTK_NEFF_TRANSFER_CAST ||
         transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE)) {
        return bad_transfer(g, "several sources for something that computes nothing");
    }
    return check_transfer_sizes(g, transfer);
}

/* The queue set a group belongs to: by its name, or by the name of one of its instances. */
static int find_queue_set(const struct group_reader *g, const json_t *json,
                          struct ntk_neff_dma_group *group)
{
    const struct ntk_neff_subgraph *subgraph = g->subgraph;
    const char *queue;
    int ret = get_text(g->r, json, g->where, "queue", NULL, &queue);

    if (ret == 0) {
        ret = get_text(g->r, json, g->where, "instance_name", NULL, &group->instance);
    }
    if (ret < 0) {
        return ret;
    }
    for (uint32_t i = 0; i < subgraph->queue_set_count; i++) {
        const struct ntk_neff_queue_set *set = &subgraph->queue_sets[i];

        if (group->instance) {
            for (uint32_t k = 0; k < set->instance_count; k++) {
                if (strcmp(set->instances[k], group->instance) == 0) {
                    group->queue_set = i;
                    return 0;
                }
            }
        } else if (queue && strcmp(set->name, queue) == 0) {
            group->queue_set = i;
            return 0;
        }
    }
    return BAD(g->r, "%s: group %u is for a queue that is not declared: %s", g->where, g->group,
               group->instance ? group->instance
               : queue         ? queue
                               : "no name");
}

static int read_remote_semaphores(const struct group_reader *g, const json_t *json,
                                  struct ntk_neff_dma_group *group)
{
    const json_t *list;
    uint32_t count;
    int ret = get_array(g->r, json, g->where, "remote_semaphores", false, NTK_ISA_SEMAPHORES, &list,
                        &count);

    if (ret < 0 || count == 0) {
        return ret;
    }
    group->remote_semaphores = keep(g->r, count, sizeof *group->remote_semaphores);
    if (!group->remote_semaphores) {
        return NO_MEMORY(g->r);
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t number;

        if (!number_of(json_array_get(list, i), &number) || number < 0 ||
            number >= NTK_ISA_SEMAPHORES) {
            return bad_transfer(g, "a remote semaphore that does not exist");
        }
        group->remote_semaphores[i] = (uint16_t)number;
    }
    group->remote_semaphore_count = count;
    return 0;
}

static int read_group(struct group_reader *g, const json_t *json, struct ntk_neff_dma_group *group)
{
    const json_t *list;
    int ret;

    if (!json_is_object(json) || !json_object_get(json, "id")) {
        return BAD(g->r, "%s: a descriptor group without an id", g->where);
    }
    ret = get_u32(g->r, json, g->where, "id", UINT32_MAX - 1, 0, &group->id);
    if (ret < 0) {
        return ret;
    }
    g->group = group->id;
    if ((ret = find_queue_set(g, json, group)) < 0 ||
        (ret = get_u32(g->r, json, g->where, "semaphore", NTK_ISA_SEMAPHORES - 1, NTK_NEFF_NONE,
                       &group->semaphore)) < 0 ||
        (ret = get_u32(g->r, json, g->where, "event", NTK_ISA_EVENTS - 1, NTK_NEFF_NONE,
                       &group->event)) < 0 ||
        (ret = read_remote_semaphores(g, json, group)) < 0 ||
        (ret = get_text(g->r, json, g->where, "function_start", "", &group->function_start)) < 0 ||
        (ret = get_text(g->r, json, g->where, "#comment", "", &group->comment)) < 0 ||
        (ret = get_array(g->r, json, g->where, "desc", true, ARRAY_MAX, &list,
                         &group->transfer_count)) < 0) {
        return ret;
    }
    group->section_start = is_true(json_object_get(json, "section_start_desc"));
    group->transfers = keep(g->r, group->transfer_count, sizeof *group->transfers);
    if (!group->transfers) {
        return NO_MEMORY(g->r);
    }
    for (uint32_t i = 0; i < group->transfer_count; i++) {
        ret = read_transfer(g, json_array_get(list, i), &group->transfers[i]);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

/* ---- engines ---- */

static bool all_zero(const uint8_t *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static int read_nsx(struct reader *r, const json_t *json, const char *where,
                    struct ntk_neff_engine *engine)
{
    const json_t *nsx = json_object_get(json, "nsx");
    int ret;

    if (!nsx) {
        return 0;
    }
    ret = get_u32(r, nsx, where, "version", UINT32_MAX, 0, &engine->nsx_version);
    if (ret < 0) {
        return ret;
    }
    if (engine->nsx_version == 0) {
        return BAD(r, "%s: nsx has no version", where);
    }
    if (engine->nsx_version > NTK_ISA_VERSION) {
        return ntk_err_set(r->err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: instruction encoding %u is not supported, %d is", where,
                           engine->nsx_version, NTK_ISA_VERSION);
    }
    return get_texts(r, nsx, where, "names", &engine->names, &engine->name_count);
}

static int read_engine_json(struct reader *r, const struct ntk_neff_subgraph *subgraph,
                            struct ntk_map *vars, struct ntk_neff_engine *engine)
{
    const char *where = join(r, subgraph->folder, engine->json_name);
    struct group_reader g = { r, subgraph, vars, where, 0 };
    const json_t *list;
    json_t *json;
    int ret;

    if (!where) {
        return NO_MEMORY(r);
    }
    ret = load_json(r, where, &json);
    if (ret < 0) {
        return ret;
    }
    if ((ret = read_nsx(r, json, where, engine)) < 0 ||
        (ret = get_u32(r, json, where, "act_semaphore", NTK_ISA_SEMAPHORES - 1, NTK_NEFF_NONE,
                       &engine->act_semaphore)) < 0 ||
        (ret = get_texts(r, json, where, "activation_function_sets", &engine->sets,
                         &engine->set_count)) < 0 ||
        (ret = get_text(r, json, where, "act_info", NULL, &engine->act_info_name)) < 0 ||
        (ret = get_array(r, json, where, "dma", false, ARRAY_MAX, &list, &engine->group_count)) <
            0) {
        goto out;
    }
    engine->groups = keep(r, engine->group_count, sizeof *engine->groups);
    if (!engine->groups) {
        ret = NO_MEMORY(r);
        goto out;
    }
    for (uint32_t i = 0; i < engine->group_count; i++) {
        ret = read_group(&g, json_array_get(list, i), &engine->groups[i]);
        if (ret < 0) {
            goto out;
        }
    }

out:
    json_decref(json);
    return ret;
}

static int read_engine(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def,
                       struct ntk_map *vars, int index)
{
    struct ntk_neff_engine *engine = &subgraph->engines[index];
    const struct ntk_neff_member *member;
    const char *path;
    int ret;

    engine->is_empty = true;
    engine->act_semaphore = NTK_NEFF_NONE;
    if ((ret = get_text(r, def, subgraph->name, engine_keys[index], NULL, &engine->json_name)) <
            0 ||
        (ret = get_text(r, def, subgraph->name, engine_code_keys[index], NULL,
                        &engine->binary_name)) < 0) {
        return ret;
    }
    if (engine->json_name) {
        ret = read_engine_json(r, subgraph, vars, engine);
        if (ret < 0) {
            return ret;
        }
    }
    if (!engine->binary_name) {
        return 0;
    }
    path = join(r, subgraph->folder, engine->binary_name);
    if (!path) {
        return NO_MEMORY(r);
    }
    member = ntk_neff_member_get(r->neff, path);
    if (!member) {
        return BAD(r, "the archive has no %s", path);
    }
    if (member->bytes_count % NTK_ISA_SLOT_BYTES != 0) {
        return BAD(r, "%s: %zu bytes are no whole number of instructions", path,
                   member->bytes_count);
    }
    engine->code = member->bytes;
    engine->code_bytes = member->bytes_count;
    engine->is_empty = all_zero(member->bytes, member->bytes_count);
    if (!engine->is_empty && engine->nsx_version == 0) {
        r->neff->is_vendor = true;
    }
    return 0;
}

/* ---- act_info.json, tensor_map.json and the rest of a subgraph ---- */

static int read_act_info(struct reader *r, struct ntk_neff_subgraph *subgraph)
{
    const char *name = subgraph->engines[NTK_ISA_ENGINE_ACT].act_info_name;
    const char *path;
    const json_t *list;
    json_t *json;
    int ret;

    if (!name) {
        return 0;
    }
    path = join(r, subgraph->folder, name);
    if (!path) {
        return NO_MEMORY(r);
    }
    if (!ntk_neff_member_get(r->neff, path)) {
        return 0;
    }
    ret = load_json(r, path, &json);
    if (ret < 0) {
        return ret;
    }
    ret = get_array(r, json, path, "act_func_sets", false, 4096, &list, &subgraph->act_set_count);
    if (ret < 0) {
        goto out;
    }
    subgraph->act_sets = keep(r, subgraph->act_set_count, sizeof *subgraph->act_sets);
    if (!subgraph->act_sets) {
        ret = NO_MEMORY(r);
        goto out;
    }
    for (uint32_t i = 0; i < subgraph->act_set_count; i++) {
        struct ntk_neff_act_set *set = &subgraph->act_sets[i];
        json_t *functions = json_object_get(json_array_get(list, i), "act");
        const char *key;
        json_t *value;

        ret = get_text(r, json_array_get(list, i), path, "name", "", &set->name);
        if (ret < 0) {
            goto out;
        }
        set->functions = keep(r, json_object_size(functions), sizeof *set->functions);
        if (!set->functions) {
            ret = NO_MEMORY(r);
            goto out;
        }
        json_object_foreach(functions, key, value)
        {
            struct ntk_neff_act_function *function = &set->functions[set->function_count++];
            int64_t number;

            function->name = keep_text(r, key);
            if (!function->name) {
                ret = NO_MEMORY(r);
                goto out;
            }
            function->bucket_count =
                number_of(value, &number) && number >= 0 && number <= UINT32_MAX ? (uint32_t)number
                                                                                 : 0;
        }
    }

out:
    json_decref(json);
    return ret;
}

static uint32_t read_dims(const json_t *list, uint64_t *dims, bool *out_ok)
{
    uint32_t count = 0;

    *out_ok = json_is_array(list) && json_array_size(list) <= NTK_NEFF_DIMS_MAX;
    for (size_t i = 0; *out_ok && i < json_array_size(list); i++) {
        int64_t number;

        if (!number_of(json_array_get(list, i), &number) || number < 0) {
            *out_ok = false;
            return 0;
        }
        dims[count++] = (uint64_t)number;
    }
    return count;
}

static int read_tensor_map(struct reader *r, struct ntk_neff_subgraph *subgraph)
{
    const char *path = join(r, subgraph->folder, "tensor_map.json");
    const char *name;
    json_t *value;
    json_t *json;
    int ret = 0;

    if (!path) {
        return NO_MEMORY(r);
    }
    if (!ntk_neff_member_get(r->neff, path)) {
        return 0;
    }
    ret = load_json(r, path, &json);
    if (ret < 0) {
        return ret;
    }
    subgraph->mapped = keep(r, json_object_size(json), sizeof *subgraph->mapped);
    if (!subgraph->mapped) {
        ret = NO_MEMORY(r);
        goto out;
    }
    json_object_foreach(json, name, value)
    {
        struct ntk_neff_mapped_tensor *tensor = &subgraph->mapped[subgraph->mapped_count];
        bool ok;

        if (!json_is_object(value)) {
            continue;
        }
        subgraph->mapped_count++;
        tensor->name = keep_text(r, name);
        if (!tensor->name) {
            ret = NO_MEMORY(r);
            goto out;
        }
        if ((ret = get_text(r, value, path, "dtype", "", &tensor->dtype)) < 0 ||
            (ret = get_text(r, value, path, "kind", "", &tensor->kind)) < 0 ||
            (ret = get_text(r, value, path, "layer_name", "", &tensor->layer_name)) < 0 ||
            (ret = get_text(r, value, path, "sim_format", "", &tensor->format)) < 0) {
            goto out;
        }
        tensor->is_const = is_true(json_object_get(value, "is_const"));
        tensor->dim_count = read_dims(json_object_get(value, "sim_shape"), tensor->dims, &ok);
    }

out:
    json_decref(json);
    return ret;
}

static int read_reservations(struct reader *r, struct ntk_neff_subgraph *subgraph,
                             const json_t *def)
{
    const char *what = "runtime_statebuffer_reservation";
    const json_t *list;
    int ret =
        get_array(r, def, subgraph->name, what, false, 4096, &list, &subgraph->reservation_count);

    if (ret < 0) {
        return ret;
    }
    subgraph->reservations = keep(r, subgraph->reservation_count, sizeof *subgraph->reservations);
    if (!subgraph->reservations) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < subgraph->reservation_count; i++) {
        struct ntk_neff_reservation *reservation = &subgraph->reservations[i];
        const json_t *json = json_array_get(list, i);

        if ((ret = get_text(r, json, what, "type", "", &reservation->type)) < 0 ||
            (ret = get_u32(r, json, what, "base_partition", NTK_ISA_PARTITIONS, 0,
                           &reservation->base_partition)) < 0 ||
            (ret = get_u32(r, json, what, "partitions", NTK_ISA_PARTITIONS, 0,
                           &reservation->partition_count)) < 0 ||
            (ret = get_u64(r, json, what, "offset", VALUE_MAX, 0, &reservation->offset)) < 0 ||
            (ret = get_u64(r, json, what, "size", VALUE_MAX, 0, &reservation->bytes_count)) < 0) {
            return ret;
        }
    }
    return 0;
}

static void read_fp8(const json_t *def, struct ntk_neff_fp8_config *fp8)
{
    const json_t *json = json_object_get(def, "fp8_conversion_config");
    int64_t number;

    if (!json_is_object(json)) {
        return;
    }
    fp8->present = true;
    if (number_of(json_object_get(json, "emax_fp8_e4m3"), &number)) {
        fp8->emax_e4m3 = (int32_t)number;
    }
    if (number_of(json_object_get(json, "emax_fp8_e5m2"), &number)) {
        fp8->emax_e5m2 = (int32_t)number;
    }
    fp8->range_extension = is_true(json_object_get(json, "fp8_range_extension"));
    fp8->sis = is_true(json_object_get(json, "fp8_sis"));
    fp8->sns = is_true(json_object_get(json, "fp8_sns"));
    fp8->ocp_saturation = is_true(json_object_get(json, "ocp_sat"));
}

static int read_subgraph(struct reader *r, const json_t *row, const char *where,
                         struct ntk_neff_subgraph *subgraph)
{
    struct ntk_map vars = { 0 };
    const char *definition;
    const char *slash;
    json_t *def = NULL;
    char *folder;
    int ret;

    if ((ret = get_text(r, row, where, "name", "", &subgraph->name)) < 0 ||
        (ret = get_text(r, row, where, "definition", NULL, &definition)) < 0) {
        return ret;
    }
    if (!definition) {
        return BAD(r, "%s: a graph without a definition", where);
    }
    slash = strrchr(definition, '/');
    folder = keep(r, strlen(definition) + 1, 1);
    if (!folder) {
        return NO_MEMORY(r);
    }
    if (slash) {
        memcpy(folder, definition, (size_t)(slash - definition));
    }
    subgraph->folder = folder;

    ret = load_json(r, definition, &def);
    if (ret < 0) {
        return ret;
    }
    if ((ret = get_text(r, def, definition, "version", "", &subgraph->version)) < 0 ||
        (ret = read_vars(r, subgraph, def)) < 0 || (ret = read_queue_sets(r, subgraph, def)) < 0) {
        goto out;
    }
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        if (ntk_map_put(&vars, subgraph->vars[i].name, &subgraph->vars[i]) < 0) {
            ret = NO_MEMORY(r);
            goto out;
        }
    }
    for (int i = 0; i < NTK_ISA_ENGINE_COUNT; i++) {
        ret = read_engine(r, subgraph, def, &vars, i);
        if (ret < 0) {
            goto out;
        }
    }
    if ((ret = get_texts(r, def, definition, "neff_features", &subgraph->features,
                         &subgraph->feature_count)) < 0 ||
        (ret = get_u32(r, def, definition, "runtime_event_count", NTK_ISA_EVENTS, 0,
                       &subgraph->runtime_event_count)) < 0 ||
        (ret = get_u32(r, def, definition, "runtime_semaphore_count", NTK_ISA_SEMAPHORES, 0,
                       &subgraph->runtime_semaphore_count)) < 0 ||
        (ret = get_u32(r, json_object_get(def, "cc_streams"), definition, "num_streams", UINT32_MAX,
                       0, &subgraph->cc_stream_count)) < 0 ||
        (ret = read_reservations(r, subgraph, def)) < 0 || (ret = read_act_info(r, subgraph)) < 0 ||
        (ret = read_tensor_map(r, subgraph)) < 0) {
        goto out;
    }
    read_fp8(def, &subgraph->fp8);

out:
    ntk_map_fini(&vars);
    json_decref(def);
    return ret;
}

/* ---- kelf-N.json ---- */

static int read_kelf(struct reader *r, const char *file_name, struct ntk_neff_kelf *kelf)
{
    const json_t *list;
    json_t *json;
    int ret = load_json(r, file_name, &json);

    if (ret < 0) {
        return ret;
    }
    kelf->file_name = file_name;
    if ((ret = get_text(r, json, file_name, "version", "", &kelf->version)) < 0 ||
        (ret = get_text(r, json, file_name, "target", "", &kelf->target)) < 0 ||
        (ret = get_array(r, json, file_name, "graphs", true, SUBGRAPHS_MAX, &list,
                         &kelf->subgraph_count)) < 0) {
        goto out;
    }
    if (kelf->subgraph_count == 0) {
        ret = BAD(r, "%s: no graphs", file_name);
        goto out;
    }
    kelf->subgraphs = keep(r, kelf->subgraph_count, sizeof *kelf->subgraphs);
    if (!kelf->subgraphs) {
        ret = NO_MEMORY(r);
        goto out;
    }
    for (uint32_t i = 0; i < kelf->subgraph_count; i++) {
        ret = read_subgraph(r, json_array_get(list, i), file_name, &kelf->subgraphs[i]);
        if (ret < 0) {
            goto out;
        }
    }

out:
    json_decref(json);
    return ret;
}

/* ---- neff.json ---- */

static const char *const graph_file = "neff.json";

/* The array behind ["list_...", [...]]; NULL when it is not there. */
static const json_t *attribute_list(const json_t *graph, const char *key)
{
    const json_t *pair = json_object_get(json_object_get(graph, "attrs"), key);
    const json_t *list = json_array_get(pair, 1);

    return json_is_array(list) ? list : NULL;
}

struct graph_reader {
    struct reader *r;
    const json_t *graph;
    uint64_t *first_entry;   /* of each node, by node_row_ptr or counting */
    uint32_t **unique;       /* of each node: output in the file to index in outputs[] */
    uint32_t *output_counts; /* outputs in the file */
};

static void read_entry_facts(const struct graph_reader *g, uint64_t entry,
                             struct ntk_neff_tensor *tensor)
{
    const json_t *shape = json_array_get(attribute_list(g->graph, "shape"), entry);
    const json_t *dtype = json_array_get(attribute_list(g->graph, "dltype"), entry);
    int64_t number;
    bool ok;

    tensor->storage_id = -1;
    if (number_of(json_array_get(attribute_list(g->graph, "storage_id"), entry), &number)) {
        tensor->storage_id = number;
    }
    if (json_is_string(dtype)) {
        tensor->dtype = ntk_dtype_find(json_string_value(dtype));
    }
    tensor->dim_count = read_dims(shape, tensor->dims, &ok);
    if (ok && tensor->dtype != NTK_DTYPE_NONE) {
        uint64_t bytes = ntk_dtype_bytes((unsigned)tensor->dtype);

        for (uint32_t i = 0; i < tensor->dim_count; i++) {
            if (__builtin_mul_overflow(bytes, tensor->dims[i], &bytes)) {
                return;
            }
        }
        tensor->bytes_count = bytes;
    }
}

static int read_outputs(struct graph_reader *g, const json_t *json, uint32_t index,
                        struct ntk_neff_node *node)
{
    struct reader *r = g->r;
    const char **names = NULL;
    uint32_t count;
    int ret = get_texts(r, json, node->name, "output_names", &names, &count);

    if (ret < 0) {
        return ret;
    }
    if (count == 0) {
        if (node->kind != NTK_NEFF_NODE_INPUT && node->kind != NTK_NEFF_NODE_PARAM) {
            return BAD(r, "%s: node %s has no outputs", graph_file, node->name);
        }
        names = keep(r, 1, sizeof *names);
        if (!names) {
            return NO_MEMORY(r);
        }
        names[0] = node->name;
        count = 1;
    }
    node->outputs = keep(r, count, sizeof *node->outputs);
    g->unique[index] = keep(r, count, sizeof **g->unique);
    if (!node->outputs || !g->unique[index]) {
        return NO_MEMORY(r);
    }
    g->output_counts[index] = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;

        while (k < node->output_count && strcmp(node->outputs[k].name, names[i]) != 0) {
            k++;
        }
        g->unique[index][i] = k;
        if (k == node->output_count) {
            node->outputs[k].name = names[i];
            read_entry_facts(g, g->first_entry[index] + i, &node->outputs[k]);
            node->output_count++;
        }
    }
    return 0;
}

/* [node, output, ...] of a node before `before`, with outputs of equal name made one. */
static int read_entry(const struct graph_reader *g, const json_t *json, uint32_t before,
                      struct ntk_neff_entry *entry)
{
    int64_t node;
    int64_t output;

    if (!number_of(json_array_get(json, 0), &node) ||
        !number_of(json_array_get(json, 1), &output) || node < 0 || node >= before || output < 0 ||
        output >= g->output_counts[node]) {
        return BAD(g->r, "%s: an entry names no output of an earlier node", graph_file);
    }
    entry->node = (uint32_t)node;
    entry->output = g->unique[node][output];
    return 0;
}

static int read_kelf_of_node(struct reader *r, const json_t *attrs, struct ntk_neff_node *node)
{
    struct ntk_neff *neff = r->neff;
    const char *file_name;
    int ret = get_text(r, attrs, node->name, "kelf", NULL, &file_name);

    if (ret < 0) {
        return ret;
    }
    if (!file_name) {
        return BAD(r, "%s: node %s names no kelf", graph_file, node->name);
    }
    for (uint32_t i = 0; i < neff->kelf_count; i++) {
        if (strcmp(neff->kelfs[i].file_name, file_name) == 0) {
            node->kelf = i;
            return 0;
        }
    }
    ret = read_kelf(r, file_name, &neff->kelfs[neff->kelf_count]);
    if (ret < 0) {
        return ret;
    }
    node->kelf = neff->kelf_count++;
    return 0;
}

static int read_node(struct graph_reader *g, const json_t *json, uint32_t index)
{
    struct reader *r = g->r;
    struct ntk_neff_node *node = &r->neff->nodes[index];
    const json_t *attrs = json_object_get(json, "attrs");
    const json_t *inputs;
    const char *op;
    int ret;

    node->kelf = NTK_NEFF_NONE;
    node->func_name = "";
    if ((ret = get_text(r, json, graph_file, "name", "", &node->name)) < 0 ||
        (ret = get_text(r, json, graph_file, "op", "", &op)) < 0) {
        return ret;
    }
    if (strcmp(op, "null") == 0) {
        node->kind =
            is_true(json_object_get(json, "is_param")) ? NTK_NEFF_NODE_PARAM : NTK_NEFF_NODE_INPUT;
        return read_outputs(g, json, index, node);
    }
    if (strcmp(op, "tvm_op") != 0) {
        return BAD(r, "%s: node %s has the unknown op \"%s\"", graph_file, node->name, op);
    }
    if ((ret = get_text(r, attrs, graph_file, "func_name", "", &node->func_name)) < 0 ||
        (ret = get_text(r, attrs, graph_file, "library", NULL, &node->library)) < 0) {
        return ret;
    }
    node->kind = strcmp(node->func_name, "__kelf") == 0 ? NTK_NEFF_NODE_CORE : NTK_NEFF_NODE_CPU;
    ret = get_array(r, json, node->name, "inputs", true, 65536, &inputs, &node->input_count);
    if (ret < 0) {
        return ret;
    }
    node->inputs = keep(r, node->input_count, sizeof *node->inputs);
    if (!node->inputs) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        ret = read_entry(g, json_array_get(inputs, i), index, &node->inputs[i]);
        if (ret < 0) {
            return ret;
        }
    }
    ret = read_outputs(g, json, index, node);
    if (ret < 0) {
        return ret;
    }
    return node->kind == NTK_NEFF_NODE_CORE ? read_kelf_of_node(r, attrs, node) : 0;
}

/* The size that def.json gives to an input or output of this name; 0 when no program has it. */
static uint64_t var_bytes(const struct ntk_neff *neff, const char *name,
                          enum ntk_neff_var_type type)
{
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            const struct ntk_neff_var *var =
                ntk_neff_var_by_name(&neff->kelfs[k].subgraphs[s], name);

            if (var && var->type == type) {
                return var->bytes_count;
            }
        }
    }
    return 0;
}

static void fill_io(const struct ntk_neff *neff, struct ntk_neff_entry entry,
                    enum ntk_neff_var_type type, struct ntk_neff_io *io)
{
    const struct ntk_neff_tensor *tensor = ntk_neff_tensor_get(neff, entry);

    io->name = tensor->name;
    io->dtype = tensor->dtype;
    io->dim_count = tensor->dim_count;
    memcpy(io->dims, tensor->dims, sizeof io->dims);
    io->bytes_count = var_bytes(neff, tensor->name, type);
    if (io->bytes_count == 0) {
        io->bytes_count = tensor->bytes_count;
    }
    io->entry = entry;
}

static int read_io(struct graph_reader *g)
{
    struct reader *r = g->r;
    struct ntk_neff *neff = r->neff;
    const json_t *heads;
    uint32_t head_count;
    int ret;

    neff->inputs = keep(r, neff->node_count, sizeof *neff->inputs);
    ret = get_array(r, g->graph, graph_file, "heads", true, 65536, &heads, &head_count);
    if (ret < 0) {
        return ret;
    }
    neff->outputs = keep(r, head_count, sizeof *neff->outputs);
    if (!neff->inputs || !neff->outputs) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        const struct ntk_neff_node *node = &neff->nodes[i];

        if (node->kind == NTK_NEFF_NODE_INPUT ||
            (node->kind == NTK_NEFF_NODE_PARAM &&
             var_bytes(neff, node->name, NTK_NEFF_VAR_INPUT) > 0)) {
            for (uint32_t k = 0; k < neff->input_count; k++) {
                if (strcmp(neff->inputs[k].name, node->outputs[0].name) == 0) {
                    return BAD(r, "%s: two inputs are called %s", graph_file, node->name);
                }
            }
            fill_io(neff, (struct ntk_neff_entry){ i, 0 }, NTK_NEFF_VAR_INPUT,
                    &neff->inputs[neff->input_count++]);
        }
    }
    for (uint32_t i = 0; i < head_count; i++) {
        struct ntk_neff_entry entry;
        uint32_t k = 0;

        ret = read_entry(g, json_array_get(heads, i), neff->node_count, &entry);
        if (ret < 0) {
            return ret;
        }
        while (k < neff->output_count &&
               strcmp(neff->outputs[k].name, ntk_neff_tensor_get(neff, entry)->name) != 0) {
            k++;
        }
        if (k == neff->output_count) {
            fill_io(neff, entry, NTK_NEFF_VAR_OUTPUT, &neff->outputs[neff->output_count++]);
        }
    }
    return 0;
}

static int read_graph(struct reader *r)
{
    struct ntk_neff *neff = r->neff;
    struct graph_reader g = { .r = r };
    const json_t *nodes;
    const json_t *rows;
    uint32_t row_count;
    uint32_t core_count = 0;
    json_t *json;
    int ret = load_json(r, graph_file, &json);

    if (ret < 0) {
        return ret;
    }
    g.graph = json;
    if ((ret = get_array(r, json, graph_file, "nodes", true, 65536, &nodes, &neff->node_count)) <
            0 ||
        (ret = get_array(r, json, graph_file, "node_row_ptr", false, ARRAY_MAX, &rows,
                         &row_count)) < 0) {
        goto out;
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        const char *function = json_string_value(
            json_object_get(json_object_get(json_array_get(nodes, i), "attrs"), "func_name"));

        core_count += function && strcmp(function, "__kelf") == 0;
    }
    neff->nodes = keep(r, neff->node_count, sizeof *neff->nodes);
    neff->kelfs = keep(r, core_count, sizeof *neff->kelfs);
    g.first_entry = keep(r, (size_t)neff->node_count + 1, sizeof *g.first_entry);
    g.unique = keep(r, neff->node_count, sizeof *g.unique);
    g.output_counts = keep(r, neff->node_count, sizeof *g.output_counts);
    if (!neff->nodes || !neff->kelfs || !g.first_entry || !g.unique || !g.output_counts) {
        ret = NO_MEMORY(r);
        goto out;
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        int64_t row;

        if (i < row_count && number_of(json_array_get(rows, i), &row) && row >= 0) {
            g.first_entry[i] = (uint64_t)row;
        } else if (i > 0) {
            g.first_entry[i] = g.first_entry[i - 1] + g.output_counts[i - 1];
        }
        ret = read_node(&g, json_array_get(nodes, i), i);
        if (ret < 0) {
            goto out;
        }
    }
    ret = read_io(&g);

out:
    json_decref(json);
    return ret;
}

/* ---- open and close ---- */

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
        for (size_t i = 0; i < data->blocks.count; i++) {
            free(*(void **)ntk_vec_at(&data->blocks, i));
        }
        ntk_vec_fini(&data->blocks);
        free(data);
    }
    free(neff);
}

int ntk_neff_open_bytes(const void *bytes, size_t bytes_count, struct ntk_neff **out_neff,
                        struct ntk_err *err)
{
    static const struct ntk_tar_limits limits = { NTK_NEFF_INFLATED_BYTES_MAX, NTK_NEFF_MEMBERS_MAX,
                                                  NTK_NEFF_MEMBER_NAME_MAX };
    struct reader r = { .err = err };
    struct ntk_neff_header header;
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
    ntk_vec_init(&r.data->blocks, sizeof(void *));
    r.neff = neff;
    neff->header = header;

    ret = ntk_tar_read((const uint8_t *)bytes + header.header_size, (size_t)header.data_size,
                       &limits, &r.data->tar, err);
    if (ret < 0) {
        goto out;
    }
    neff->is_compressed = r.data->tar.is_compressed;
    neff->members = (struct ntk_neff_member *)r.data->tar.members;
    neff->member_count = (uint32_t)r.data->tar.member_count;
    for (uint32_t i = 0; i < neff->member_count; i++) {
        if (ntk_map_put(&r.data->members, neff->members[i].name, &neff->members[i]) < 0) {
            ret = NO_MEMORY(&r);
            goto out;
        }
    }
    if ((ret = read_info(&r)) < 0 || (ret = read_graph(&r)) < 0) {
        goto out;
    }

    *out_neff = neff;
    neff = NULL;
    ret = 0;

out:
    ntk_neff_close(neff);
    return ret;
}

int ntk_neff_open(const char *path, struct ntk_neff **out_neff, struct ntk_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    uint8_t *bytes = NULL;
    size_t done = 0;
    int ret;

    if (fd < 0 || fstat(fd, &status) < 0) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: cannot open: %s", path,
                          strerror(errno));
        goto out;
    }
    if (!S_ISREG(status.st_mode)) {
        ret = ntk_err_set(err, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL, NTK_ERR_NO_OFFSET,
                          "%s: not a regular file", path);
        goto out;
    }
    if ((uint64_t)status.st_size > NTK_NEFF_FILE_BYTES_MAX) {
        ret = ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "%s: too large for a NEFF", path);
        goto out;
    }
    /* Read, not mapped: a file that shrinks while it is read must not end the process. */
    bytes = malloc((size_t)status.st_size + 1);
    if (!bytes) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "%s: no memory for %lld bytes", path,
                          (long long)status.st_size);
        goto out;
    }
    while (done < (size_t)status.st_size) {
        ssize_t got = read(fd, bytes + done, (size_t)status.st_size - done);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: cannot read: %s", path,
                              strerror(errno));
            goto out;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    ret = ntk_neff_open_bytes(bytes, done, out_neff, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }

out:
    free(bytes);
    if (fd >= 0) {
        close(fd);
    }
    return ret;
}

/* ---- small questions ---- */

const struct ntk_neff_member *ntk_neff_member_get(const struct ntk_neff *neff, const char *name)
{
    const struct neff_private *data = neff->private_data;

    if (name[0] == '.' && name[1] == '/') {
        name += 2;
    }
    return ntk_map_get(&data->members, name);
}

const struct ntk_neff_var *ntk_neff_var_by_id(const struct ntk_neff_subgraph *subgraph,
                                              uint32_t var_id)
{
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        if (subgraph->vars[i].var_id == var_id) {
            return &subgraph->vars[i];
        }
    }
    return NULL;
}

const struct ntk_neff_var *ntk_neff_var_by_name(const struct ntk_neff_subgraph *subgraph,
                                                const char *name)
{
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        if (strcmp(subgraph->vars[i].name, name) == 0) {
            return &subgraph->vars[i];
        }
    }
    return NULL;
}

const struct ntk_neff_tensor *ntk_neff_tensor_get(const struct ntk_neff *neff,
                                                  struct ntk_neff_entry entry)
{
    if (entry.node >= neff->node_count || entry.output >= neff->nodes[entry.node].output_count) {
        return NULL;
    }
    return &neff->nodes[entry.node].outputs[entry.output];
}

uint64_t ntk_neff_transfer_descriptors(const struct ntk_neff_transfer *transfer)
{
    uint32_t first = transfer->tiling_dim_count > 0 ? transfer->tiling_dim_count : 1;
    uint64_t count = 1;

    for (uint32_t i = first; i < transfer->to.dim_count; i++) {
        count *= transfer->to.sizes[i];
    }
    return count;
}

static bool touches_io(const struct ntk_neff_subgraph *subgraph,
                       const struct ntk_neff_transfer *transfer)
{
    enum ntk_neff_var_type type = subgraph->vars[transfer->to.var].type;
    bool io = type == NTK_NEFF_VAR_INPUT || type == NTK_NEFF_VAR_OUTPUT;

    for (uint32_t i = 0; i < transfer->source_count; i++) {
        type = subgraph->vars[transfer->from[i].var].type;
        io = io || type == NTK_NEFF_VAR_INPUT || type == NTK_NEFF_VAR_OUTPUT;
    }
    return io;
}

void ntk_neff_subgraph_sizes(const struct ntk_neff_subgraph *subgraph,
                             struct ntk_neff_sizes *out_sizes)
{
    struct ntk_neff_sizes sizes = { 0 };
    uint64_t shared[2] = { 0, 0 };

    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        const struct ntk_neff_var *var = &subgraph->vars[i];

        switch (var->type) {
        case NTK_NEFF_VAR_FILE:
            sizes.constants += var->bytes_count;
            break;
        case NTK_NEFF_VAR_TMP_BUF:
            sizes.private_scratch += var->bytes_count;
            break;
        case NTK_NEFF_VAR_VIRTUAL:
            if (var->backing_offset + var->bytes_count > shared[var->alt_fabric]) {
                shared[var->alt_fabric] = var->backing_offset + var->bytes_count;
            }
            break;
        case NTK_NEFF_VAR_INPUT:
        case NTK_NEFF_VAR_OUTPUT:
            sizes.io += var->bytes_count;
            break;
        default:
            break;
        }
    }
    sizes.shared_scratch = shared[0] + shared[1];
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        const struct ntk_neff_engine *engine = &subgraph->engines[e];

        sizes.code += engine->code_bytes;
        for (uint32_t i = 0; i < engine->group_count; i++) {
            for (uint32_t k = 0; k < engine->groups[i].transfer_count; k++) {
                const struct ntk_neff_transfer *transfer = &engine->groups[i].transfers[k];
                uint64_t bytes = 16 * ntk_neff_transfer_descriptors(transfer);

                if (touches_io(subgraph, transfer)) {
                    sizes.rings_io += bytes;
                } else {
                    sizes.rings_spill += bytes;
                }
            }
        }
    }
    *out_sizes = sizes;
}
