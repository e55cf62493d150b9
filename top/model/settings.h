/* SPDX-License-Identifier: MIT */
/*
 * settings - keeps the user's preferences in a file: lines "name = value", '#' begins a comment.
 *
 * The rows of settings.def are the settings; each has one of its choices as its value. The file
 * also has columns and order of each list view, "processes.columns" and "processes.sort"
 * (table_choice.h). Valid lines of a file are used; the first invalid one is reported, and kept.
 * Saving changes only the lines of settings that were changed here: comments, unknown names, order
 * and line ends stay.
 *
 * Owner:   the caller provides the storage, initialised by ntk_top_settings_init(); nothing must be
 *          freed.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_SETTINGS_H
#define NTK_TOP_MODEL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "top/base/table_choice.h"
#include "top/model/view_ops.h"

enum ntk_top_setting {
#define NTK_TOP_SETTING(id, name, value, choices, help) NTK_TOP_SETTING_##id,
#include "top/model/settings.def"
    NTK_TOP_SETTING_COUNT,
};

/* Stored settings of a list. */
enum ntk_top_list_setting {
    NTK_TOP_LIST_COLUMNS,
    NTK_TOP_LIST_SORT,
    NTK_TOP_LIST_SETTING_COUNT,
};

/* Number of settings: those of the page, then those of the lists, by view. */
#define NTK_TOP_SETTINGS_ALL \
    (NTK_TOP_SETTING_COUNT + NTK_TOP_VIEW_COUNT * NTK_TOP_LIST_SETTING_COUNT)
#define NTK_TOP_SETTING_BYTES 24
#define NTK_TOP_SETTINGS_FILE_MAX (64 * 1024)
#define NTK_TOP_LAYOUTS "overview vendor" /* for --layout, and for the setting */
#define NTK_TOP_DELAY_MIN_NS UINT64_C(100000000)
#define NTK_TOP_DELAY_MAX_NS UINT64_C(3600000000000)

struct ntk_top_settings {
    const struct ntk_top_view *const *views;
    char values[NTK_TOP_SETTING_COUNT][NTK_TOP_SETTING_BYTES];
    char lists[NTK_TOP_VIEW_COUNT][NTK_TOP_LIST_SETTING_COUNT][NTK_TOP_CHOICE_BYTES];
    /* changed by the program since the file was read or written */
    bool changed[NTK_TOP_SETTINGS_ALL];
    char path[4096];  /* "" without a place for a file */
    char notice[512]; /* problem with the file, "" if none */

    /* State of the page. */
    bool is_open;
    size_t row;
    unsigned int generation; /* number of changes of values */
};

/* Sets the defaults. views: table of the model, for the columns of their lists. */
void ntk_top_settings_init(struct ntk_top_settings *settings,
                           const struct ntk_top_view *const *views);
/* Returns $XDG_CONFIG_HOME/neuron-toolkit/neuron-top.conf, else the path below $HOME/.config; ""
 * without either. */
void ntk_top_settings_find_path(char *path, size_t path_bytes);
/* Takes the valid lines. Returns 0, or -EINVAL and a message with name and line of the first
 * invalid one. */
int ntk_top_settings_parse(struct ntk_top_settings *settings, const char *text, size_t bytes,
                           const char *name, struct ntk_err *err);
/* Appends the text of a file with the changes; other text stays unchanged. */
void ntk_top_settings_merge(struct ntk_top_settings *settings, const char *old, size_t old_bytes,
                            struct ntk_buf *out);
/* Reads settings->path, called `name` in messages; a missing file counts as empty. Returns negative
 * with a message; valid lines are taken. */
int ntk_top_settings_load(struct ntk_top_settings *settings, const char *name, struct ntk_err *err);
/* Writes the changes to the current file, in one step. Without changes nothing is written. */
int ntk_top_settings_save(struct ntk_top_settings *settings, struct ntk_err *err);

/* Selects the next choice (step 1) or the previous (-1), wrapping around. */
void ntk_top_settings_step(struct ntk_top_settings *settings, enum ntk_top_setting id, int step);
bool ntk_top_settings_is(const struct ntk_top_settings *settings, enum ntk_top_setting id,
                         const char *choice);
uint64_t ntk_top_settings_refresh_ns(const struct ntk_top_settings *settings);
/* Return and set the stored settings of a view's list. */
struct ntk_top_table_choice ntk_top_settings_list_get(const struct ntk_top_settings *settings,
                                                      enum ntk_top_view_id view);
void ntk_top_settings_list_set(struct ntk_top_settings *settings, enum ntk_top_view_id view,
                               const struct ntk_top_table_choice *choice);
const char *ntk_top_settings_name(enum ntk_top_setting id);
const char *ntk_top_settings_help(enum ntk_top_setting id);

#endif
