/* SPDX-License-Identifier: MIT */
/* output_ranks - writes several summaries as one table and as one JSON object. */
#include "profiler/output/answers/output_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/output/output.h"
#include "shared/base/order.h"
#include "shared/base/text_table.h"
#include "shared/base/json.h"

static const struct ntk_summary_value *value_find(const struct ntk_summary *summary,
                                                  const char *name)
{
    for (size_t i = 0; i < summary->value_count; i++) {
        if (summary->values[i].is_present && strcmp(summary->values[i].name, name) == 0) {
            return &summary->values[i];
        }
    }
    return NULL;
}

static bool is_whole(const struct ntk_summary_value *value)
{
    return value->kind == NTK_SUMMARY_KIND_COUNT || value->kind == NTK_SUMMARY_KIND_BYTES;
}

static double number_of(const struct ntk_summary_value *value)
{
    return is_whole(value) ? (double)value->count : value->number;
}

/* ---- a row for each capture ---- */

static void cell_share(struct ntk_text_table *table, const struct ntk_summary_value *value)
{
    if (value) {
        ntk_text_table_format(table, "%.1f", 100 * value->number);
    } else {
        ntk_text_table_text(table, "-");
    }
}

static void captures_put(const struct ntk_rank_summary *ranks, size_t count, struct ntk_buf *out)
{
    static const char *const heads[] = { "CAPTURE",  "TIME US",  "TENSOR %", "VECTOR %",
                                         "SCALAR %", "GPSIMD %", "SYNC %",   "DMA %" };
    static const char *const shares[] = {
        "tensor_engine_active_time_percent", "vector_engine_active_time_percent",
        "scalar_engine_active_time_percent", "gpsimd_engine_active_time_percent",
        "sync_engine_active_time_percent",   "dma_active_time_percent"
    };
    struct ntk_text_table table;

    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1, heads);
    for (size_t i = 0; i < count; i++) {
        const struct ntk_summary_value *total = value_find(&ranks[i].summary, "total_time");
        ntk_text_table_text(&table, ranks[i].name);
        if (total) {
            ntk_text_table_format(&table, "%.3f", total->number * 1e6);
        } else {
            ntk_text_table_text(&table, "-");
        }
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
            cell_share(&table, value_find(&ranks[i].summary, shares[k]));
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

/* ---- a row for each metric ---- */

struct seen {
    double number;
    size_t rank;
};

NTK_ORDER(compare, struct seen, NTK_UP(number) NTK_UP(rank));

static void cell_number(struct ntk_text_table *table, const struct ntk_summary_value *value)
{
    if (is_whole(value)) {
        ntk_text_table_format(table, "%llu", (unsigned long long)value->count);
    } else if (value->kind == NTK_SUMMARY_KIND_SECONDS) { /* same as for a single capture */
        char number[64];
        size_t bytes = ntk_json_format_double(number, sizeof number, value->number);
        ntk_text_table_format(table, "%.*s", (int)bytes, number);
    } else {
        ntk_text_table_format(table, "%.6g", value->number);
    }
}

/* Metrics of the table are in the order of summary.def in every summary; metrics of throttling
 * follow and are found by name. */
static void metric_put(struct ntk_text_table *table, const struct ntk_rank_summary *ranks,
                       size_t count, const char *name, struct seen *seen)
{
    size_t there = 0;

    for (size_t i = 0; i < count; i++) {
        const struct ntk_summary_value *value = value_find(&ranks[i].summary, name);
        if (value) {
            seen[there++] = (struct seen){ number_of(value), i };
        }
    }
    qsort(seen, there, sizeof *seen, compare);
    const size_t picks[] = { 0, (there - 1) / 2, there - 1 };
    ntk_text_table_text(table, name);
    for (size_t p = 0; p < sizeof picks / sizeof *picks; p++) {
        cell_number(table, value_find(&ranks[seen[picks[p]].rank].summary, name));
    }
    ntk_text_table_text(table, seen[0].number == seen[there - 1].number
                                   ? "all the same"
                                   : ranks[seen[there - 1].rank].name);
}

/* Returns true if an earlier capture has the metric, and so a row. */
static bool is_seen(const struct ntk_rank_summary *ranks, size_t before, const char *name)
{
    for (size_t i = 0; i < before; i++) {
        if (value_find(&ranks[i].summary, name)) {
            return true;
        }
    }
    return false;
}

void ntk_output_ranks_text(const struct ntk_rank_summary *ranks, size_t count, struct ntk_buf *out)
{
    static const char *const heads[] = { "METRIC", "MINIMUM", "MEDIAN", "MAXIMUM", "OF" };
    struct ntk_text_table table;
    struct seen *seen = calloc(count + 1, sizeof *seen);

    if (!seen) {
        out->failed = true;
        return;
    }
    captures_put(ranks, count, out);
    ntk_buf_add_char(out, '\n');
    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1u | 1u << 4, heads);
    for (size_t i = 0; i < count; i++) {
        const struct ntk_summary *summary = &ranks[i].summary;
        for (size_t v = 0; v < summary->value_count; v++) {
            const struct ntk_summary_value *value = &summary->values[v];
            if (value->is_present && value->kind != NTK_SUMMARY_KIND_TEXT &&
                !is_seen(ranks, i, value->name)) {
                metric_put(&table, ranks, count, value->name, seen);
            }
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    free(seen);
}

void ntk_output_ranks_json(const struct ntk_rank_summary *ranks, size_t count, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    for (size_t i = 0; i < count; i++) {
        ntk_json_key_object_begin(&json, ranks[i].name);
        ntk_output_summary_members(&ranks[i].summary, &json);
        ntk_json_object_end(&json);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
