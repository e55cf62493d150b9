/* SPDX-License-Identifier: MIT */
/* run_person - what a person at the screen asks for beside looking: the past, a signal, a profile. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "top/process_signal.h"
#include "top/run.h"

#define SAY(run, ...) (void)snprintf((run)->message, sizeof(run)->message, __VA_ARGS__)

void ntk_top_run_walk(struct ntk_top_run *run, int direction, uint64_t distance_ns)
{
    const struct ntk_top_past *past = &run->past;
    uint64_t shown_ns = run->model->snapshot ? run->model->snapshot->realtime_ns : 0;
    size_t last = past->count - 1;
    size_t index = direction < 0   ? ntk_top_past_back(past, shown_ns, distance_ns)
                   : direction > 0 ? ntk_top_past_forward(past, shown_ns, distance_ns)
                                   : last;
    struct ntk_err err = { 0 };

    if (past->count == 0 || (direction > 0 && !run->is_in_past)) {
        return; /* it is now */
    }
    run->is_in_past = run->is_frozen = index < last;
    (void)ntk_top_model_show(run->model, ntk_snapshot_share(ntk_top_past_get(past, index)), &err);
}

void ntk_top_run_ask_signal(struct ntk_top_run *run)
{
    const struct ntk_runtime_sample *runtime = ntk_top_model_selected(run->model);

    if (!run->source->ops->is_here) {
        SAY(run, "only applications of this machine can be signalled");
    } else if (run->is_in_past) {
        SAY(run, "the past cannot be signalled: space leads back to now");
    } else if (!runtime) {
        SAY(run, "which application? choose its row (p) or tab (a, d, 1-9) first");
    } else if (runtime->ended) {
        SAY(run, "%s has ended", runtime->tag);
    } else {
        run->signalled.pid = runtime->pid;
        run->signalled.start_time = runtime->start_time;
        ntk_str_copy_clean(run->signalled.tag, sizeof run->signalled.tag, runtime->tag,
                           strlen(runtime->tag));
    }
}

void ntk_top_run_send_signal(struct ntk_top_run *run, int key)
{
    size_t count;
    const struct ntk_top_signal_choice *choices = ntk_top_signal_choices(&count);
    uint32_t pid = run->signalled.pid;

    run->signalled.pid = 0;
    for (size_t i = 0; i < count; i++) {
        struct ntk_err err = { 0 };

        if (choices[i].key != key) {
            continue;
        }
        if (ntk_top_signal_send(pid, run->signalled.start_time, choices[i].number, &err) < 0) {
            SAY(run, "%s", err.text);
        } else {
            SAY(run, "sent %s to %s (%u)", choices[i].name, run->signalled.tag, pid);
        }
        return;
    }
    SAY(run, "no signal was sent");
}

void ntk_top_run_tell_capture(struct ntk_top_run *run)
{
    const struct ntk_runtime_sample *runtime = ntk_top_model_selected(run->model);
    const struct ntk_top_node *node = ntk_top_model_cursor_get(run->model);
    const struct ntk_model_sample *found = NULL;
    char path[NTK_ERR_TEXT_BYTES / 2];

    for (size_t i = 0; runtime && i < runtime->model_count && !found; i++) {
        found = runtime->models[i].neff_path[0] ? &runtime->models[i] : NULL;
    }
    for (size_t r = 0;
         run->model->snapshot && node && node->model_id > 0 &&
         run->model->view == NTK_TOP_VIEW_MAIN && r < run->model->snapshot->runtime_count;
         r++) {
        const struct ntk_runtime_sample *one = &run->model->snapshot->runtimes[r];

        for (size_t i = 0; ntk_top_model_is_in_tab(run->model, r) && i < one->model_count; i++) {
            if (one->models[i].id == node->model_id && one->models[i].neff_path[0]) {
                found = &one->models[i];
            }
        }
    }
    if (!found) {
        SAY(run, "a running application cannot be captured: start it with neuron-profile inspect");
        return;
    }
    ntk_str_copy_clean(path, sizeof path, found->neff_path, strlen(found->neff_path));
    SAY(run, "not while it runs; on a free core: neuron-profile capture -n %s -s profile.ntff",
        path);
}
