/* SPDX-License-Identifier: MIT */
/* neff_debug_hlo - reads the two highest levels: XLA operations and framework names. */
#include "shared/formats/neff/neff_debug_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/base/str.h"

/* The pairs of an operation that are needed. */
struct origin {
    struct ntk_protobuf_field op_type, file, line;
};

static int take_origin(struct debug_reader *r, struct debug_pair pair, void *ctx)
{
    struct origin *origin = ctx;
    struct ntk_protobuf_field *to = neff_debug_is(pair.key, "op_type")       ? &origin->op_type
                                    : neff_debug_is(pair.key, "source_file") ? &origin->file
                                    : neff_debug_is(pair.key, "source_line") ? &origin->line
                                                                             : NULL;

    (void)r;
    if (to) {
        *to = *pair.value;
    }
    return 0;
}

static int add_origin_text(struct debug_reader *r, const struct ntk_protobuf_field *field,
                           const char **out_place)
{
    size_t at = 0;
    int ret = field->bytes_count ? neff_debug_add_text(r, field, &at) : 0;

    *out_place = (const char *)(uintptr_t)at;
    return ret;
}

static int read_hlo_entry(struct debug_reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[NEFF_DEBUG_FIELDS];
    struct origin origin = { 0 };
    int ret = neff_debug_fields(r, entry, fields, take_origin, &origin);

    if (ret < 0) {
        return ret;
    }
    struct ntk_neff_hlo *to = ntk_vec_add(&r->hlos);
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    to->id = fields[FIELD_ID].value;
    to->frame = fields[FIELD_FRAME].value <= UINT32_MAX ? (uint32_t)fields[FIELD_FRAME].value : 0;
    ret = neff_debug_first_id(r, &fields[FIELD_PENGUIN_IDS], &to->framework_id);
    to->has_framework = ret == 0;
    ret = ret == -ENOENT ? 0 : ret;
    uint64_t line = 0;
    for (size_t i = 0; i < origin.line.bytes_count && line <= UINT32_MAX; i++) {
        uint8_t digit = (uint8_t)(origin.line.bytes[i] - '0');
        line = digit <= 9 ? line * 10 + digit : UINT64_MAX;
    }
    to->line = line <= UINT32_MAX ? (uint32_t)line : 0;
    ret = ret == 0 ? add_origin_text(r, &fields[FIELD_TEXT], &to->text) : ret;
    ret = ret == 0 ? add_origin_text(r, &origin.op_type, &to->op_type) : ret;
    return ret == 0 ? add_origin_text(r, &origin.file, &to->file) : ret;
}

static int read_framework_entry(struct debug_reader *r, const struct ntk_protobuf_field *entry)
{
    struct ntk_protobuf_field fields[NEFF_DEBUG_FIELDS];
    int ret = neff_debug_fields(r, entry, fields, NULL, NULL);

    if (ret < 0) {
        return ret;
    }
    struct ntk_neff_framework *to = ntk_vec_add(&r->frameworks);
    if (!to) {
        return ntk_err_no_memory(r->err);
    }
    to->id = fields[FIELD_ID].value;
    return add_origin_text(r, &fields[FIELD_TEXT], &to->text);
}

int neff_debug_read_hlo(struct debug_reader *r, const struct ntk_neff *neff, uint32_t number)
{
    static const struct {
        const char *level;
        int (*read)(struct debug_reader *r, const struct ntk_protobuf_field *entry);
    } levels[] = { { "hlo", read_hlo_entry }, { "pttf", read_framework_entry } };
    struct ntk_err *caller = r->err;
    int ret = 0;

    r->err = &r->debug->hlo_err;
    for (size_t i = 0; i < sizeof levels / sizeof *levels && ret == 0; i++) {
        char name[64];
        snprintf(name, sizeof name, "debug_info/debug_info_%s.dbg_sg%06u", levels[i].level, number);
        const struct ntk_neff_member *member = ntk_neff_member_get(neff, name);
        ret = member ? neff_debug_member(r, member, levels[i].read) : 0;
    }
    if (ret == -EBADMSG) {
        ntk_vec_clear(&r->hlos);
        ntk_vec_clear(&r->frameworks);
        ret = 0;
    }
    r->err = caller;
    return ret == -ENOMEM ? ntk_err_no_memory(caller) : ret;
}

/* Sorts by id. Of equal ids, an operation comes before a computation, which has only a name as text
 * and may lack an id; then in file order. */
static int compare_hlos(const void *a, const void *b)
{
    const struct ntk_neff_hlo *x = a;
    const struct ntk_neff_hlo *y = b;
    bool is_bare_x = !strchr(x->text, '=');
    bool is_bare_y = !strchr(y->text, '=');

    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    if (is_bare_x != is_bare_y) {
        return is_bare_x ? 1 : -1;
    }
    return x->text < y->text ? -1 : x->text > y->text; /* texts are in file order */
}

NTK_ORDER(compare_frameworks, struct ntk_neff_framework, NTK_UP(id) NTK_UP(text));

/* Keeps the first row of each id. Rows of both kinds begin with their id. */
static size_t keep_first_of_ids(struct ntk_vec *rows)
{
    size_t bytes = rows->item_bytes;
    char *items = rows->items;
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        if (!kept || memcmp(items + (kept - 1) * bytes, items + i * bytes, sizeof(uint64_t)) != 0) {
            memmove(items + kept++ * bytes, items + i * bytes, bytes);
        }
    }
    return kept;
}

void neff_debug_finish_hlo(struct debug_reader *r)
{
    ntk_vec_each(struct ntk_neff_hlo, hlo, &r->hlos) {
        hlo->text = neff_debug_text_of(r, hlo->text);
        hlo->op_type = neff_debug_text_of(r, hlo->op_type);
        hlo->file = neff_debug_text_of(r, hlo->file);
    }
    ntk_vec_each(struct ntk_neff_framework, framework, &r->frameworks) {
        framework->text = neff_debug_text_of(r, framework->text);
    }
    ntk_vec_sort(&r->hlos, compare_hlos);
    ntk_vec_sort(&r->frameworks, compare_frameworks);
    r->debug->hlo_count = keep_first_of_ids(&r->hlos);
    r->debug->hlos = r->hlos.items;
    r->debug->framework_count = keep_first_of_ids(&r->frameworks);
    r->debug->frameworks = r->frameworks.items;
    for (size_t i = 0; i < r->debug->hlo_count; i++) {
        struct ntk_neff_hlo *hlo = &r->debug->hlos[i];
        hlo->framework =
            hlo->has_framework ? ntk_neff_debug_framework(r->debug, hlo->framework_id) : NULL;
    }
}

/* Rows of both kinds begin with their id. */
NTK_ORDER_NUMBERS(compare_ids, uint64_t);

static const void *find(const void *rows, size_t count, size_t bytes, uint64_t id)
{
    return count > 0 ? bsearch(&id, rows, count, bytes, compare_ids) : NULL;
}

const struct ntk_neff_hlo *ntk_neff_debug_hlo(const struct ntk_neff_debug *debug, uint64_t hlo_id)
{
    return find(debug->hlos, debug->hlo_count, sizeof *debug->hlos, hlo_id);
}

const char *ntk_neff_debug_framework(const struct ntk_neff_debug *debug, uint64_t framework_id)
{
    const struct ntk_neff_framework *found =
        find(debug->frameworks, debug->framework_count, sizeof *debug->frameworks, framework_id);

    return found ? found->text : NULL;
}
