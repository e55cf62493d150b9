/* SPDX-License-Identifier: MIT */
/*
 * view_ops - the interface of a view; the model uses only these functions.
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

/* Every function may be NULL. */
struct ntk_top_view {
    const struct ntk_top_columns *columns; /* NULL: no list */
    bool shows_latency;
    bool shows_time;   /* about cores: software cores are labelled */
    bool is_owned;     /* rows belong to processes, and can be limited to those of one user */
    const char *empty; /* shown without rows; NULL: the reason for missing applications */
    const char *empty_recording; /* the same for a database; NULL: as else */
    /* Called with every new snapshot of the model, shown or not: for histories. 0 or -ENOMEM. */
    int (*observe)(struct ntk_top_model *model);
    /* Writes the rows of the selected tab. 0 or -ENOMEM. */
    int (*project)(struct ntk_top_model *model, struct ntk_top_table *table);
    /* Actions and arguments as in ntk_top_model_act; false: not for the view, the list gets
     * them. */
    bool (*act)(struct ntk_top_model *model, int action, int argument);
    /* Rows above the list, if the body has `rows` and `columns`; 0 if they do not fit. */
    int (*head_rows)(const struct ntk_top_model *model, int rows, int columns);
    void (*draw_head)(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                      int rows);
    /* The whole body, instead of head and list. */
    void (*draw)(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows);
};

#endif
