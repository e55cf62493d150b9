/* SPDX-License-Identifier: MIT */
/* model_watch - manages the watches of a model: shown, now, and before the past. */
#include "top/model/model_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "top/model/model_alerts.h"
#include "top/model/model_errors.h"
#include "top/model/model_events.h"
#include "top/model/model_hbm.h"
#include "top/model/model_pace.h"

void ntk_top_watch_fini(struct ntk_top_watch *watch)
{
    ntk_top_model_errors_fini(&watch->errors);
    ntk_top_model_alerts_fini(&watch->alerts);
    ntk_top_pace_fini(watch->pace);
    *watch = (struct ntk_top_watch){ 0 };
}

/* Copies a watch; on failure the copy is empty. */
static int dup_watch(const struct ntk_top_watch *from, struct ntk_top_watch *out_copy)
{
    *out_copy = (struct ntk_top_watch){ .peaks = from->peaks };
    if (ntk_top_model_errors_dup(&from->errors, &out_copy->errors) == 0 &&
        ntk_top_model_alerts_dup(&from->alerts, &out_copy->alerts) == 0 &&
        ntk_top_pace_dup(from->pace, &out_copy->pace) == 0) {
        return 0;
    }
    ntk_top_watch_fini(out_copy);
    return -ENOMEM;
}

static void swap(struct ntk_top_watch *a, struct ntk_top_watch *b)
{
    struct ntk_top_watch kept = *a;

    *a = *b;
    *b = kept;
}

/* Passes the model's snapshot to its watch. */
static int observe(struct ntk_top_model *model)
{
    int ret = ntk_top_model_alerts_observe(model);

    ret = ret < 0 ? ret : ntk_top_model_errors_observe(model);
    ret = ret < 0 ? ret : ntk_top_model_pace_observe(model);
    return ret < 0 ? ret : ntk_top_model_hbm_observe(model);
}

/* Same, for a snapshot that the model does not show. */
static int observe_other(struct ntk_top_model *model, const struct ntk_snapshot *snapshot)
{
    const struct ntk_snapshot *shown = ntk_top_model_look_at(model, snapshot);
    int ret = observe(model);

    (void)ntk_top_model_look_at(model, shown);
    return ret;
}

int ntk_top_model_watch(struct ntk_top_model *model)
{
    int ret = observe(model);

    for (int i = 0; ret == 0 && i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_view *view = model->views[i];

        ret = view && view->observe ? view->observe(model) : 0;
    }
    return ret;
}

void ntk_top_model_return_to_now(struct ntk_top_model *model)
{
    if (model->is_behind) {
        swap(&model->watch, &model->watch_now);
        ntk_top_watch_fini(&model->watch_now);
        model->is_behind = false;
    }
}

int ntk_top_model_observe(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                          struct ntk_err *err)
{
    int ret = model->is_behind ? 0 : dup_watch(&model->watch, &model->watch_now);

    if (ret == 0) {
        const struct ntk_snapshot *shown = model->snapshot;
        uint64_t events;

        model->is_behind = true;
        events = ntk_top_model_events_count(model);
        (void)ntk_top_model_look_at(model, snapshot);
        swap(&model->watch, &model->watch_now);
        ret = ntk_top_model_watch(model);
        swap(&model->watch, &model->watch_now);
        (void)ntk_top_model_look_at(model, shown);
        /* After the view of events was opened, the source also reads earlier events. */
        if (ntk_top_model_events_count(model) > events) {
            ntk_top_model_project_view(model);
        }
    }
    ntk_snapshot_destroy(snapshot);
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory") : 0;
}

int ntk_top_model_show_past(struct ntk_top_model *model, const struct ntk_top_past *past,
                            size_t index, struct ntk_err *err)
{
    struct ntk_top_watch watch = { 0 };
    int ret = 0;

    if (index + 1 >= past->count) {
        ntk_top_model_return_to_now(model);
    } else {
        ret = dup_watch(&model->watch_before, &watch);
        swap(&model->watch, &watch);
        for (size_t i = 0; ret == 0 && i <= index; i++) {
            ret = observe_other(model, ntk_top_past_get(past, i));
        }
        if (!model->is_behind && ret == 0) {
            swap(&model->watch_now, &watch);
            model->is_behind = true;
        } else if (ret < 0) {
            swap(&model->watch, &watch);
        }
        ntk_top_watch_fini(&watch);
    }
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory");
    }
    return ntk_top_model_show(model, ntk_snapshot_share(ntk_top_past_get(past, index)), err);
}

void ntk_top_model_leave(struct ntk_top_model *model, const struct ntk_snapshot *snapshot)
{
    swap(&model->watch, &model->watch_before);
    (void)observe_other(model, snapshot); /* out of memory: less is known about that time */
    swap(&model->watch, &model->watch_before);
}
