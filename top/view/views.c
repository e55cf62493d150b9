/* SPDX-License-Identifier: MIT */
/* views - defines the table of views.def. */
#include "top/view/views.h"

const struct ntk_top_view *const ntk_top_views[NTK_TOP_VIEW_COUNT] = {
#define NTK_TOP_TREE_VIEW(id, name, key, keys, title, help)
#define NTK_TOP_VIEW(id, name, key, keys, title, help) [NTK_TOP_VIEW_##id] = &ntk_top_view_##name,
#include "top/base/views.def"
};
