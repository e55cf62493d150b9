/* SPDX-License-Identifier: MIT */
/* run_person - handles requests of the user that change more than the view: the past, a signal. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "top/base/cells.h"
#include "top/model/model_watch.h"
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
        return; /* already at the present */
    }
    run->is_in_past = run->is_frozen = index < last;
    (void)ntk_top_model_show_past(run->model, past, index, &err);
}

const struct ntk_runtime_sample *ntk_top_run_choose(struct ntk_top_run *run, const char *what)
{
    const struct ntk_runtime_sample *runtime = ntk_top_model_selected(run->model);
    const struct ntk_snapshot *snapshot = run->model->snapshot;

    if (!run->source->ops->is_here) {
        SAY(run, "only applications on this machine can be %s", what);
    } else if (run->is_in_past) {
        SAY(run, "past applications cannot be %s: press space to return to the present", what);
    } else if (!runtime && !(snapshot && snapshot->runtime_count == 1)) {
        SAY(run, "no application selected: choose its row (p) or tab (a, d, 1-9) first");
    } else {
        runtime = runtime ? runtime : &snapshot->runtimes[0];
        if (!runtime->ended) {
            return runtime;
        }
        char name[NTK_TOP_RUN_NAME_BYTES];

        ntk_top_run_name_of(runtime, name);
        SAY(run, "%s has exited", name);
    }
    return NULL;
}

void ntk_top_run_name_of(const struct ntk_runtime_sample *runtime,
                         char name[NTK_TOP_RUN_NAME_BYTES])
{
    const char *text = runtime->tag;
    size_t length = strlen(text);

    if (!ntk_top_cells_has_tag(runtime) && runtime->command[0]) {
        size_t path_length = strcspn(runtime->command, " ");
        const char *slash = memrchr(runtime->command, '/', path_length);

        text = slash ? slash + 1 : runtime->command;
        length = path_length - (size_t)(text - runtime->command);
    }
    ntk_str_copy_clean(name, NTK_TOP_RUN_NAME_BYTES, text, length);
}

void ntk_top_run_ask_signal(struct ntk_top_run *run)
{
    const struct ntk_runtime_sample *runtime = ntk_top_run_choose(run, "signalled");

    if (runtime) {
        run->signalled.pid = runtime->pid;
        run->signalled.start_time = runtime->start_time;
        ntk_top_run_name_of(runtime, run->signalled.name);
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
            SAY(run, "sent %s to %s (%u)", choices[i].name, run->signalled.name, pid);
        }
        return;
    }
    SAY(run, "no signal was sent");
}
