/* SPDX-License-Identifier: MIT */
/* model_act - applies actions of the user to a model. */
#include "top/model/model.h"

#include <string.h>

#include "top/model/model_page.h"
#include "top/model/model_processes.h"
#include "top/model/model_tree.h"

/* ---- the tree ---- */

static void set_expanded(struct ntk_top_model *model, const struct ntk_top_node *node,
                         bool expanded)
{
    ntk_top_model_tree_set_cursor(model, model->cursor_index);
    ntk_top_model_tree_set_expanded(model, node->key, expanded);
    (void)ntk_top_model_tree_build(model);
}

static void collapse(struct ntk_top_model *model)
{
    const struct ntk_top_node *node = ntk_top_model_cursor_get(model);
    size_t parent;

    if (!node) {
        return;
    }
    if (node->is_expanded) {
        set_expanded(model, node, false);
        return;
    }
    parent = ntk_top_model_tree_parent(model, model->cursor_index);
    if (parent != SIZE_MAX) {
        ntk_top_model_tree_set_cursor(model, parent);
    }
}

static void expand(struct ntk_top_model *model)
{
    const struct ntk_top_node *node = ntk_top_model_cursor_get(model);

    if (!node || !node->can_expand) {
        return;
    }
    if (node->is_expanded) {
        ntk_top_model_tree_set_cursor(model, model->cursor_index + 1);
    } else {
        set_expanded(model, node, true);
    }
}

static void toggle(struct ntk_top_model *model)
{
    const struct ntk_top_node *node = ntk_top_model_cursor_get(model);

    if (node && node->can_expand) {
        set_expanded(model, node, !node->is_expanded);
    }
}

void ntk_top_model_expand_all(struct ntk_top_model *model, bool expanded)
{
    model->expanded_by_default = expanded;
    ntk_map_fini(&model->exceptions);
    memset(&model->exceptions, 0, sizeof model->exceptions);
    (void)ntk_top_model_tree_build(model);
}

/* Expands everything, or collapses everything if it is already expanded. */
static void toggle_all(struct ntk_top_model *model)
{
    bool is_all_expanded = true;

    ntk_vec_each(struct ntk_top_node, node, &model->nodes) {
        is_all_expanded = is_all_expanded && (!node->can_expand || node->is_expanded);
    }
    model->has_opened_first = true;
    ntk_top_model_expand_all(model, !is_all_expanded);
}

static size_t page_of(const struct ntk_top_model *model)
{
    return model->tree_page > 1 ? model->tree_page - 1 : 1;
}

/* Handles an action on the help page, where keys only move or close it, so that no hidden state
 * changes. */
static enum ntk_top_result act_on_help(struct ntk_top_model *model, enum ntk_top_action action)
{
    size_t page = model->help_page > 1 ? model->help_page : 1;

    switch (action) {
    case NTK_TOP_ACTION_NONE:
        return NTK_TOP_NOTHING;
    case NTK_TOP_ACTION_CURSOR_UP:
        model->help_first -= model->help_first > 0;
        break;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        model->help_first++;
        break;
    case NTK_TOP_ACTION_PAGE_UP:
        model->help_first -= model->help_first < page ? model->help_first : page;
        break;
    case NTK_TOP_ACTION_PAGE_DOWN:
        model->help_first += page;
        break;
    default:
        model->with_help = false;
        break;
    }
    return NTK_TOP_REDRAW;
}

/* ---- views ---- */

bool ntk_top_model_has_view(const struct ntk_top_model *model, enum ntk_top_view_id view)
{
    return view == NTK_TOP_VIEW_RANKS || (view == NTK_TOP_VIEW_HOSTS) == (model->hosts != NULL);
}

enum ntk_top_view_id ntk_top_model_home(const struct ntk_top_model *model)
{
    return model->hosts ? NTK_TOP_VIEW_HOSTS : model->first_view;
}

void ntk_top_model_set_view(struct ntk_top_model *model, enum ntk_top_view_id view)
{
    model->view = ntk_top_model_has_view(model, view) ? view : ntk_top_model_home(model);
    model->page.is_open = false;
    model->wants_events = model->wants_events || view == NTK_TOP_VIEW_EVENTS;
    ntk_top_model_project_view(model);
}

bool ntk_top_model_key(struct ntk_top_model *model, int key)
{
    return !model->with_help && !ntk_top_model_has_settings_open(model) && !model->page.is_open &&
           ntk_top_table_key(&model->tables[model->view], key);
}

/* Opens the next view in that direction that has content. */
static void step_view(struct ntk_top_model *model, unsigned step)
{
    unsigned view = model->view;

    do {
        view = (view + step) % NTK_TOP_VIEW_COUNT;
    } while (!ntk_top_model_has_view(model, (enum ntk_top_view_id)view));
    ntk_top_model_set_view(model, (enum ntk_top_view_id)view);
}

/* Selects the application of the selected row in all views, or all applications again. */
static void follow(struct ntk_top_model *model)
{
    const struct ntk_top_row *row = ntk_top_table_cursor_get(&model->tables[model->view]);

    if (row && row->tab > 0 && row->tab < model->tabs.count) {
        ntk_top_model_select_tab(model, row->tab == model->tab_index ? 0 : row->tab);
    }
}

/* Handles actions that are the same in every view except the tree. Returns false if the general
 * meaning applies. */
static bool act_on_view(struct ntk_top_model *model, enum ntk_top_action action, int argument)
{
    const struct ntk_top_view *view = model->views[model->view];
    struct ntk_top_table *table = &model->tables[model->view];

    if (model->page.is_open) {
        return ntk_top_model_page_act(model, action);
    }
    if (view->act && view->act(model, (int)action, argument)) {
        return true;
    }
    if (table->columns && ntk_top_table_act(table, (int)action, argument)) {
        return true;
    }
    switch (action) {
    case NTK_TOP_ACTION_MINE:
        if (view->is_owned) {
            model->only_mine = !model->only_mine;
            ntk_top_model_project_view(model);
        }
        return true;
    case NTK_TOP_ACTION_TOGGLE:
    case NTK_TOP_ACTION_OPEN:
        ntk_top_model_page_open(model);
        return true;
    case NTK_TOP_ACTION_FOLLOW:
        follow(model);
        return true;
    case NTK_TOP_ACTION_BACK:
        ntk_top_model_set_view(model, ntk_top_model_home(model));
        return true;
    case NTK_TOP_ACTION_VIEW_NEXT:
        step_view(model, 1);
        return true;
    case NTK_TOP_ACTION_VIEW_PREVIOUS:
        step_view(model, NTK_TOP_VIEW_COUNT - 1);
        return true;
    case NTK_TOP_ACTION_TAB:
    case NTK_TOP_ACTION_TAB_PREVIOUS:
    case NTK_TOP_ACTION_TAB_NEXT:
    case NTK_TOP_ACTION_VIEW:
    case NTK_TOP_ACTION_ALERT:
    case NTK_TOP_ACTION_HELP:
    case NTK_TOP_ACTION_FLOPS:
        return false;
    default:
        return true; /* keys of the tree, which is hidden */
    }
}

bool ntk_top_model_shows_latency(const struct ntk_top_model *model)
{
    const struct ntk_top_view *view = model->views[model->view];

    return model->page.is_open || (view && view->shows_latency);
}

bool ntk_top_model_shows_model_latency(const struct ntk_top_model *model)
{
    return model->page.is_open || model->view == NTK_TOP_VIEW_MODELS;
}

/* The vendor's layout shows the CPU time of all applications in its bars, a page shows its
 * application; a list is also sorted and searched by columns that are not visible. */
bool ntk_top_model_shows_usage(const struct ntk_top_model *model)
{
    const struct ntk_top_view *view = model->views[model->view];
    const struct ntk_top_table *table = &model->tables[model->view];

    return model->view == NTK_TOP_VIEW_TREE || model->page.is_open ||
           (model->view == NTK_TOP_VIEW_OVERVIEW && ntk_top_model_tab_runtime(model)) ||
           (view && view->project == ntk_top_model_processes &&
            (ntk_top_table_is_shown(table, NTK_TOP_PROCESSES_CPU) ||
             ntk_top_table_is_shown(table, NTK_TOP_PROCESSES_RSS) ||
             table->sort_column == NTK_TOP_PROCESSES_CPU ||
             table->sort_column == NTK_TOP_PROCESSES_RSS));
}

bool ntk_top_model_has_settings_open(const struct ntk_top_model *model)
{
    return model->settings && model->settings->is_open;
}

/* Handles an action on the page of settings: keys of the tree move and change; others do
 * nothing. */
static void act_on_settings(struct ntk_top_settings *settings, enum ntk_top_action action,
                            int argument)
{
    switch (action) {
    case NTK_TOP_ACTION_CURSOR_UP:
        settings->row -= settings->row > 0;
        break;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        settings->row += settings->row + 1 < NTK_TOP_SETTING_COUNT;
        break;
    case NTK_TOP_ACTION_CURSOR_TO:
        settings->row = (size_t)argument;
        break;
    case NTK_TOP_ACTION_COLLAPSE:
    case NTK_TOP_ACTION_EXPAND:
    case NTK_TOP_ACTION_TOGGLE:
    case NTK_TOP_ACTION_FREEZE: /* space bar */
        ntk_top_settings_step(settings, (enum ntk_top_setting)settings->row,
                              action == NTK_TOP_ACTION_COLLAPSE ? -1 : 1);
        break;
    case NTK_TOP_ACTION_SETTINGS:
    case NTK_TOP_ACTION_BACK:
        settings->is_open = false;
        break;
    default:
        break;
    }
}

/* Moves the cursor of the tree; returns false for other actions. */
static bool move_cursor(struct ntk_top_model *model, enum ntk_top_action action, int argument)
{
    size_t cursor = model->cursor_index;

    switch (action) {
    case NTK_TOP_ACTION_CURSOR_UP:
        ntk_top_model_tree_set_cursor(model, cursor > 0 ? cursor - 1 : 0);
        break;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        ntk_top_model_tree_set_cursor(model, cursor + 1);
        break;
    case NTK_TOP_ACTION_PAGE_UP:
        ntk_top_model_tree_set_cursor(model, cursor > page_of(model) ? cursor - page_of(model) : 0);
        break;
    case NTK_TOP_ACTION_PAGE_DOWN:
        ntk_top_model_tree_set_cursor(model, cursor + page_of(model));
        break;
    case NTK_TOP_ACTION_CURSOR_FIRST:
        ntk_top_model_tree_set_cursor(model, 0);
        break;
    case NTK_TOP_ACTION_CURSOR_LAST:
        ntk_top_model_tree_set_cursor(model, SIZE_MAX);
        break;
    case NTK_TOP_ACTION_CURSOR_TO:
        ntk_top_model_tree_set_cursor(model, (size_t)argument);
        break;
    default:
        return false;
    }
    return true;
}

enum ntk_top_result ntk_top_model_act(struct ntk_top_model *model, enum ntk_top_action action,
                                      int argument)
{
    size_t tab_count = model->tabs.count;

    if (action == NTK_TOP_ACTION_QUIT) {
        return NTK_TOP_QUIT;
    }
    if (model->with_help) {
        return act_on_help(model, action);
    }
    if (action == NTK_TOP_ACTION_NONE) {
        return NTK_TOP_NOTHING;
    }
    if (ntk_top_model_has_settings_open(model)) {
        act_on_settings(model->settings, action, argument);
        return NTK_TOP_REDRAW;
    }
    if (action == NTK_TOP_ACTION_SETTINGS) {
        if (model->settings) {
            model->settings->is_open = true;
        }
        return NTK_TOP_REDRAW;
    }
    if (model->view != NTK_TOP_VIEW_TREE && act_on_view(model, action, argument)) {
        return NTK_TOP_REDRAW;
    }
    if (move_cursor(model, action, argument)) {
        return NTK_TOP_REDRAW;
    }
    switch (action) {
    case NTK_TOP_ACTION_VIEW:
        if (argument < 0 || argument >= NTK_TOP_VIEW_COUNT) {
            return NTK_TOP_NOTHING;
        }
        /* The key of the open view leads back. */
        ntk_top_model_set_view(model, (int)model->view == argument
                                          ? ntk_top_model_home(model)
                                          : (enum ntk_top_view_id)argument);
        break;
    case NTK_TOP_ACTION_ALERT:
        ntk_top_model_set_view(model, NTK_TOP_VIEW_ERRORS);
        break;
    case NTK_TOP_ACTION_VIEW_NEXT:
        step_view(model, 1);
        break;
    case NTK_TOP_ACTION_VIEW_PREVIOUS:
        step_view(model, NTK_TOP_VIEW_COUNT - 1);
        break;
    case NTK_TOP_ACTION_TOGGLE_AT:
        ntk_top_model_tree_set_cursor(model, (size_t)argument);
        toggle(model);
        break;
    case NTK_TOP_ACTION_COLLAPSE:
        collapse(model);
        break;
    case NTK_TOP_ACTION_EXPAND:
        expand(model);
        break;
    case NTK_TOP_ACTION_TOGGLE:
        toggle(model);
        break;
    case NTK_TOP_ACTION_TOGGLE_ALL:
        toggle_all(model);
        break;
    case NTK_TOP_ACTION_TAB_PREVIOUS:
        ntk_top_model_select_tab(model, (model->tab_index + tab_count - 1) % tab_count);
        break;
    case NTK_TOP_ACTION_TAB_NEXT:
        ntk_top_model_select_tab(model, (model->tab_index + 1) % tab_count);
        break;
    case NTK_TOP_ACTION_TAB:
        if (argument < 1 || (size_t)argument > tab_count) {
            return NTK_TOP_NOTHING;
        }
        ntk_top_model_select_tab(model, (size_t)argument - 1);
        break;
    case NTK_TOP_ACTION_FLOPS:
        model->with_flops = !model->with_flops;
        break;
    case NTK_TOP_ACTION_HELP:
        model->with_help = true;
        model->help_first = 0;
        break;
    default: /* actions for the source, the program or another view */
        return NTK_TOP_NOTHING;
    }
    return NTK_TOP_REDRAW;
}
