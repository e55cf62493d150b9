/* SPDX-License-Identifier: MIT */
/*
 * view_ops - what a view is to the model, which knows views by these functions alone.
 *
 * Most views are lists: columns (table.h) and a function that writes a row per thing. Scrolling,
 * sorting, filtering, searching and choosing columns come with that. A view may put a few rows
 * above its list, or draw all of its body itself.
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
    bool shows_time;   /* of cores: that of software cores is labelled */
    bool is_owned;     /* rows belong to processes, and may be those of one user alone */
    const char *empty; /* said where rows would be; NULL: why there are no applications */
    /* Sees every new snapshot of the model, shown or not: for what has a history. 0 or -ENOMEM. */
    int (*observe)(struct ntk_top_model *model);
    /* Writes the rows of the selected tab. 0 or -ENOMEM. */
    int (*project)(struct ntk_top_model *model, struct ntk_top_table *table);
    /* Actions and arguments as ntk_top_model_act has them; false: not the view's, the list gets
     * them. */
    bool (*act)(struct ntk_top_model *model, int action, int argument);
    /* Rows above the list, when `rows` and `columns` are what the body has; 0 when there is no
     * room. */
    int (*head_rows)(const struct ntk_top_model *model, int rows, int columns);
    void (*draw_head)(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                      int rows);
    /* The whole body, instead of head and list. */
    void (*draw)(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows);
};

#endif
