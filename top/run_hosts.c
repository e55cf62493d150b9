/* SPDX-License-Identifier: MIT */
/*
 * run_hosts - opens and closes one host of many: its pages only show its model, so that data of
 * different hosts is never mixed; the key back leads to the list.
 */
#include <string.h>

#include "shared/base/str.h"
#include "top/run.h"
#include "top/source/hosts.h"
#include "top/view/view.h"

bool ntk_top_run_open_host(struct ntk_top_run *run)
{
    struct ntk_top_model *list = run->model;
    size_t index = list->host_wanted - 1;
    struct ntk_top_model *model;
    struct ntk_err err;

    if (list->host_wanted == 0) {
        return false;
    }
    list->host_wanted = 0;
    if (ntk_top_model_create(list->views, &model, &err) < 0) {
        return false; /* out of memory: the list stays */
    }
    model->settings = list->settings;
    model->first_view = list->first_view;
    ntk_str_copy(model->my_user, sizeof model->my_user, list->my_user);
    ntk_top_model_set_view(model, list->first_view);
    model->with_flops = list->with_flops;
    model->only_mine = list->only_mine;
    model->is_report = true;
    model->host = &list->hosts->items[index];
    ntk_str_copy_clean(model->host_name, sizeof model->host_name, list->hosts->items[index].name,
                       strlen(list->hosts->items[index].name));
    run->hosts_model = list;
    run->model = model;
    ntk_top_run_set_tree(run);
    ntk_top_run_set_lists(run);
    ntk_top_past_fini(&run->past);
    run->past = (struct ntk_top_past){ 0 };
    run->is_in_past = run->is_frozen = false;
    run->reads_events = false;
    run->reads = (struct ntk_top_reads){ 0 };
    ntk_top_source_hosts_show(run->source, index);
    return true;
}

bool ntk_top_run_close_host(struct ntk_top_run *run)
{
    const struct ntk_top_model *model = run->model;

    if (!run->hosts_model ||
        (model->view != ntk_top_model_home(model) && !ntk_top_view_is_missing(model)) ||
        model->with_help || ntk_top_model_has_settings_open(model)) {
        return false;
    }
    ntk_top_run_save_settings(run);                 /* columns and order of its lists */
    run->hosts_model->only_mine = model->only_mine; /* for the host that is opened next */
    ntk_top_model_destroy(run->model);
    run->model = run->hosts_model;
    run->hosts_model = NULL;
    ntk_top_past_fini(&run->past);
    run->past = (struct ntk_top_past){ 0 };
    run->is_in_past = run->is_frozen = false;
    ntk_top_source_hosts_show(run->source, SIZE_MAX);
    return true;
}

bool ntk_top_run_show_hosts(struct ntk_top_run *run)
{
    struct ntk_top_model *model = run->model;

    if (model->hosts || model->with_help || ntk_top_model_has_settings_open(model)) {
        return false;
    }
    if (run->hosts_model) {
        ntk_top_model_set_view(model, ntk_top_model_home(model));
        return ntk_top_run_close_host(run);
    }
    ntk_str_copy(run->message, sizeof run->message,
                 "only one machine is shown: use --connect or --hosts to compare machines");
    return true;
}
