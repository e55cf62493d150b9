/* SPDX-License-Identifier: MIT */
/* rtd_config - reads two small JSON files, each with a table of its keys. */
#include "runtime-hooks/rtd/rtd_config.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/fs.h"
#include "shared/base/json_place.h"
#include "shared/base/str.h"

struct text {
    const char *bytes;
    size_t bytes_count;
};

static const struct key {
    const char *object; /* "" for the whole file */
    const char *name;
    bool is_switch;
    uint32_t min, max;
    size_t place; /* offset of its value in struct rtd_config */
} keys[] = {
#define PLACE(member) offsetof(struct rtd_config, member)
    /* The place of the last two keys was never documented: both places are accepted, init_config
     * has priority. */
    { "", "model_cache_count", false, 0, UINT32_MAX, PLACE(model_cache_count) },
    { "", "io_dma_data_host", true, 0, 1, PLACE(io_data_host) },
    { "init_config", "num_hugepages_per_device", false, 0, UINT32_MAX, PLACE(hugepages) },
    { "init_config", "drop_all_capabilities", true, 0, 1, PLACE(drops_capabilities) },
    { "init_config", "model_cache_count", false, 0, UINT32_MAX, PLACE(model_cache_count) },
    { "init_config", "io_dma_data_host", true, 0, 1, PLACE(io_data_host) },
    { "model_config", "timeout", false, 1, UINT32_MAX, PLACE(timeout_s) },
    { "model_config", "ninfer", false, 1, RTD_NINFER_MAX, PLACE(ninfer) },
#undef PLACE
};

static int refuse(const struct text *text, const char *where, const char *what, struct ntk_err *err)
{
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "line %u: %s%s%s",
                       ntk_json_line_of(text->bytes, text->bytes_count, where, NULL), where,
                       *where ? ": " : "", what);
}

/* Parses an object, which the caller owns. Returns NULL if it is rejected. */
static json_t *parse(const struct text *text, struct ntk_err *err)
{
    json_error_t at;

    if (text->bytes_count == 0) {
        (void)ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the file is empty");
        return NULL;
    }
    json_t *root = json_loadb(text->bytes, text->bytes_count, JSON_REJECT_DUPLICATES, &at);

    if (!root) {
        (void)ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "line %d, column %d: %s", at.line,
                          at.column, at.text);
        return NULL;
    }
    if (!json_is_object(root)) {
        (void)refuse(text, "", "expected an object", err);
        json_decref(root);
        return NULL;
    }
    return root;
}

/* Adds "object.name" to a list of unknown names. */
static void note_unknown(char *list, const char *object, const char *name)
{
    size_t used = strlen(list);

    (void)snprintf(list + used, RTD_CONFIG_TEXT_BYTES - used, "%s%.60s%s%.60s", used ? ", " : "",
                   object, *object ? "." : "", name);
}

static int value_take(struct rtd_config *config, const struct text *text, const struct key *key,
                      const json_t *value, struct ntk_err *err)
{
    struct rtd_config_value *to = (struct rtd_config_value *)(void *)((char *)config + key->place);
    char where[128];
    char what[96];

    (void)snprintf(where, sizeof where, "%s%s%s", key->object, *key->object ? "." : "", key->name);
    if (key->is_switch) {
        if (!json_is_boolean(value)) {
            return refuse(text, where, "expected true or false", err);
        }
        *to = (struct rtd_config_value){ true, json_is_true(value) };
        return 0;
    }
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < (json_int_t)key->min || number > (json_int_t)key->max) {
        (void)snprintf(what, sizeof what, "expected an integer from %u to %u", key->min, key->max);
        return refuse(text, where, what, err);
    }
    *to = (struct rtd_config_value){ true, (uint32_t)number };
    return 0;
}

static bool is_object_of_keys(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (*name && strcmp(keys[i].object, name) == 0) {
            return true;
        }
    }
    return false;
}

static int members_take(struct rtd_config *config, const struct text *text, const char *object,
                        json_t *members, struct ntk_err *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(members, name, value)
    {
        const struct key *key = keys;
        const struct key *end = keys + sizeof keys / sizeof *keys;

        if (*object == '\0' && is_object_of_keys(name)) {
            continue;
        }
        while (key < end && (strcmp(key->object, object) != 0 || strcmp(key->name, name) != 0)) {
            key++;
        }
        int ret = 0;
        if (key == end) {
            note_unknown(config->unknown, object, name);
        } else {
            ret = value_take(config, text, key, value, err);
        }
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

int rtd_config_parse(struct rtd_config *config, const char *bytes, size_t bytes_count,
                     struct ntk_err *err)
{
    static const char *const objects[] = { "init_config", "model_config" };
    const struct text text = { bytes, bytes_count };

    *config = (struct rtd_config){ 0 };
    json_t *root = parse(&text, err);
    if (!root) {
        return -EINVAL;
    }
    int ret = members_take(config, &text, "", root, err);
    for (size_t i = 0; i < sizeof objects / sizeof *objects && ret == 0; i++) {
        json_t *members = json_object_get(root, objects[i]);

        if (members && !json_is_object(members)) {
            ret = refuse(&text, objects[i], "expected an object", err);
        } else if (members) {
            ret = members_take(config, &text, objects[i], members, err);
        }
    }
    json_decref(root);
    return ret;
}

static int text_take(char *to, const struct text *text, const char *where, const json_t *value,
                     struct ntk_err *err)
{
    if (!json_is_string(value) || json_string_length(value) == 0 ||
        json_string_length(value) != strlen(json_string_value(value))) {
        return refuse(text, where, "expected a string", err);
    }
    return ntk_str_copy(to, RTD_CONFIG_TEXT_BYTES, json_string_value(value))
               ? 0
               : refuse(text, where, "the string is too long", err);
}

static int devices_take(struct rtd_instance *instance, const struct text *text, json_t *list,
                        struct ntk_err *err)
{
    json_t *value;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > RTD_DEVICES_MAX) {
        return refuse(text, "devices", "expected a list of device numbers", err);
    }
    json_array_foreach(list, i, value)
    {
        json_int_t number = json_integer_value(value);

        if (!json_is_integer(value) || number < 0 || number >= RTD_DEVICES_MAX) {
            char where[32];

            (void)snprintf(where, sizeof where, "devices[%zu]", i);
            return refuse(text, where, "expected a device number", err);
        }
        instance->devices[instance->device_count++] = (uint32_t)number;
    }
    instance->has_devices = true;
    return 0;
}

int rtd_instance_parse(struct rtd_instance *instance, const char *bytes, size_t bytes_count,
                       struct ntk_err *err)
{
    const struct text text = { bytes, bytes_count };
    const char *name;
    json_t *value;
    int ret = 0;

    *instance = (struct rtd_instance){ 0 };
    json_t *root = parse(&text, err);
    if (!root) {
        return -EINVAL;
    }
    json_object_foreach(root, name, value)
    {
        if (strcmp(name, "name") == 0) {
            ret = text_take(instance->name, &text, name, value, err);
        } else if (strcmp(name, "server_port") == 0) {
            ret = text_take(instance->endpoint, &text, name, value, err);
        } else if (strcmp(name, "devices") == 0) {
            ret = devices_take(instance, &text, value, err);
        } else {
            note_unknown(instance->unknown, "", name);
        }
        if (ret < 0) {
            break;
        }
    }
    json_decref(root);
    return ret;
}

/* ---- files ---- */

/* Reads a file; the caller frees the result. Returns NULL if the file is rejected, with
 * *out_ret. */
static char *file_read(const char *path, size_t *out_bytes, int *out_ret, struct ntk_err *err)
{
    uint8_t *bytes = NULL;

    *out_ret = ntk_fs_read(path, RTD_CONFIG_BYTES_MAX, &bytes, out_bytes, err);
    return *out_ret < 0 ? NULL : (char *)bytes;
}

int rtd_config_read(struct rtd_config *config, const char *path, struct ntk_err *err)
{
    size_t bytes_count;
    int ret;
    char *bytes = file_read(path, &bytes_count, &ret, err);

    *config = (struct rtd_config){ 0 };
    if (bytes) {
        ret = rtd_config_parse(config, bytes, bytes_count, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%s", path);
        }
        free(bytes);
    }
    return ret;
}

int rtd_instance_read(struct rtd_instance *instance, const char *name, struct ntk_err *err)
{
    char path[4096];
    size_t bytes_count;
    int ret;
    int length =
        snprintf(path, sizeof path, "%s%s%s", strchr(name, '/') ? "" : RTD_INSTANCE_FOLDER "/",
                 name, ntk_str_ends_with(name, ".json") ? "" : ".json");

    *instance = (struct rtd_instance){ 0 };
    if (length < 0 || (size_t)length >= sizeof path) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "the instance name is too long");
    }
    char *bytes = file_read(path, &bytes_count, &ret, err);
    if (bytes) {
        ret = rtd_instance_parse(instance, bytes, bytes_count, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%s", path);
        }
        free(bytes);
    }
    return ret;
}
