/* SPDX-License-Identifier: MIT */
/* model_page - opens, leaves and scrolls the page of an application or a model. */
#include "top/model/model_page.h"

#include <string.h>

#include "shared/base/str.h"
#include "top/base/cells.h"

static const struct ntk_model_sample *find_model(const struct ntk_runtime_sample *runtime,
                                                 uint32_t id)
{
    for (size_t m = 0; m < runtime->model_count; m++) {
        if (runtime->models[m].id == id) {
            return &runtime->models[m];
        }
    }
    return NULL;
}

void ntk_top_model_page_open(struct ntk_top_model *model)
{
    const struct ntk_top_table *table = &model->tables[model->view];
    const struct ntk_top_row *row = table->columns ? ntk_top_table_cursor_get(table) : NULL;
    const struct ntk_runtime_sample *runtime;
    struct ntk_top_page page = { .is_open = true };
    const char *name;

    if (!row || row->tab == 0 || row->tab >= model->tabs.count) {
        return;
    }
    runtime = &model->snapshot->runtimes[row->tab - 1];
    page.start_time = runtime->start_time;
    page.header_pid = runtime->header_pid;
    name = runtime->tag;
    for (size_t m = 0; model->view == NTK_TOP_VIEW_MODELS && m < runtime->model_count; m++) {
        const struct ntk_model_sample *sample = &runtime->models[m];

        if (ntk_top_cells_model_key(runtime, sample) == row->key) {
            page.is_of_model = true;
            page.model_id = sample->id;
            name = sample->name[0] ? sample->name : sample->neff_path;
            break;
        }
    }
    ntk_str_copy_clean(page.name, sizeof page.name, name, strlen(name));
    model->page = page;
    model->wants_events = true; /* the page shows the last events */
}

bool ntk_top_model_page_act(struct ntk_top_model *model, enum ntk_top_action action)
{
    struct ntk_top_page *page = &model->page;
    size_t step = page->rows > 1 ? page->rows - 1 : 1;

    switch (action) {
    case NTK_TOP_ACTION_BACK:
    case NTK_TOP_ACTION_TOGGLE:
        page->is_open = false;
        ntk_top_model_project_view(model);
        return true;
    case NTK_TOP_ACTION_CURSOR_UP:
        page->first -= page->first > 0;
        return true;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        page->first++;
        return true;
    case NTK_TOP_ACTION_PAGE_UP:
        page->first -= page->first < step ? page->first : step;
        return true;
    case NTK_TOP_ACTION_PAGE_DOWN:
        page->first += step;
        return true;
    case NTK_TOP_ACTION_CURSOR_FIRST:
        page->first = 0;
        return true;
    case NTK_TOP_ACTION_CURSOR_LAST:
        page->first = SIZE_MAX / 2;
        return true;
    case NTK_TOP_ACTION_VIEW:
    case NTK_TOP_ACTION_VIEW_NEXT:
    case NTK_TOP_ACTION_VIEW_PREVIOUS:
    case NTK_TOP_ACTION_ALERT:
    case NTK_TOP_ACTION_TAB:
    case NTK_TOP_ACTION_TAB_NEXT:
    case NTK_TOP_ACTION_TAB_PREVIOUS:
        page->is_open = false;
        return false;
    case NTK_TOP_ACTION_HELP:
        return false;
    default:
        return true; /* keys of the list, which is hidden */
    }
}

struct ntk_top_page_of ntk_top_model_page_find(const struct ntk_top_model *model)
{
    const struct ntk_top_page *page = &model->page;
    struct ntk_top_page_of of = { 0 };

    for (size_t r = 0; model->snapshot && r < model->snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &model->snapshot->runtimes[r];

        if (runtime->start_time == page->start_time && runtime->header_pid == page->header_pid) {
            of.runtime = runtime;
            of.tab = r + 1;
            of.model = page->is_of_model ? find_model(runtime, page->model_id) : NULL;
            break;
        }
    }
    return of;
}
