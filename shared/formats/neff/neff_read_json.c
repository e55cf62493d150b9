/* SPDX-License-Identifier: MIT */
/* neff_read_json - memory that lives as long as the NEFF, and JSON values. */
#include "shared/formats/neff/neff_read_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

#define BLOCK_BYTES 65536

/* ---- memory that lives as long as the NEFF ---- */

bool neff_budget_take(struct reader *r, uint64_t bytes)
{
    if (bytes > r->data->budget) {
        r->is_over_budget = true;
        return false;
    }
    r->data->budget -= bytes;
    return true;
}

void neff_no_memory(struct reader *r)
{
    if (r->is_over_budget) {
        (void)ntk_err_set(r->err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          "the content exceeds " NTK_NEFF_MEMORY_TEXT);
    } else {
        (void)ntk_err_no_memory(r->err);
    }
}

void *neff_keep(struct reader *r, size_t count, size_t bytes)
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
        void *block = neff_budget_take(r, block_bytes) ? calloc(1, block_bytes) : NULL;

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

const char *neff_keep_text(struct reader *r, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = neff_keep(r, bytes, 1);

    if (copy) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

/* ---- values of JSON ---- */

bool neff_number_of(const json_t *value, int64_t *out)
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

bool neff_is_true(const json_t *value)
{
    int64_t number;
    bool is_on = false;

    if (json_is_string(value)) {
        return ntk_str_parse_bool(json_string_value(value), &is_on) == 0 && is_on;
    }
    return json_is_true(value) || (neff_number_of(value, &number) && number != 0);
}

/* Reads a number between 0 and max, or returns the fallback if the key is absent. */
int neff_get_u64(struct reader *r, const json_t *object, const char *what, const char *key,
                 uint64_t max, uint64_t fallback, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    int64_t number;

    if (!value || json_is_null(value)) {
        *out = fallback;
        return 0;
    }
    if (!neff_number_of(value, &number) || number < 0 || (uint64_t)number > max) {
        return BAD(r, "%s: %s must be a number from 0 to %llu", what, key, (unsigned long long)max);
    }
    *out = (uint64_t)number;
    return 0;
}

int neff_get_u32(struct reader *r, const json_t *object, const char *what, const char *key,
                 uint32_t max, uint32_t fallback, uint32_t *out)
{
    uint64_t number = 0;
    int ret = neff_get_u64(r, object, what, key, max, fallback, &number);

    if (ret == 0) {
        *out = (uint32_t)number;
    }
    return ret;
}

/* Reads a text, or returns the fallback (which may be NULL) if the key is absent. */
int neff_get_text(struct reader *r, const json_t *object, const char *what, const char *key,
                  const char *fallback, const char **out)
{
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value)) {
        *out = fallback;
        return 0;
    }
    if (!json_is_string(value)) {
        return BAD(r, "%s: %s must be a string", what, key);
    }
    *out = neff_keep_text(r, json_string_value(value));
    return *out ? 0 : NO_MEMORY(r);
}

/* Reads the elements of a required array. */
int neff_get_array(struct reader *r, const json_t *object, const char *what, const char *key,
                   bool required, size_t max, const json_t **out, uint32_t *out_count)
{
    const json_t *value = json_object_get(object, key);

    if (!value && !required) {
        *out = NULL;
        *out_count = 0;
        return 0;
    }
    if (!json_is_array(value)) {
        return BAD(r, "%s: %s must be a list", what, key);
    }
    if (json_array_size(value) > max) {
        return BAD(r, "%s: %s has %zu elements (at most %zu)", what, key, json_array_size(value),
                   max);
    }
    *out = value;
    *out_count = (uint32_t)json_array_size(value);
    return 0;
}

int neff_get_texts(struct reader *r, const json_t *object, const char *what, const char *key,
                   const char ***out, uint32_t *out_count)
{
    const json_t *list;
    uint32_t count;
    int ret = neff_get_array(r, object, what, key, false, ARRAY_MAX, &list, &count);

    if (ret < 0 || count == 0) {
        *out_count = 0;
        return ret;
    }
    *out = neff_keep(r, count, sizeof **out);
    if (!*out) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);

        if (!json_is_string(value)) {
            return BAD(r, "%s: %s must contain only strings", what, key);
        }
        (*out)[i] = neff_keep_text(r, json_string_value(value));
        if (!(*out)[i]) {
            return NO_MEMORY(r);
        }
    }
    *out_count = count;
    return 0;
}

static int is_json_affordable(struct reader *r, const char *where, const char *text, size_t bytes,
                              uint64_t *out_cost)
{
    *out_cost = ntk_json_tree_bytes(text, bytes);
    if (*out_cost > r->data->budget || bytes > r->data->work) {
        (void)ntk_err_set(r->err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          "%s: %zu bytes of JSON exceed " NTK_NEFF_MEMORY_TEXT, where, bytes);
        return -ENOMEM;
    }
    if (!neff_memory_has(r, *out_cost)) {
        (void)ntk_err_set(r->err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          "%s of %zu bytes requires more memory than is free", where, bytes);
        return -ENOMEM;
    }
    r->data->work -= bytes;
    return 0;
}

int neff_parse_text(struct reader *r, const char *where, const char *text, size_t bytes_count,
                    json_t **out)
{
    json_error_t error;
    uint64_t cost;
    int ret = is_json_affordable(r, where, text, bytes_count, &cost);

    if (ret < 0) {
        return ret;
    }
    *out = json_loadb(text, bytes_count, JSON_DECODE_ANY, &error);
    if (!*out) {
        if (json_error_code(&error) == json_error_out_of_memory) {
            return NO_MEMORY(r);
        }
        (void)ntk_err_set(r->err, -EBADMSG, error.position > 0 ? (uint64_t)error.position : 0,
                          "%s: %s", where, error.text);
        return -EBADMSG;
    }
    if (ntk_map_put_number(&r->data->costs, (uintptr_t)*out, (void *)(uintptr_t)cost) < 0) {
        json_decref(*out);
        *out = NULL;
        return NO_MEMORY(r);
    }
    r->data->budget -= cost;
    return 0;
}

void neff_json_drop(struct reader *r, json_t *json)
{
    if (json) {
        r->data->budget += (uintptr_t)ntk_map_remove_number(&r->data->costs, (uintptr_t)json);
        json_decref(json);
    }
}

static int parse_object(struct reader *r, const char *where, const char *text, size_t bytes_count,
                        json_t **out)
{
    int ret;

    if (bytes_count > NTK_NEFF_JSON_BYTES_MAX) {
        (void)ntk_err_set(r->err, -EFBIG, NTK_ERR_NO_OFFSET, "%s is too large for JSON", where);
        return -EFBIG;
    }
    ret = neff_parse_text(r, where, text, bytes_count, out);
    if (ret == 0 && !json_is_object(*out)) {
        neff_json_drop(r, *out);
        *out = NULL;
        ret = BAD(r, "%s: not a JSON object", where);
    }
    return ret;
}

int neff_parse(struct reader *r, const struct ntk_neff_member *member, json_t **out)
{
    return parse_object(r, member->name, (const char *)member->bytes, member->bytes_count, out);
}

int neff_parse_apart(struct reader *r, const char *where, const char *text, size_t bytes_count,
                     const char *key, json_t **out, struct ntk_json_list *out_list)
{
    struct ntk_json_list list;
    char *rest;
    size_t before;
    size_t after;
    int ret;

    *out_list = (struct ntk_json_list){ .text = NULL };
    if (!ntk_json_list_find(text, bytes_count, key, &list)) {
        return parse_object(r, where, text, bytes_count, out);
    }
    before = (size_t)(list.text - text);
    after = bytes_count - before - list.text_bytes;
    rest = malloc(before + 2 + after);
    if (!rest) {
        return NO_MEMORY(r);
    }
    memcpy(rest, text, before);
    memcpy(rest + before, "[]", 2);
    memcpy(rest + before + 2, list.text + list.text_bytes, after);
    ret = parse_object(r, where, rest, before + 2 + after, out);
    free(rest);
    if (ret < 0) {
        return ret;
    }
    if (json_array_size(json_object_get(*out, key)) > 0) {
        neff_json_drop(r, *out);
        *out = NULL;
        return BAD(r, "%s: duplicate key '%s'", where, key);
    }
    *out_list = list;
    return 0;
}

static int member_of(struct reader *r, const char *name, const struct ntk_neff_member **out)
{
    *out = ntk_neff_member_get(r->neff, name);
    if (!*out) {
        return BAD(r, "the archive has no %s", name);
    }
    if (!(*out)->bytes) {
        return BAD(r, "%s was not read (%zu bytes), because no other member refers to it", name,
                   (*out)->bytes_count);
    }
    return 0;
}

int neff_load_json(struct reader *r, const char *name, json_t **out)
{
    const struct ntk_neff_member *member;
    int ret = member_of(r, name, &member);

    if (ret < 0) {
        return ret;
    }
    *out = ntk_map_remove_number(&r->data->parsed, (uintptr_t)member->bytes);
    return *out ? 0 : neff_parse(r, member, out);
}

int neff_load_json_apart(struct reader *r, const char *name, const char *key, json_t **out,
                         struct ntk_json_list *out_list)
{
    const struct ntk_neff_member *member;
    int ret = member_of(r, name, &member);

    return ret < 0 ? ret
                   : neff_parse_apart(r, name, (const char *)member->bytes, member->bytes_count,
                                      key, out, out_list);
}

const char *neff_folder_of(struct reader *r, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = neff_keep(r, slash ? (size_t)(slash - path) + 1 : 1, 1);

    if (folder && slash) {
        memcpy(folder, path, (size_t)(slash - path));
    }
    return folder;
}

/* Joins "folder/name" in memory that lives as long as the NEFF. */
const char *neff_join(struct reader *r, const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = neff_keep(r, bytes, 1);

    if (path) {
        snprintf(path, bytes, "%s%s%s", folder, folder[0] ? "/" : "", name);
    }
    return path;
}

int neff_lookup(const char *text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

uint32_t neff_read_dims(const json_t *list, uint64_t *dims, bool *out_ok)
{
    uint32_t count = 0;

    *out_ok = json_is_array(list) && json_array_size(list) <= NTK_NEFF_DIMS_MAX;
    for (size_t i = 0; *out_ok && i < json_array_size(list); i++) {
        int64_t number;

        if (!neff_number_of(json_array_get(list, i), &number) || number < 0) {
            *out_ok = false;
            return 0;
        }
        dims[count++] = (uint64_t)number;
    }
    return count;
}
