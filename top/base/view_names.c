/* SPDX-License-Identifier: MIT */
/* view_names - looks up the texts of views.def. */
#include "top/base/view_names.h"

#include <stddef.h>
#include <string.h>

static const struct ntk_top_view_text texts[NTK_TOP_VIEW_COUNT] = {
#define NTK_TOP_VIEW(id, name, key, keys, title, help) \
    [NTK_TOP_VIEW_##id] = { #name, keys, title, help },
#include "top/base/views.def"
};

const struct ntk_top_view_text *ntk_top_views_text_get(enum ntk_top_view_id id)
{
    return &texts[id];
}

bool ntk_top_views_find(const char *name, enum ntk_top_view_id *out_id)
{
    for (size_t i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        if (strcmp(texts[i].name, name) == 0) {
            *out_id = (enum ntk_top_view_id)i;
            return true;
        }
    }
    return false;
}
