/* SPDX-License-Identifier: MIT */
/* output_comparison - writes comparison.h as text and JSON. */
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"
#include "profiler/output/answers/output_matched.h"

#define POINTS 100 /* percentage points in 1 */

static void value_cell(struct ntk_text_table *table, enum ntk_measure_kind kind, double value,
                       bool is_there)
{
    if (!is_there) {
        ntk_text_table_text(table, "-");
        return;
    }
    switch (ntk_measure_unit(kind)) {
    case NTK_MEASURE_UNIT_TIME:
        ntk_cell_us(table, (int64_t)value);
        break;
    case NTK_MEASURE_UNIT_BYTES:
        ntk_cell_bytes(table, (uint64_t)value);
        break;
    default:
        ntk_text_table_format(table, "%.2f%%", POINTS * value);
        break;
    }
}

static void change_cell(struct ntk_text_table *table, enum ntk_measure_kind kind, double change)
{
    switch (ntk_measure_unit(kind)) {
    case NTK_MEASURE_UNIT_TIME:
        ntk_text_table_format(table, "%+.3f", change / 1e6);
        break;
    case NTK_MEASURE_UNIT_BYTES:
        ntk_text_table_format(table, "%+.0f", change);
        break;
    default:
        ntk_text_table_format(table, "%+.2f", POINTS * change);
        break;
    }
}

/* Returns true for parts of a run, which are shown as shares. */
static bool has_shares(enum ntk_measure_kind kind)
{
    return ntk_measure_is_time(kind) && kind != NTK_MEASURE_TOTAL && kind != NTK_MEASURE_REGION;
}

static void side_cells(struct ntk_text_table *table, const struct ntk_comparison *comparison,
                       const struct ntk_comparison_row *row, bool is_after)
{
    double share = 0;

    value_cell(table, row->kind, is_after ? row->after : row->before,
               is_after ? row->has_after : row->has_before);
    if (has_shares(row->kind)) {
        bool is_known = ntk_comparison_share(comparison, row, is_after, &share);
        ntk_cell_share(table, share, is_known ? 1 : 0);
    }
}

/* Writes the relation of a layer or region that the other side lacks, such as "became scores" or
 * "from a, b". */
static bool matched_cell(struct ntk_text_table *table, const struct ntk_output_matched *matched,
                         const struct ntk_comparison_row *row)
{
    struct ntk_buf text = { 0 };
    bool is_found = matched && ntk_comparison_is_own(row->kind) &&
                    ntk_output_matched_add(matched, row->name, row->has_after, &text);

    if (is_found) {
        ntk_text_table_text(table, ntk_buf_ok(&text) ? ntk_buf_text_get(&text) : "");
    }
    ntk_buf_fini(&text);
    return is_found;
}

static bool is_tested(const struct ntk_comparison *comparison)
{
    return comparison->before_count > 1 && comparison->after_count > 1;
}

static void row_cells(struct ntk_text_table *table, const struct ntk_comparison *comparison,
                      const struct ntk_output_matched *matched,
                      const struct ntk_comparison_row *row)
{
    double change = row->after - row->before;
    bool is_on_both = row->has_before && row->has_after;

    ntk_text_table_text(table, ntk_comparison_shown(row));
    side_cells(table, comparison, row, false);
    side_cells(table, comparison, row, true);
    if (row->is_unknown || (!is_on_both && row->kind == NTK_MEASURE_REGION)) {
        ntk_text_table_text(table, "-");
    } else {
        change_cell(table, row->kind, change);
    }
    if (row->is_unknown) {
        ntk_text_table_format(table, "unknown %s", row->has_before ? "after" : "before");
    } else if (!is_on_both && matched_cell(table, matched, row)) {
        /* replaces "gone" or "new" */
    } else if (!is_on_both && row->kind == NTK_MEASURE_REGION) {
        /* Its layers may still exist, without enough repetitions. */
        ntk_text_table_text(table, row->has_before ? "only before" : "only after");
    } else if (!row->has_after) {
        ntk_text_table_text(table, "gone");
    } else if (row->before > 0) {
        ntk_text_table_format(table, "%+.1f%%", 100 * change / row->before);
    } else {
        ntk_text_table_text(table, row->has_before && change <= 0 ? "" : "new");
    }
    if (row->has_p) {
        ntk_text_table_format(table, "%.2g", row->p);
        ntk_text_table_text(table, row->is_significant ? "significant" : "may be due to chance");
    } else if (is_tested(comparison)) {
        ntk_text_table_text(table, "-");
        ntk_text_table_text(table, "not tested");
    }
}

/* Returns the column headings of a kind and their number. */
static size_t kind_heads(enum ntk_measure_kind kind, bool has_p, const char **heads)
{
    static const struct {
        const char *before, *after, *change;
    } units[] = {
        [NTK_MEASURE_UNIT_TIME] = { "BEFORE US", "AFTER US", "CHANGE US" },
        [NTK_MEASURE_UNIT_BYTES] = { "BEFORE", "AFTER", "CHANGE BYTES" },
        [NTK_MEASURE_UNIT_SHARE] = { "BEFORE", "AFTER", "CHANGE POINTS" },
    };
    enum ntk_measure_unit unit = ntk_measure_unit(kind);
    size_t count = 0;

    heads[count++] = ntk_measure_title(kind);
    heads[count++] = units[unit].before;
    if (has_shares(kind)) {
        heads[count++] = "OF BEFORE";
    }
    heads[count++] = units[unit].after;
    if (has_shares(kind)) {
        heads[count++] = "OF AFTER";
    }
    heads[count++] = units[unit].change;
    heads[count++] = "CHANGE";
    if (has_p) {
        heads[count++] = "P";
        heads[count++] = "TEST";
    }
    return count;
}

static const char region_note[] =
    "A region is a part that repeats; its time includes waits. A region marked 'only before' "
    "or\n'only after' does not repeat on the other side, but its layers may still exist there\n";

static void unknown_text(size_t count, const char *side, struct ntk_buf *out)
{
    if (count) {
        ntk_buf_add_format(out, "%zu unknown %s\n", count, side);
    }
}

static void kind_text(const struct ntk_comparison *comparison,
                      const struct ntk_output_matched *matched, enum ntk_measure_kind kind,
                      struct ntk_buf *out)
{
    const char *heads[9];
    size_t columns = kind_heads(kind, is_tested(comparison), heads);
    struct ntk_text_table table;
    size_t shown = 0;
    size_t changed = 0; /* includes rows that are unknown on one side */
    size_t only_before = 0;
    size_t only_after = 0;
    size_t all = 0;

    if (comparison->is_unrelated && ntk_comparison_is_own(kind)) {
        return;
    }
    ntk_text_table_init(&table, columns,
                        1u << 0 | (is_tested(comparison) ? 1u << (columns - 1) : 0), heads);
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct ntk_comparison_row *row = &comparison->rows[i];
        if (row->kind != kind) {
            continue;
        }
        all++;
        if (row->is_unknown && !ntk_measure_is_always(kind)) {
            only_before += row->has_before;
            only_after += row->has_after;
            continue;
        }
        bool has_changed = row->is_unknown || ntk_comparison_differs(row);
        changed += has_changed;
        if ((has_changed || kind == NTK_MEASURE_TOTAL) && shown < NTK_OUTPUT_ROWS_MAX) {
            row_cells(&table, comparison, matched, row);
            shown++;
        }
    }
    if (all) {
        ntk_buf_add_char(out, '\n');
        ntk_text_table_put(&table, out);
        ntk_output_more(out, changed);
        if (kind == NTK_MEASURE_REGION && shown) {
            ntk_buf_add_text(out, region_note);
        }
        size_t unchanged = all - changed - only_before - only_after;
        if (unchanged && kind != NTK_MEASURE_TOTAL) {
            ntk_buf_add_format(out, "%zu unchanged\n", unchanged);
        }
        unknown_text(only_before, "AFTER", out);
        unknown_text(only_after, "BEFORE", out);
    }
    ntk_text_table_fini(&table);
}

/* Writes nothing for layers and regions that only one program has, because the tables would be
 * useless. */
static void unrelated_text(const struct ntk_comparison *comparison, struct ntk_buf *out)
{
    const struct ntk_comparison_row *total = comparison->total;
    size_t common = comparison->own_common_count;

    ntk_buf_add_format(out,
                       "Different programs: they share %zu of %zu layers and regions before and "
                       "%zu after\n",
                       common, comparison->own_before_count, comparison->own_after_count);
    if (total && !total->is_unknown && total->before > 0) {
        double change = total->after - total->before;
        ntk_buf_add_format(out, "AFTER takes %.3f us %s than BEFORE (%+.1f%%); ",
                           (change < 0 ? -change : change) / 1e6, change < 0 ? "less" : "more",
                           100 * change / total->before);
    }
    ntk_buf_add_text(out, "the tables omit layers and regions\n");
}

static void verdict_text(const struct ntk_comparison *comparison, struct ntk_buf *out)
{
    const struct ntk_comparison_row *total = comparison->total;
    const struct ntk_comparison_row *most = comparison->most;
    const char *significantly = comparison->can_tell ? " significantly" : "";
    size_t count = comparison->changed_count;

    ntk_buf_add_char(out, '\n');
    if (comparison->is_unrelated) {
        unrelated_text(comparison, out);
        return;
    }
    switch (comparison->verdict) {
    case NTK_COMPARISON_SAME:
        ntk_buf_add_format(out, "No differences: all figures%s are equal",
                           comparison->unknown_count ? " that both sides have" : "");
        break;
    case NTK_COMPARISON_CHANCE:
        ntk_buf_add_text(
            out, "No significant differences: the remaining differences may be due to chance");
        break;
    case NTK_COMPARISON_PARTS:
        ntk_buf_add_text(out, !total              ? "The duration of the executions is unknown"
                              : total->is_unknown ? "The duration of an execution is unknown"
                                                  : "The duration of the execution did not change");
        if (count) {
            ntk_buf_add_format(out, "; %zu other figure%s changed%s", count, count == 1 ? "" : "s",
                               significantly);
        }
        break;
    default:
        ntk_buf_add_format(out, "The execution became%s %s: %+.3f us", significantly,
                           ntk_comparison_verdict_name(comparison->verdict),
                           (total->after - total->before) / 1e6);
        if (total->before > 0) {
            ntk_buf_add_format(out, " (%+.1f%%)",
                               100 * (total->after - total->before) / total->before);
        }
        break;
    }
    if (most) {
        ntk_buf_add_format(out, ", largest contribution on the path: %s (%+.3f us)", most->name,
                           (most->after - most->before) / 1e6);
    }
    ntk_buf_add_char(out, '\n');
}

void ntk_output_comparison_text(const struct ntk_comparison *comparison,
                                const struct ntk_output_matched *matched, struct ntk_buf *out)
{
    ntk_buf_add_format(out, "Executions: %zu before, %zu after; values are medians",
                       comparison->before_count, comparison->after_count);
    if (comparison->can_tell) {
        ntk_buf_add_format(out,
                           ".\n"
                           "P: Mann-Whitney test, two-sided; significant: at most %.0f%% of these "
                           "changes are expected to be due to chance\n"
                           "(Benjamini-Hochberg)\n",
                           100 * NTK_COMPARISON_FALSE_RATE);
    } else {
        ntk_buf_add_text(out, ".\n"
                              "Too few executions to tell a change from chance (at least 4 on each "
                              "side are needed)");
        ntk_buf_add_text(out, comparison->before_count > 1 || comparison->after_count > 1
                                  ? "; instead, a figure counts as changed if its values on the "
                                    "two sides do not overlap\n"
                                  : "\n");
    }
    verdict_text(comparison, out);
    ntk_output_spreads_text(comparison, "before", "after", out);
    if (matched) {
        ntk_output_matched_text(matched, out);
    }
    for (unsigned k = 0; k < NTK_MEASURE_KIND_COUNT; k++) {
        kind_text(comparison, matched, k, out);
    }
}

static void share_json(struct ntk_json *json, const char *key,
                       const struct ntk_comparison *comparison,
                       const struct ntk_comparison_row *row, bool is_after)
{
    double share;

    if (ntk_comparison_share(comparison, row, is_after, &share)) {
        ntk_json_key_double(json, key, share);
    }
}

/* Writes the least and most of a side with several executions. */
static void range_json(struct ntk_json *json, const struct ntk_comparison *comparison,
                       const struct ntk_comparison_row *row)
{
    bool is_time = ntk_measure_is_time(row->kind);
    double scale = is_time ? NTK_TRACE_PS_PER_NS : 1;

    if (comparison->before_count > 1 && row->has_before) {
        ntk_json_key_double(json, is_time ? "before_min_ns" : "before_min",
                            row->before_least / scale);
        ntk_json_key_double(json, is_time ? "before_max_ns" : "before_max",
                            row->before_most / scale);
    }
    if (comparison->after_count > 1 && row->has_after) {
        ntk_json_key_double(json, is_time ? "after_min_ns" : "after_min", row->after_least / scale);
        ntk_json_key_double(json, is_time ? "after_max_ns" : "after_max", row->after_most / scale);
    }
}

void ntk_output_comparison_json(const struct ntk_comparison *comparison,
                                const struct ntk_output_matched *matched, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "before_count", comparison->before_count);
    ntk_json_key_u64(json, "after_count", comparison->after_count);
    ntk_json_key_text(json, "test", "mann-whitney, two-sided");
    ntk_json_key_double(json, "false_discovery_rate", NTK_COMPARISON_FALSE_RATE);
    ntk_json_key_bool(json, "can_tell", comparison->can_tell);
    ntk_json_key_text(json, "verdict", ntk_comparison_verdict_name(comparison->verdict));
    ntk_json_key_u64(json, "changed_count", comparison->changed_count);
    ntk_json_key_bool(json, "is_unrelated", comparison->is_unrelated);
    ntk_json_key(json, "executions");
    ntk_output_spreads_json(comparison, "before", "after", json);
    ntk_json_key(json, "most");
    if (comparison->most) {
        ntk_json_text(json, comparison->most->name);
    } else {
        ntk_json_null(json);
    }
    if (matched) {
        ntk_json_key(json, "matches");
        ntk_output_matched_json(matched, json);
    }
    for (unsigned k = 0; k < NTK_MEASURE_KIND_COUNT; k++) {
        double scale = ntk_measure_is_time(k) ? NTK_TRACE_PS_PER_NS : 1;

        ntk_json_key_array_begin(json, ntk_measure_key(k));
        for (size_t i = 0; i < comparison->row_count; i++) {
            const struct ntk_comparison_row *row = &comparison->rows[i];
            if (row->kind != (enum ntk_measure_kind)k) {
                continue;
            }
            ntk_json_object_begin(json);
            ntk_json_key_text(json, "name", ntk_comparison_shown(row));
            if (strcmp(ntk_comparison_shown(row), row->name) != 0) {
                ntk_json_key_text(json, "key", row->name);
            }
            ntk_json_key_share(json, ntk_measure_is_time(k) ? "before_ns" : "before", row->before,
                               row->has_before ? scale : 0);
            ntk_json_key_share(json, ntk_measure_is_time(k) ? "after_ns" : "after", row->after,
                               row->has_after ? scale : 0);
            range_json(json, comparison, row);
            share_json(json, "before_ratio", comparison, row, false);
            share_json(json, "after_ratio", comparison, row, true);
            ntk_json_key_share(json, ntk_measure_is_time(k) ? "change_ns" : "change",
                               row->after - row->before, row->is_unknown ? 0 : scale);
            ntk_json_key_share(json, "change_ratio", row->after - row->before,
                               row->is_unknown ? 0 : row->before);
            ntk_json_key_share(json, "p", row->p, row->has_p ? 1 : 0);
            if (row->has_p) {
                ntk_json_key_bool(json, "is_significant", row->is_significant);
            }
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
    }
    ntk_json_object_end(json);
}
