/* SPDX-License-Identifier: MIT */
/* vendor_trace_info - reads trace_info.pb: the origin of the trace, and the tables of names. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/formats/common/protobuf.h"
#include "shared/formats/ntrace/vendor_trace.h"

#define INFO_BYTES_MAX ((size_t)64 << 20)

static const char *const table_names[NTK_VENDOR_TRACE_TABLES] = {
    [NTK_VENDOR_TRACE_TYPES] = "ntrace_inspect_type",
    [NTK_VENDOR_TRACE_MODELS] = "system_trace",
    [NTK_VENDOR_TRACE_USAGES] = "nrt_inspect_mem_usage_type",
    [NTK_VENDOR_TRACE_ERRORS] = "nrt_inspect_mem_alloc_errno_type",
};

/* Field 2 is a text in our files, and the process's number in the vendor's. */
bool ntk_vendor_trace_is_info(const uint8_t *bytes, size_t count)
{
    struct ntk_protobuf_field field;
    size_t at = 0;

    while (ntk_protobuf_next(bytes, count, &at, &field)) {
        if (field.number == 2) {
            return field.kind == NTK_PROTOBUF_VARINT;
        }
        if (field.number > 2) {
            return field.number == 4 && field.bytes; /* a number in our files */
        }
    }
    return false;
}

static void text_set(char **text, const struct ntk_protobuf_field *field)
{
    char *copy = strndup((const char *)field->bytes, field->bytes_count);

    if (copy) {
        (void)ntk_str_clean(copy, strlen(copy));
        free(*text);
        *text = copy;
    }
}

static void text_set_number(char **text, uint64_t number)
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, number);
    struct ntk_protobuf_field field = { .bytes = (const uint8_t *)digits,
                                        .bytes_count = (size_t)count };

    text_set(text, &field);
}

static int name_add(struct ntk_vec *table, const struct ntk_protobuf_field *field)
{
    struct ntk_vendor_trace_name name = { 0 };
    struct ntk_protobuf_field part;
    size_t at = 0;

    if (table->count >= NTK_VENDOR_TRACE_NAMES_MAX) {
        return 0;
    }
    while (ntk_protobuf_next(field->bytes, field->bytes_count, &at, &part)) {
        if (part.number == 1 && part.kind == NTK_PROTOBUF_VARINT) {
            name.id = part.value;
        } else if (part.number == 2 && part.bytes) {
            text_set(&name.text, &part);
        }
    }
    if (name.text && ntk_vec_push(table, &name) == 0) {
        return 0;
    }
    bool is_lost = name.text != NULL;
    free(name.text);
    return is_lost ? -ENOMEM : 0;
}

/* Reads a table; its name comes before its entries. */
static int table_read(struct ntk_vendor_trace_info *info, const struct ntk_protobuf_field *field)
{
    struct ntk_protobuf_field part;
    struct ntk_vec *table = NULL;
    size_t at = 0;
    int ret = 0;

    while (ret == 0 && ntk_protobuf_next(field->bytes, field->bytes_count, &at, &part)) {
        if (part.number == 1 && part.bytes) {
            for (size_t i = 0; i < NTK_VENDOR_TRACE_TABLES; i++) {
                if (strlen(table_names[i]) == part.bytes_count &&
                    memcmp(table_names[i], part.bytes, part.bytes_count) == 0) {
                    table = &info->tables[i];
                }
            }
        } else if (part.number == 2 && part.bytes && table) {
            ret = name_add(table, &part);
        }
    }
    return ret;
}

static void host_read(struct ntk_vendor_trace_info *info, const struct ntk_protobuf_field *field)
{
    struct ntk_protobuf_field part;
    size_t at = 0;

    while (ntk_protobuf_next(field->bytes, field->bytes_count, &at, &part)) {
        bool is_number = part.kind == NTK_PROTOBUF_VARINT;

        if (part.number == 1 && is_number) {
            info->processor_count = part.value;
        } else if (part.number == 2 && part.bytes) {
            text_set(&info->processor_name, &part);
        } else if (part.number == 3 && is_number) {
            info->memory_bytes = part.value;
        }
    }
}

static void ultraserver_type_set(struct ntk_vendor_trace_info *info, uint64_t type)
{
    static const char name[] = "Switch";
    struct ntk_protobuf_field field = { .bytes = (const uint8_t *)name,
                                        .bytes_count = sizeof name - 1 };

    if (type == NTK_VENDOR_TRACE_SWITCH) {
        text_set(&info->ultraserver_type, &field);
    } else if (type) {
        text_set_number(&info->ultraserver_type, type);
    }
}

/* Reads the UltraServer. Its identity may be a text or a number. An index of 0 is absent, because
 * protobuf omits zeros. */
static void ultraserver_read(struct ntk_vendor_trace_info *info,
                             const struct ntk_protobuf_field *field)
{
    struct ntk_protobuf_field part;
    size_t at = 0;

    info->ultraserver_index = 0;
    while (ntk_protobuf_next(field->bytes, field->bytes_count, &at, &part)) {
        bool is_number = part.kind == NTK_PROTOBUF_VARINT;

        if (part.number == 1 && part.bytes) {
            text_set(&info->ultraserver_id, &part);
        } else if (part.number == 1 && is_number) {
            text_set_number(&info->ultraserver_id, part.value);
        } else if (part.number == 2 && is_number) {
            ultraserver_type_set(info, part.value);
        } else if (part.number == 3 && is_number) {
            info->ultraserver_size = part.value;
        } else if (part.number == 4 && is_number) {
            info->ultraserver_index = part.value;
        }
    }
}

static int field_read(struct ntk_vendor_trace_info *info, const struct ntk_protobuf_field *field)
{
    const struct {
        uint64_t number;
        uint64_t *value;
        char **text;
    } plain[] = {
        { 1, &info->version, NULL },        { 2, &info->process_id, NULL },
        { 4, NULL, &info->instance_id },    { 5, &info->session_id, NULL },
        { 11, &info->begin_ns, NULL },      { 12, &info->end_ns, NULL },
        { 13, NULL, &info->ip_address },    { 14, &info->record_count, NULL },
        { 15, NULL, &info->instance_type }, { 16, &info->lnc, NULL },
        { 17, NULL, &info->host_name },
    };

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (plain[i].number != field->number) {
            continue;
        }
        if (plain[i].value && field->kind == NTK_PROTOBUF_VARINT) {
            *plain[i].value = field->value;
        } else if (plain[i].text && field->bytes) {
            text_set(plain[i].text, field);
        }
        return 0;
    }
    if (field->bytes && field->number == 7) {
        host_read(info, field);
    } else if (field->bytes && field->number == 18) {
        ultraserver_read(info, field);
    }
    return field->bytes && field->number == 10 ? table_read(info, field) : 0;
}

NTK_ORDER(compare_names, struct ntk_vendor_trace_name, NTK_UP(id));

static char **const *texts_of(struct ntk_vendor_trace_info *info, char **texts[8])
{
    texts[0] = &info->instance_id;
    texts[1] = &info->instance_type;
    texts[2] = &info->ip_address;
    texts[3] = &info->host_name;
    texts[4] = &info->processor_name;
    texts[5] = &info->ultraserver_id;
    texts[6] = &info->ultraserver_type;
    texts[7] = NULL;
    return texts;
}

void ntk_vendor_trace_info_free(struct ntk_vendor_trace_info *info)
{
    char **texts[8];

    if (!info) {
        return;
    }
    for (char **const *text = texts_of(info, texts); *text; text++) {
        free(**text);
    }
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_each(struct ntk_vendor_trace_name, name, &info->tables[t]) {
            free(name->text);
        }
        ntk_vec_fini(&info->tables[t]);
    }
    free(info);
}

static struct ntk_vendor_trace_info *info_create(void)
{
    struct ntk_vendor_trace_info *info = calloc(1, sizeof *info);
    char **texts[8];
    bool is_whole = info != NULL;

    if (!info) {
        return NULL;
    }
    info->ultraserver_index = NTK_VENDOR_TRACE_NO_INDEX;
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_init(&info->tables[t], sizeof(struct ntk_vendor_trace_name));
    }
    for (char **const *text = texts_of(info, texts); *text; text++) {
        **text = strdup("");
        is_whole = is_whole && **text;
    }
    if (!is_whole) {
        ntk_vendor_trace_info_free(info);
        return NULL;
    }
    return info;
}

int ntk_vendor_trace_info_read_bytes(const uint8_t *bytes, size_t count, const char *name,
                                     struct ntk_vendor_trace_info **out_info, struct ntk_err *err)
{
    struct ntk_vendor_trace_info *info = info_create();
    struct ntk_protobuf_field field;
    size_t at = 0;
    int ret = info ? 0 : -ENOMEM;

    while (ret == 0 && ntk_protobuf_next(bytes, count, &at, &field)) {
        ret = field_read(info, &field);
    }
    if (ret < 0) {
        ntk_vendor_trace_info_free(info);
        return ntk_err_no_memory(err);
    }
    if (at == 0 && count > 0) {
        ntk_vendor_trace_info_free(info);
        return ntk_err_set(err, -EBADMSG, 0, "%s is not an inspection trace", name);
    }
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_sort(&info->tables[t], compare_names);
    }
    if (at < count) {
        ntk_err_set(err, -EBADMSG, at, "%s is truncated: %zu of its %zu bytes are readable", name,
                    at, count);
        ret = 1;
    }
    *out_info = info;
    return ret;
}

int ntk_vendor_trace_info_read(const char *path, struct ntk_vendor_trace_info **out_info,
                               struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret = ntk_fs_read(path, INFO_BYTES_MAX, &bytes, &count, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_vendor_trace_info_read_bytes(bytes, count, path, out_info, err);
    free(bytes);
    return ret;
}

const char *ntk_vendor_trace_name_find(const struct ntk_vendor_trace_info *info,
                                       enum ntk_vendor_trace_table table, uint64_t id)
{
    const struct ntk_vec *names = &info->tables[table];
    struct ntk_vendor_trace_name key = { .id = id };
    const struct ntk_vendor_trace_name *name =
        names->count > 0 ? bsearch(&key, names->items, names->count, sizeof *name, compare_names)
                         : NULL;

    return name ? name->text : NULL;
}
