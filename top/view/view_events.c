/* SPDX-License-Identifier: MIT */
/* view_events - defines the columns of model_events; draws the number of events and of missed
 * events above them. */
#include "top/model/model_events.h"
#include "top/view/view.h"
#include "top/view/columns.h"
#include "top/view/views.h"

#define HEAD_ROWS_GOOD 4 /* minimum number of body rows */

static const struct ntk_top_column items[] = {
    [NTK_TOP_EVENTS_TIME] = { "TIME", "when it happened, local time", NTK_TOP_AS_TIME, 12, 0, 0 },
    [NTK_TOP_EVENTS_KIND] = { "EVENT",
                              "alloc, free, load, unload, start, stop, error, profile, mark, end",
                              NTK_TOP_AS_TEXT, 8, 0, 0 },
    [NTK_TOP_EVENTS_TIMES] = { "TIMES",
                               "how often it happened; BYTES and TOOK are sums (x: one row per "
                               "event)",
                               NTK_TOP_AS_COUNT, 5, 0, NTK_TOP_COLUMN_IF_ANY },
    [NTK_TOP_EVENTS_APP] = { "APP", "tag of the application", NTK_TOP_AS_TEXT, 12, 8, 0 },
    [NTK_TOP_EVENTS_CORE] = { NTK_TOP_FIGURE_DEVICE_CORE, 8, 0,
                              NTK_TOP_COLUMN_BY_VALUE | NTK_TOP_COLUMN_ASCENDING },
    [NTK_TOP_EVENTS_WHAT] = { "WHAT", "memory use; kind and status of an error; how it exited",
                              NTK_TOP_AS_TEXT, 16, 40, NTK_TOP_COLUMN_FIRST },
    [NTK_TOP_EVENTS_BYTES] = { "BYTES", "bytes allocated, freed, loaded or written",
                               NTK_TOP_AS_BYTES, 8, 0, 0 },
    [NTK_TOP_EVENTS_DURATION] = { "TOOK", "how long it took", NTK_TOP_AS_DURATION, 7, 0, 0 },
    [NTK_TOP_EVENTS_NAME] = { "NAME", "name of the tensor, file or mark", NTK_TOP_AS_TEXT, 12, 24,
                              0 },
    [NTK_TOP_EVENTS_MODEL] = { "MODEL", "model of the event", NTK_TOP_AS_TEXT, 12, 12, 0 },
    [NTK_TOP_EVENTS_ADDRESS] = { "ADDRESS", "memory address", NTK_TOP_AS_TEXT, 18, 0,
                                 NTK_TOP_COLUMN_BY_VALUE | NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_EVENTS_EXECUTION] = { "EXECUTION", "id of the failed execution", NTK_TOP_AS_ID, 9, 0,
                                   NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_EVENTS_PID] = { NTK_TOP_FIGURE_PID, 0, NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_EVENTS_THREAD] = { "THREAD", "thread id", NTK_TOP_AS_ID, 7, 0, NTK_TOP_COLUMN_HIDDEN },
};

static const struct ntk_top_columns columns = { items, sizeof items / sizeof *items,
                                                NTK_TOP_EVENTS_TIME };

static int head_rows(const struct ntk_top_model *model, int rows, int width)
{
    (void)model;
    (void)width;
    return rows >= HEAD_ROWS_GOOD ? 1 : 0;
}

static void draw_head(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                      int rows)
{
    const struct ntk_top_event_log *log = &model->events;
    int column = 0;

    (void)rows;
    if (model->events_note[0]) {
        ntk_screen_put(screen, row, 0, screen->columns, NTK_STYLE_WARNING, model->events_note);
        return;
    }
    column +=
        ntk_screen_format(screen, row, column, screen->columns, NTK_STYLE_NORMAL, "%llu events",
                          (unsigned long long)ntk_top_model_events_count(model));
    if (log->count > NTK_TOP_EVENTS_MAX && !model->is_behind) {
        column += ntk_screen_format(screen, row, column, screen->columns, NTK_STYLE_DIM,
                                    ", showing the last %d", NTK_TOP_EVENTS_MAX);
    }
    if (log->unlisted > 0) {
        column += ntk_screen_format(screen, row, column, screen->columns, NTK_STYLE_WARNING,
                                    ", %llu more omitted", (unsigned long long)log->unlisted);
    }
    if (log->lost > 0) {
        ntk_screen_format(screen, row, column, screen->columns, NTK_STYLE_WARNING,
                          ", %llu records lost before they were read",
                          (unsigned long long)log->lost);
    }
}

const struct ntk_top_view ntk_top_view_events = {
    .columns = &columns,
    .empty = "no events recorded",
    .observe = ntk_top_model_events_observe,
    .project = ntk_top_model_events,
    .act = ntk_top_model_events_act,
    .head_rows = head_rows,
    .draw_head = draw_head,
};
