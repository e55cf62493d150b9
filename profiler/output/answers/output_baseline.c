/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/output_baseline.h"

#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"
#include "shared/base/str.h"

#define PS_PER_SECOND 1e12

static void amount_add(struct ntk_buf *out, enum ntk_measure_kind kind, double value)
{
    switch (ntk_measure_unit(kind)) {
    case NTK_MEASURE_UNIT_TIME:
        ntk_buf_add_format(out, "%.3f us", value / 1e6);
        break;
    case NTK_MEASURE_UNIT_BYTES:
        ntk_buf_add_format(out, "%.0f bytes", value);
        break;
    default:
        ntk_buf_add_format(out, "%.2f%%", 100 * value);
        break;
    }
}

static void limit_add(struct ntk_buf *out, const struct ntk_baseline_limit *limit)
{
    ntk_buf_add_char(out, ntk_comparison_more_is_better(limit->kind) ? '-' : '+');
    if (limit->is_share) {
        ntk_buf_add_format(out, "%g%%", 100 * limit->amount);
    } else {
        amount_add(out, limit->kind, limit->amount);
    }
}

static void change_add(struct ntk_buf *out, const struct ntk_comparison_row *row)
{
    if (row->before > 0) {
        ntk_buf_add_format(out, "%+.1f%%", 100 * (row->after - row->before) / row->before);
    } else {
        ntk_buf_add_text(out, row->after > 0 ? "new" : "+0.0%");
    }
}

/* --- text ------------------------------------------------------------------------------------- */

static void buf_cell(struct ntk_text_table *table, struct ntk_buf *text)
{
    ntk_text_table_text(table, ntk_buf_ok(text) ? ntk_buf_text_get(text) : "");
    ntk_buf_fini(text);
}

static void amount_cell(struct ntk_text_table *table, enum ntk_measure_kind kind, double value,
                        bool is_there)
{
    struct ntk_buf text = { 0 };

    if (is_there) {
        amount_add(&text, kind, value);
    } else {
        ntk_buf_add_char(&text, '-');
    }
    buf_cell(table, &text);
}

static bool has_worsened(const struct ntk_comparison_row *row)
{
    return ntk_comparison_more_is_better(row->kind) ? row->after < row->before
                                                    : row->after > row->before;
}

static void finding_cells(struct ntk_text_table *table, const struct ntk_baseline_finding *finding)
{
    const struct ntk_comparison_row *row = finding->row;
    struct ntk_buf text = { 0 };

    ntk_text_table_format(table, "%s/%s", ntk_measure_key(row->kind), ntk_comparison_shown(row));
    amount_cell(table, row->kind, row->before, row->has_before);
    amount_cell(table, row->kind, row->after, row->has_after);
    change_add(&text, row);
    buf_cell(table, &text);
    text = (struct ntk_buf){ 0 };
    limit_add(&text, finding->limit);
    buf_cell(table, &text);
    ntk_text_table_text(table, finding->is_beyond ? "OVER"
                               : has_worsened(row) && !ntk_comparison_has_changed(row)
                                   ? "may be due to chance"
                                   : "within");
}

void ntk_output_baseline_text(const struct ntk_output_baseline *check, struct ntk_buf *out)
{
    static const char *const heads[] = {
        "MEASURE", "BASELINE", "NOW", "CHANGE", "LIMIT", "VERDICT"
    };
    const struct ntk_comparison *comparison = check->comparison;
    const struct ntk_baseline_result *result = check->result;
    struct ntk_text_table table;

    if (result->beyond_count > 0) {
        ntk_buf_add_format(out, "Over the limit: %zu of %zu measure%s\n", result->beyond_count,
                           result->count, result->count == 1 ? "" : "s");
    } else {
        ntk_buf_add_format(out, "Within the limits: %zu measure%s\n", result->count,
                           result->count == 1 ? "" : "s");
    }
    ntk_buf_add_format(out, "Medians of %zu execution%s in %s and of %zu now",
                       comparison->before_count, comparison->before_count == 1 ? "" : "s",
                       check->path, comparison->after_count);
    ntk_buf_add_text(
        out, comparison->can_tell
                 ? "; OVER: increased significantly, and by more than the limit\n\n"
                 : "; too few executions to tell a change from chance (at least 4 on each side are "
                   "needed)\n\n");
    ntk_text_table_init(&table, 6, 1u << 0 | 1u << 5, heads);
    for (size_t i = 0; i < result->count; i++) {
        finding_cells(&table, &result->findings[i]);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_output_spreads_text(comparison, "baseline", "now", out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void finding_json(const struct ntk_baseline_finding *finding, struct ntk_json *json)
{
    const struct ntk_comparison_row *row = finding->row;
    static const struct {
        const char *baseline, *now, *limit;
        double scale;
    } keys[] = {
        [NTK_MEASURE_UNIT_TIME] = { "baseline_ns", "now_ns", "limit_ns", NTK_TRACE_PS_PER_NS },
        [NTK_MEASURE_UNIT_BYTES] = { "baseline_bytes", "now_bytes", "limit_bytes", 1 },
        [NTK_MEASURE_UNIT_SHARE] = { "baseline_ratio", "now_ratio", "limit_ratio", 1 },
    };
    enum ntk_measure_unit unit = ntk_measure_unit(row->kind);
    double scale = keys[unit].scale;

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "kind", ntk_measure_key(row->kind));
    ntk_json_key_text(json, "name", ntk_comparison_shown(row));
    if (strcmp(ntk_comparison_shown(row), row->name) != 0) {
        ntk_json_key_text(json, "key", row->name);
    }
    ntk_json_key_share(json, keys[unit].baseline, row->before, row->has_before ? scale : 0);
    ntk_json_key_share(json, keys[unit].now, row->after, row->has_after ? scale : 0);
    ntk_json_key_share(json, "change_ratio", row->after - row->before, row->before);
    if (finding->limit->is_share) {
        ntk_json_key_double(json, "limit_ratio", finding->limit->amount);
    } else {
        ntk_json_key_double(json, keys[unit].limit, finding->limit->amount / scale);
    }
    ntk_json_key_share(json, "p", row->p, row->has_p ? 1 : 0);
    ntk_json_key_bool(json, "is_beyond", finding->is_beyond);
    ntk_json_object_end(json);
}

void ntk_output_baseline_json(const struct ntk_output_baseline *check, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "baseline", check->path);
    ntk_json_key_u64(json, "saved_unix_ns", check->baseline->saved_unix_ns);
    ntk_json_key_u64(json, "baseline_count", check->comparison->before_count);
    ntk_json_key_u64(json, "now_count", check->comparison->after_count);
    ntk_json_key_bool(json, "can_tell", check->comparison->can_tell);
    ntk_json_key_text(json, "verdict", check->result->beyond_count ? "beyond" : "within");
    ntk_json_key_u64(json, "beyond_count", check->result->beyond_count);
    ntk_json_key(json, "executions");
    ntk_output_spreads_json(check->comparison, "baseline", "now", json);
    ntk_json_key_array_begin(json, "measures");
    for (size_t i = 0; i < check->result->count; i++) {
        finding_json(&check->result->findings[i], json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

/* --- XML -------------------------------------------------------------------------------------- */

/* Appends a quoted value. Names come from files: characters that XML cannot represent become
 * U+FFFD. */
static void quoted_add(struct ntk_buf *out, const char *text)
{
    char clean[1024];

    ntk_str_copy_clean(clean, sizeof clean, text, strlen(text));
    ntk_buf_add_char(out, '"');
    for (const char *c = clean; *c; c++) {
        switch (*c) {
        case '&':
            ntk_buf_add_text(out, "&amp;");
            break;
        case '<':
            ntk_buf_add_text(out, "&lt;");
            break;
        case '>':
            ntk_buf_add_text(out, "&gt;");
            break;
        case '"':
            ntk_buf_add_text(out, "&quot;");
            break;
        default:
            ntk_buf_add_char(out, *c);
        }
    }
    ntk_buf_add_char(out, '"');
}

static void failure_add(const struct ntk_baseline_finding *finding, struct ntk_buf *out)
{
    const struct ntk_comparison_row *row = finding->row;
    struct ntk_buf text = { 0 };

    amount_add(&text, row->kind, row->after);
    ntk_buf_add_text(&text, " instead of ");
    amount_add(&text, row->kind, row->before);
    ntk_buf_add_text(&text, " (");
    change_add(&text, row);
    ntk_buf_add_text(&text, "), limit ");
    limit_add(&text, finding->limit);
    ntk_buf_add_text(out, "    <failure type=\"beyond\" message=");
    quoted_add(out, ntk_buf_ok(&text) ? ntk_buf_text_get(&text) : "");
    ntk_buf_add_text(out, "/>\n");
    ntk_buf_fini(&text);
}

void ntk_output_baseline_junit(const struct ntk_output_baseline *check, struct ntk_buf *out)
{
    const struct ntk_baseline_result *result = check->result;

    ntk_buf_add_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=");
    quoted_add(out, check->path);
    ntk_buf_add_format(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n",
                       result->count, result->beyond_count);
    for (size_t i = 0; i < result->count; i++) {
        const struct ntk_baseline_finding *finding = &result->findings[i];
        const struct ntk_comparison_row *row = finding->row;

        ntk_buf_add_format(
            out, "  <testcase classname=\"neuron-profile.%s\" name=", ntk_measure_key(row->kind));
        quoted_add(out, ntk_comparison_shown(row));
        if (ntk_measure_is_time(row->kind) && row->has_after) {
            ntk_buf_add_format(out, " time=\"%.12g\"", row->after / PS_PER_SECOND);
        }
        ntk_buf_add_text(out, finding->is_beyond ? ">\n" : "/>\n");
        if (finding->is_beyond) {
            failure_add(finding, out);
            ntk_buf_add_text(out, "  </testcase>\n");
        }
    }
    ntk_buf_add_text(out, "</testsuite>\n");
}
