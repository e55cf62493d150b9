/* SPDX-License-Identifier: MIT */
/*
 * keys - returns actions of keys and their help texts, from the tables of keys.def and views.def.
 * Threads: any; constant data.
 */
#ifndef NTK_TOP_BASE_KEYS_H
#define NTK_TOP_BASE_KEYS_H

enum ntk_top_action {
    NTK_TOP_ACTION_NONE,
#define NTK_TOP_ACTION(id, place, keys, bar, help) NTK_TOP_ACTION_##id,
#include "top/base/keys.def"
    NTK_TOP_ACTION_COUNT,
};

/* Where an action works. */
enum ntk_top_place {
    NTK_TOP_PLACE_ALL,
    NTK_TOP_PLACE_TREE,  /* the vendor's layout */
    NTK_TOP_PLACE_VIEW,  /* all other views */
    NTK_TOP_PLACE_LIST,  /* views that are lists */
    NTK_TOP_PLACE_OWNED, /* lists with rows that belong to processes */
    NTK_TOP_PLACE_DRAWN,
};

struct ntk_top_action_text {
    enum ntk_top_place place;
    const char *keys; /* "" if another row shows them */
    const char *bar;  /* "" if it is not in the bottom bar */
    const char *help;
};

/* Returns the action for a key of screen.h, NTK_TOP_ACTION_NONE if it has none. The argument of
 * NTK_TOP_ACTION_VIEW is an enum ntk_top_view_id. */
enum ntk_top_action ntk_top_keys_find(int key, int *out_argument);
/* action must be below NTK_TOP_ACTION_COUNT. */
const struct ntk_top_action_text *ntk_top_keys_text_get(enum ntk_top_action action);

#endif
