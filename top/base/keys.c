/* SPDX-License-Identifier: MIT */
/* keys - looks up actions and texts in the tables of keys.def and views.def. */
#include "top/base/keys.h"

#include <stddef.h>

#include "top/base/view_names.h"
#include "top/screen/screen.h"

static const struct ntk_top_action_text texts[NTK_TOP_ACTION_COUNT] = {
    [NTK_TOP_ACTION_NONE] = { NTK_TOP_PLACE_ALL, "", "", "" },
#define NTK_TOP_ACTION(id, place, keys, bar, help) \
    [NTK_TOP_ACTION_##id] = { NTK_TOP_PLACE_##place, keys, bar, help },
#include "top/base/keys.def"
};

static const struct {
    int key;
    enum ntk_top_action action;
    int argument;
} bindings[] = {
#define NTK_TOP_KEY(code, id, argument) { code, NTK_TOP_ACTION_##id, argument },
#include "top/base/keys.def"
#define NTK_TOP_VIEW(id, name, key, keys, title, help) \
    { key, NTK_TOP_ACTION_VIEW, NTK_TOP_VIEW_##id },
#include "top/base/views.def"
};

enum ntk_top_action ntk_top_keys_find(int key, int *out_argument)
{
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
        if (bindings[i].key == key) {
            *out_argument = bindings[i].argument;
            return bindings[i].action;
        }
    }
    return NTK_TOP_ACTION_NONE;
}

const struct ntk_top_action_text *ntk_top_keys_text_get(enum ntk_top_action action)
{
    return &texts[action];
}
