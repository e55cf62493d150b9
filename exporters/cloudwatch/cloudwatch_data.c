/* SPDX-License-Identifier: MIT */
/* cloudwatch_data - finds series by their dimensions, and stores their values. */
#include "exporters/cloudwatch/cloudwatch_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_page.h"
#include "shared/base/order.h"
#include "shared/base/str.h"

#define PERCENT 100.0
/* Number of entries at which equal values of a series are merged. */
#define COMPACT_ENTRIES 4096u

/* -- series ------------------------------------------------------------------------------------ */

static void series_destroy(struct ntk_cloudwatch_series *series)
{
    if (!series) {
        return;
    }
    for (size_t i = 0; i < series->dimension_count; i++) {
        free(series->dimensions[i].value);
    }
    ntk_vec_fini(&series->values);
    free(series);
}

/* Adds a valid value for a dimension; adds nothing if the text has only blanks. Two texts with the
 * same result share a series. */
static void add_clean(struct ntk_buf *buf, const char *text)
{
    size_t left = NTK_CLOUDWATCH_DIMENSION_BYTES_MAX;

    if (text[strspn(text, " ")] == '\0') {
        return;
    }
    while (*text && left > 0) {
        size_t clean = 0;

        while (clean < left && text[clean] >= ' ' && text[clean] <= '~') {
            clean++;
        }
        ntk_buf_add(buf, text, clean);
        text += clean;
        left -= clean;
        if (*text && left > 0) {
            ntk_buf_add_char(buf, '?');
            /* skips the page's replacement character for one byte */
            text += ntk_str_starts_with(text, "\xef\xbf\xbd") ? 3 : 1;
            left--;
        }
    }
}

static int add_dimension(struct ntk_cloudwatch_series *series, const char *name, const char *text)
{
    struct ntk_cloudwatch_dimension *dimension = &series->dimensions[series->dimension_count];
    struct ntk_buf value = { 0 };

    add_clean(&value, text);
    if (ntk_buf_ok(&value) && value.bytes_count == 0) {
        return 0; /* an empty value is omitted */
    }
    dimension->name = name;
    dimension->value = ntk_buf_take(&value, NULL);
    if (!dimension->value) {
        return -ENOMEM;
    }
    series->dimension_count++;
    return 0;
}

static struct ntk_cloudwatch_series *series_create(enum ntk_cloudwatch_metric metric,
                                                   const struct ntk_cloudwatch_pair *pairs,
                                                   size_t count)
{
    struct ntk_cloudwatch_series *series = calloc(1, sizeof *series);
    struct ntk_cloudwatch_metric_row row = ntk_cloudwatch_metric_get(metric);
    const struct ntk_labels *labels = &ntk_labels_option;
    int ret = 0;

    if (!series) {
        return NULL;
    }
    series->metric = metric;
    series->rule = row.rule;
    series->scale = strcmp(row.unit, "Percent") == 0 ? PERCENT : 1;
    series->compact_at = COMPACT_ENTRIES;
    ntk_vec_init(&series->values, sizeof(struct ntk_cloudwatch_value));
    for (size_t i = 0; i < count && ret >= 0; i++) {
        ret = add_dimension(series, pairs[i].name, pairs[i].value);
    }
    for (size_t i = 0; i < labels->count && ret >= 0; i++) {
        ret = add_dimension(series, labels->rows[i].name, labels->rows[i].value);
    }
    if (ret < 0) {
        series_destroy(series);
        return NULL;
    }
    return series;
}

struct ntk_cloudwatch_series *ntk_cloudwatch_series_get(struct ntk_cloudwatch_data *data,
                                                        enum ntk_cloudwatch_metric metric,
                                                        const struct ntk_cloudwatch_pair *pairs,
                                                        size_t count)
{
    errno = ENOMEM;
    ntk_buf_reset(&data->key);
    ntk_buf_add_i64(&data->key, metric);
    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_char(&data->key, '\n');
        add_clean(&data->key, pairs[i].value);
    }
    if (!ntk_buf_ok(&data->key)) {
        return NULL;
    }
    struct ntk_cloudwatch_series *series = ntk_map_get(&data->series, ntk_buf_text_get(&data->key));
    if (series) {
        return series;
    }
    if (data->series.count >= NTK_CLOUDWATCH_SERIES_MAX) {
        errno = ENOSPC;
        return NULL;
    }
    series = series_create(metric, pairs, count);
    if (series && ntk_map_put(&data->series, ntk_buf_text_get(&data->key), series) < 0) {
        series_destroy(series);
        return NULL;
    }
    return series;
}

/* -- values ------------------------------------------------------------------------------------ */

static bool is_value(double value)
{
    return isfinite(value) && value > -NTK_CLOUDWATCH_VALUE_MAX && value < NTK_CLOUDWATCH_VALUE_MAX;
}

void ntk_cloudwatch_series_add(struct ntk_cloudwatch_series *series, double value)
{
    if (!is_value(value)) {
        return;
    }
    if (!series->has_pending) {
        series->pending = value;
    } else if (series->rule != NTK_CLOUDWATCH_LARGEST) {
        series->pending += value;
    } else if (value > series->pending) {
        series->pending = value;
    }
    series->has_pending = true;
}

NTK_ORDER(compare_values, struct ntk_cloudwatch_value, NTK_UP(value));

static void compact(struct ntk_cloudwatch_series *series)
{
    struct ntk_cloudwatch_value *values = series->values.items;
    size_t kept = 0;

    ntk_vec_sort(&series->values, compare_values);
    for (size_t i = 0; i < series->values.count; i++) {
        if (kept && values[kept - 1].value == values[i].value) {
            values[kept - 1].count += values[i].count;
        } else {
            values[kept++] = values[i];
        }
    }
    series->values.count = kept;
}

int ntk_cloudwatch_series_push(struct ntk_cloudwatch_series *series, double value, double count)
{
    const struct ntk_cloudwatch_value pair = { value, count };

    if (!is_value(value)) {
        return 0;
    }
    if (series->values.count >= series->compact_at) {
        compact(series);
        series->compact_at = 2 * series->values.count + COMPACT_ENTRIES;
    }
    return ntk_vec_push(&series->values, &pair);
}

int ntk_cloudwatch_data_settle(struct ntk_cloudwatch_data *data)
{
    int ret = 0;

    ntk_map_each(entry, &data->series) {
        struct ntk_cloudwatch_series *series = entry->value;
        double value = series->pending;

        if (!series->has_pending) {
            continue;
        }
        value = series->rule == NTK_CLOUDWATCH_SHARE && value > 1 ? 1 : value;
        ret = ntk_cloudwatch_series_push(series, value * series->scale, 1) < 0 ? -ENOMEM : ret;
        series->has_pending = false;
    }
    return ret;
}

void ntk_cloudwatch_data_sort(struct ntk_cloudwatch_data *data)
{
    ntk_map_each(entry, &data->series) {
        compact(entry->value);
    }
}

void ntk_cloudwatch_data_fini(struct ntk_cloudwatch_data *data)
{
    ntk_map_each(entry, &data->series) {
        series_destroy(entry->value);
    }
    ntk_map_fini(&data->series);
    ntk_buf_fini(&data->key);
    if (data->page) {
        ntk_points_page_fini(data->page);
        free(data->page);
        data->page = NULL;
    }
}
