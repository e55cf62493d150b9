/* SPDX-License-Identifier: MIT */
/* output_summary - writes a summary as text and as JSON. */
#include "profiler/output/output.h"

#include <string.h>

#include "shared/base/json.h"

static void add_value(struct ntk_buf *out, const struct ntk_summary_value *value, bool has_units)
{
    char number[32];

    switch (value->kind) {
    case NTK_SUMMARY_KIND_TEXT:
        ntk_buf_add_text(out, value->text);
        break;
    case NTK_SUMMARY_KIND_COUNT:
        ntk_buf_add_u64(out, value->count);
        break;
    case NTK_SUMMARY_KIND_BYTES:
        ntk_buf_add_u64(out, value->count);
        ntk_buf_add_text(out, has_units ? " bytes" : "");
        break;
    default:
        if (!has_units) {
            ntk_buf_add(out, number, ntk_json_format_double(number, sizeof number, value->number));
        } else if (value->kind == NTK_SUMMARY_KIND_SECONDS) {
            ntk_buf_add_format(out, "%.3f us", value->number * 1e6);
        } else if (value->kind == NTK_SUMMARY_KIND_FRACTION) {
            ntk_buf_add_format(out, "%.2f%%", value->number * 100);
        } else {
            ntk_buf_add_format(out, "%.6g", value->number);
        }
        break;
    }
}

void ntk_output_summary_text(const struct ntk_summary *summary, bool has_units, struct ntk_buf *out)
{
    size_t width = 0;

    for (size_t i = 0; i < summary->value_count; i++) {
        if (summary->values[i].is_present && strlen(summary->values[i].name) > width) {
            width = strlen(summary->values[i].name);
        }
    }
    for (size_t i = 0; i < summary->value_count; i++) {
        const struct ntk_summary_value *value = &summary->values[i];
        if (!value->is_present) {
            continue;
        }
        ntk_buf_add_text(out, value->name);
        ntk_buf_add_fill(out, ' ', width - strlen(value->name) + 2);
        add_value(out, value, has_units);
        ntk_buf_add_char(out, '\n');
    }
}

void ntk_output_summary_members(const struct ntk_summary *summary, struct ntk_json *json)
{
    for (size_t i = 0; i < summary->value_count; i++) {
        const struct ntk_summary_value *value = &summary->values[i];
        if (!value->is_present) {
            continue;
        }
        if (value->kind == NTK_SUMMARY_KIND_TEXT) {
            ntk_json_key_text(json, value->name, value->text);
        } else if (value->kind == NTK_SUMMARY_KIND_COUNT || value->kind == NTK_SUMMARY_KIND_BYTES) {
            ntk_json_key_u64(json, value->name, value->count);
        } else {
            ntk_json_key_double(json, value->name, value->number);
        }
    }
}

void ntk_output_summary_json(const struct ntk_summary *summary, const char *profile_name,
                             struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_object_begin(&json, profile_name);
    ntk_output_summary_members(summary, &json);
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
