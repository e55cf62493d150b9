/* SPDX-License-Identifier: MIT */
/* views - declares the screens other than the vendor's: the table of views.def as code. */
#ifndef NTK_TOP_VIEW_VIEWS_H
#define NTK_TOP_VIEW_VIEWS_H

#include "top/model/view_ops.h"

/* By enum ntk_top_view_id; NULL for NTK_TOP_VIEW_TREE. */
extern const struct ntk_top_view *const ntk_top_views[NTK_TOP_VIEW_COUNT];

#define NTK_TOP_TREE_VIEW(id, name, key, keys, title, help)
#define NTK_TOP_VIEW(id, name, key, keys, title, help) \
    extern const struct ntk_top_view ntk_top_view_##name;
#include "top/base/views.def"

#endif
