/* SPDX-License-Identifier: MIT */
/*
 * views - the screens beside the vendor's: the table of views.def as code, and what a view is.
 *
 * Most views are lists: columns (table.h) and a function that writes a row per thing. Scrolling,
 * sorting, filtering, searching and choosing columns come with that. A view may put a few rows
 * above its list, or draw all of its body itself.
 *
 * Threads: any; the tables are constant.
 */
#ifndef NTK_TOP_VIEWS_H
#define NTK_TOP_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "top/table.h"

enum ntk_top_view_id {
#define NTK_TOP_VIEW(id, name, key, keys, title, help) NTK_TOP_VIEW_##id,
#include "top/views.def"
    NTK_TOP_VIEW_COUNT,
};

struct ntk_screen;
struct ntk_top_model;

/* Every function may be NULL. */
struct ntk_top_view {
    const struct ntk_top_columns *columns; /* NULL: no list */
    bool shows_latency;
    bool shows_time;   /* of cores: that of software cores is labelled */
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

struct ntk_top_view_text {
    const char *name; /* of --view */
    const char *keys;
    const char *title;
    const char *help;
};

/* NULL for NTK_TOP_VIEW_MAIN. */
const struct ntk_top_view *ntk_top_views_get(enum ntk_top_view_id id);
const struct ntk_top_view_text *ntk_top_views_text_get(enum ntk_top_view_id id);
/* False when no view has the name. */
bool ntk_top_views_find(const char *name, enum ntk_top_view_id *out_id);

#define NTK_TOP_FIRST_VIEW(id, name, key, keys, title, help)
#define NTK_TOP_VIEW(id, name, key, keys, title, help) \
    extern const struct ntk_top_view ntk_top_view_##name;
#include "top/views.def"

#endif
