/* SPDX-License-Identifier: MIT */
/* view_errors - defines the columns of model_errors, and draws the totals above them. */
#include <stdio.h>
#include <time.h>

#include "shared/base/clock.h"
#include "top/model/model_errors.h"
#include "top/view/view.h"
#include "top/view/views.h"

#define HEAD_ROWS_GOOD 4 /* minimum number of body rows */

static const struct ntk_top_column items[] = {
    [NTK_TOP_ERRORS_WHERE] = { "WHERE", "device, or tag of the application", NTK_TOP_AS_TEXT, 8, 12,
                               NTK_TOP_COLUMN_BY_VALUE | NTK_TOP_COLUMN_ASCENDING },
    [NTK_TOP_ERRORS_WHAT] = { "WHAT", "type of error", NTK_TOP_AS_TEXT, 21, 12, 0 },
    [NTK_TOP_ERRORS_NEW] = { "NEW", "errors since the last refresh", NTK_TOP_AS_COUNT, 6, 0, 0 },
    [NTK_TOP_ERRORS_SEEN] = { "SEEN", "errors since neuron-top started", NTK_TOP_AS_COUNT, 6, 0,
                              0 },
    [NTK_TOP_ERRORS_TOTAL] = { "TOTAL", "errors since driver load or application start",
                               NTK_TOP_AS_COUNT, 6, 0, 0 },
    [NTK_TOP_ERRORS_LAST] = { "LAST", "when the last error occurred, local time", NTK_TOP_AS_TIME,
                              12, 0, 0 },
    [NTK_TOP_ERRORS_CAUSES] = { "CAUSES", "errors of the application's failed executions",
                                NTK_TOP_AS_TEXT, 16, 24, 0 },
    [NTK_TOP_ERRORS_AGO] = { "AGO", "time since the last error", NTK_TOP_AS_DURATION, 7, 0,
                             NTK_TOP_COLUMN_ASCENDING },
};

static const struct ntk_top_columns columns = { items, sizeof items / sizeof *items,
                                                NTK_TOP_ERRORS_LAST };

static int head_rows(const struct ntk_top_model *model, int rows, int width)
{
    (void)model;
    (void)width;
    return rows >= HEAD_ROWS_GOOD ? 1 : 0;
}

/* Draws a text such as "name: 12, " with the number in its colour; a dash if it is not counted.
 * Returns the next column. */
static int put_count(struct ntk_screen *screen, int row, int column, const char *name,
                     int bad_style, bool is_known, uint64_t count)
{
    char text[32] = "-";

    if (is_known) {
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    }
    column += ntk_screen_put(screen, row, column, screen->columns, NTK_STYLE_NORMAL, name);
    return column + ntk_screen_put(screen, row, column, screen->columns,
                                   !is_known    ? NTK_STYLE_DIM
                                   : count == 0 ? NTK_STYLE_VALUE
                                                : bad_style,
                                   text);
}

static void draw_head(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                      int rows)
{
    struct ntk_top_errors_sum sum;
    time_t since = (time_t)(model->watch.errors.first_ns / NTK_NS_PER_SECOND);
    struct tm date;
    char text[32];
    int column = 0;

    (void)rows;
    ntk_top_model_errors_sum(model, &sum);
    column = put_count(screen, row, column, "failed executions: ", NTK_STYLE_ERROR, true,
                       sum.executions);
    if (ntk_top_model_tab_get(model)->is_all) { /* devices count these, not applications */
        column = put_count(screen, row, column, ", ECC uncorrected: ", NTK_STYLE_ERROR, sum.has_ecc,
                           sum.uncorrected);
        column = put_count(screen, row, column, ", corrected: ", NTK_STYLE_WARNING, sum.has_ecc,
                           sum.corrected);
    }
    if (model->snapshot && localtime_r(&since, &date) &&
        strftime(text, sizeof text, ", since %H:%M:%S", &date) > 0) {
        ntk_screen_put(screen, row, column, screen->columns, NTK_STYLE_DIM, text);
    }
}

const struct ntk_top_view ntk_top_view_errors = {
    .columns = &columns,
    .empty = "no errors, or no source counts them",
    .project = ntk_top_model_errors,
    .head_rows = head_rows,
    .draw_head = draw_head,
};
