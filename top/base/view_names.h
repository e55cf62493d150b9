/* SPDX-License-Identifier: MIT */
/*
 * view_names - finds screens by name: the rows of views.def without their drawing functions.
 * Threads: any; constant data.
 */
#ifndef NTK_TOP_BASE_VIEW_NAMES_H
#define NTK_TOP_BASE_VIEW_NAMES_H

#include <stdbool.h>

enum ntk_top_view_id {
#define NTK_TOP_VIEW(id, name, key, keys, title, help) NTK_TOP_VIEW_##id,
#include "top/base/views.def"
    NTK_TOP_VIEW_COUNT,
};

struct ntk_top_view_text {
    const char *name; /* value for --view */
    const char *keys;
    const char *title;
    const char *help;
};

const struct ntk_top_view_text *ntk_top_views_text_get(enum ntk_top_view_id id);
/* Returns false if no view has the name. */
bool ntk_top_views_find(const char *name, enum ntk_top_view_id *out_id);

#endif
