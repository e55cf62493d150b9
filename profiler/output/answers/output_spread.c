/* SPDX-License-Identifier: MIT */
/* output_spread - writes spread.h of both sides of a comparison as text and JSON. */
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

#define OUTLIERS_SHOWN 3

static void spread_cells(const char *name, const struct ntk_spread *spread,
                         struct ntk_text_table *table)
{
    struct ntk_buf text = { 0 };

    ntk_text_table_text(table, name);
    ntk_text_table_format(table, "%zu", spread->count);
    ntk_cell_us(table, (int64_t)spread->least);
    ntk_cell_us(table, (int64_t)spread->median);
    ntk_cell_us(table, (int64_t)spread->most);
    for (size_t i = 0; i < spread->outlier_count && i < OUTLIERS_SHOWN; i++) {
        const struct ntk_spread_outlier *outlier = &spread->outliers[i];

        ntk_buf_add_text(&text, i ? "; " : "");
        if (outlier->source) {
            ntk_buf_add_text(&text, outlier->source);
        } else {
            ntk_buf_add_format(&text, "number %zu", outlier->execution + 1);
        }
        ntk_buf_add_format(&text, " (%.3f us)", outlier->value / 1e6);
    }
    if (spread->outlier_count > OUTLIERS_SHOWN) {
        ntk_buf_add_format(&text, " and %zu more", spread->outlier_count - OUTLIERS_SHOWN);
    }
    ntk_text_table_text(table, spread->outlier_count ? ntk_buf_text_get(&text) : "-");
    ntk_buf_fini(&text);
}

/* Returns true if the user can find the execution of an outlier. */
static bool has_source(const struct ntk_spread *spread)
{
    return spread->outlier_count && spread->outliers[0].source;
}

void ntk_output_spreads_text(const struct ntk_comparison *comparison, const char *before,
                             const char *after, struct ntk_buf *out)
{
    static const char *const heads[] = {
        "Length of executions", "COUNT", "MIN US", "MEDIAN US", "MAX US", "OUTLIERS"
    };
    struct ntk_text_table table;

    if (comparison->spread_before.count < 2 && comparison->spread_after.count < 2) {
        return;
    }
    ntk_buf_add_char(out, '\n');
    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1u << 0 | 1u << 5, heads);
    spread_cells(before, &comparison->spread_before, &table);
    spread_cells(after, &comparison->spread_after, &table);
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    if (comparison->spread_before.outlier_count || comparison->spread_after.outlier_count) {
        ntk_buf_add_format(out,
                           "Outliers: farther from the median than %.0f standard deviations and "
                           "%.0f%%",
                           NTK_SPREAD_DEVIATIONS, 100 * NTK_SPREAD_OUTLIER_RATIO);
        ntk_buf_add_text(out, has_source(&comparison->spread_before) ||
                                      has_source(&comparison->spread_after)
                                  ? "; neuron-profile analyze --execution N shows one\n"
                                  : "\n");
    }
}

static void spread_json(const struct ntk_spread *spread, struct ntk_json *json)
{
    double scale = spread->count ? NTK_TRACE_PS_PER_NS : 0;

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "count", spread->count);
    ntk_json_key_share(json, "min_ns", spread->least, scale);
    ntk_json_key_share(json, "median_ns", spread->median, scale);
    ntk_json_key_share(json, "max_ns", spread->most, scale);
    ntk_json_key_array_begin(json, "outliers");
    for (size_t i = 0; i < spread->outlier_count; i++) {
        const struct ntk_spread_outlier *outlier = &spread->outliers[i];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "number", outlier->execution + 1);
        if (outlier->source) {
            ntk_json_key_text(json, "source", outlier->source);
        }
        ntk_json_key_double(json, "total_ns", outlier->value / NTK_TRACE_PS_PER_NS);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

void ntk_output_spreads_json(const struct ntk_comparison *comparison, const char *before,
                             const char *after, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key(json, before);
    spread_json(&comparison->spread_before, json);
    ntk_json_key(json, after);
    spread_json(&comparison->spread_after, json);
    ntk_json_object_end(json);
}
