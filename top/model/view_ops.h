/* SPDX-License-Identifier: MIT */
/*
 * view_ops - defines the interface of a view; the model uses only these functions.
 *
 * Most views are lists: columns (table.h) and a function that writes a row per object. Scrolling,
 * sorting, filtering, searching and choosing columns are included. A view may put a few rows above
 * its list, or draw its whole body.
 *
 * Threads: any; constant data.
 */
#ifndef NTK_TOP_MODEL_VIEW_OPS_H
#define NTK_TOP_MODEL_VIEW_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "top/base/table.h"
#include "top/base/view_names.h"

struct ntk_screen;
struct ntk_top_model;

/* Functions of a view; each may be NULL. */
struct ntk_top_view {
    const struct ntk_top_columns *columns; /* NULL without a list */
    bool shows_latency;
    bool shows_time;   /* shows core times, so a label marks software cores */
    bool is_owned;     /* rows belong to processes, and can be limited to the rows of one user */
    const char *empty; /* shown without rows; NULL for the reason for missing applications */
    /* shown without rows in a recording; NULL for the text of `empty` */
    const char *empty_recording;
    /* Called with every new snapshot of the model, shown or not, for histories. Returns 0 or
     * -ENOMEM. */
    int (*observe)(struct ntk_top_model *model);
    /* Writes the rows of the selected tab. Returns 0 or -ENOMEM. */
    int (*project)(struct ntk_top_model *model, struct ntk_top_table *table);
    /* Handles actions and arguments as in ntk_top_model_act; returns false if they are not for the
     * view; the list then gets them. */
    bool (*act)(struct ntk_top_model *model, int action, int argument);
    /* Returns the number of rows above the list, for a body with `rows` and `columns`; 0 if they do
     * not fit. */
    int (*head_rows)(const struct ntk_top_model *model, int rows, int columns);
    void (*draw_head)(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                      int rows);
    /* Draws the whole body, instead of head and list. */
    void (*draw)(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows);
};

#endif
