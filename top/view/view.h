/* SPDX-License-Identifier: MIT */
/*
 * view - draws a model on a screen: the layout, and one function per pane.
 *
 * The layout assigns rows to every pane. A low terminal first loses the blank rows, then several
 * devices are drawn in one line, then rows of the tree, the memory summary and the vCPUs are
 * dropped; below NTK_TOP_ROWS_MIN x NTK_TOP_COLUMNS_MIN there is only a message. A terminal with
 * more rows than the vendor's screen shows applications and a graph below the cores, and a wide or
 * tall terminal the memory of each device after its bars.
 *
 * Threads: one. Draws only between ntk_screen_begin and ntk_screen_end.
 */
#ifndef NTK_TOP_VIEW_VIEW_H
#define NTK_TOP_VIEW_VIEW_H

#include <stdbool.h>

#include "top/model/model.h"
#include "top/screen/screen.h"

#define NTK_TOP_ROWS_MIN 8
#define NTK_TOP_COLUMNS_MIN 40

/* Rows of panes; a row of -1 is not shown. */
struct ntk_top_layout {
    bool is_too_small;
    int alert_row;
    int notice_row;
    int cores_row; /* heading; the names of the cores and core_rows bars follow */
    int core_rows;
    int core_groups; /* number of devices in one line */
    bool has_hbm;    /* the used share of a device's memory is shown after its bars */
    int more_row;    /* row of applications and a graph, on a tall terminal */
    int more_rows;
    int vcpu_row;         /* heading and two rows */
    int summary_row;      /* heading and two rows */
    int tree_row;         /* heading */
    bool tree_has_titles; /* there is a row of column titles; otherwise they are in the heading */
    int tree_rows;        /* number of rows for items */
    int tabs_row;
    int keys_row;
};

/* Draws current faults, over the whole row. */
void ntk_top_view_alert(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                        bool with_keys);
/* Returns the text instead of the value of a core that is dead or stuck, "" for others, and its
 * style. */
const char *ntk_top_view_core_mark(enum ntk_top_core_state state, bool is_short, int *out_style);
/* Returns true if the open host was never reached, so that no view has content. */
bool ntk_top_view_is_missing(const struct ntk_top_model *model);
/* Draws one frame. with_keys: interactive, so the bottom bar shows the keys. */
void ntk_top_view_draw(struct ntk_top_model *model, struct ntk_screen *screen, bool with_keys);
/* Returns the number of rows with which nothing is omitted. */
int ntk_top_view_natural_rows(const struct ntk_top_model *model, int columns, bool with_keys);
void ntk_top_view_layout(const struct ntk_top_model *model, int rows, int columns, bool with_keys,
                         struct ntk_top_layout *out_layout);

/* Draws the frame of a view other than the first, and returns its preferred number of rows without
 * keys. */
void ntk_top_view_full(struct ntk_top_model *model, struct ntk_screen *screen, bool with_keys);
int ntk_top_view_full_rows(const struct ntk_top_model *model, int columns);

/* Draws the page of an application or a model, see model_page.h. */
void ntk_top_view_page(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows);

/* Panes, for view.c and view_full.c. */
/* Returns a label, with the machine's word for its memory; valid until the next call. */
const char *ntk_top_view_label(struct ntk_screen *screen, const char *text);
/* The right end of a graph: "now", or "0s" if an earlier moment is shown. */
const char *ntk_top_view_end(const struct ntk_top_model *model);
void ntk_top_view_title(const struct ntk_top_model *model, struct ntk_screen *screen);
void ntk_top_view_cores(const struct ntk_top_model *model, struct ntk_screen *screen,
                        const struct ntk_top_layout *layout);
void ntk_top_view_more(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows);
void ntk_top_view_vcpu(const struct ntk_top_model *model, struct ntk_screen *screen, int row);
void ntk_top_view_summary(const struct ntk_top_model *model, struct ntk_screen *screen, int row);
/* Returns the text in place of applications if there are none. */
const char *ntk_top_view_no_application(const struct ntk_top_model *model);
void ntk_top_view_tree(const struct ntk_top_model *model, struct ntk_screen *screen,
                       const struct ntk_top_layout *layout);
void ntk_top_view_tabs(const struct ntk_top_model *model, struct ntk_screen *screen, int row);
/* Draws the keys of one place. */
void ntk_top_view_keys(struct ntk_screen *screen, int row, enum ntk_top_place place);
/* Draws settings; stores in the model how far the page can be scrolled. */
void ntk_top_view_settings(const struct ntk_top_settings *settings, struct ntk_screen *screen);
void ntk_top_view_help(struct ntk_top_model *model, struct ntk_screen *screen);
/* Draws width cells of a bar, filled by the user part, then by the system part in another colour.
 * The bar is blank if absent, because an empty bar means zero. A value that is shown as 100 % fills
 * it. */
void ntk_top_view_bar(struct ntk_screen *screen, int row, int column, int width,
                      struct ntk_top_number user_percent, struct ntk_top_number system_percent,
                      int selected);
/* Draws a full-width bar with a text. */
/* Returns true if a core is a software core: its times are host times. */
bool ntk_top_view_has_software(const struct ntk_top_model *model);
void ntk_top_view_heading(struct ntk_screen *screen, int row, const char *text);

#endif
