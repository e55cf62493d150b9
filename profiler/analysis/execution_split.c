/* SPDX-License-Identifier: MIT */
/* execution_split - the steps of each execution, sorted by core and number, summed and
 * subtracted. */
#include "profiler/analysis/execution_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "shared/base/vec.h"

#define CORES_MAX 64U /* physical cores of one execution */
#define PASS_EXECUTIONS 1024U
#define RUNS_TRIED_MAX 4096U /* before a queue: a hostile file has them all overlap */

enum step {
    STEP_PRE,
    STEP_SWITCH,
    STEP_RUN,
    STEP_WAIT,
    STEP_POST,
    STEP_COUNT,
};

static const char *const step_types[STEP_COUNT] = {
    [STEP_PRE] = "kbl_exec_pre",    [STEP_SWITCH] = "nc_model_switch",
    [STEP_RUN] = "nc_exec_running", [STEP_WAIT] = "kbl_exec_wait",
    [STEP_POST] = "kbl_exec_post",
};

struct part {
    uint64_t exec_id;
    size_t span;
    uint32_t nc;
    enum step step;
};

struct run { /* of a physical core, host time */
    uint64_t start_ns, end_ns, exec_id;
    uint64_t latest_ns; /* the latest end up to here, of its logical core */
    uint32_t nc;
};

struct parts {
    struct ntk_vec parts, runs;
};

/* Per physical core: steps of one execution add up. */
struct core_times {
    size_t count;
    struct {
        uint32_t core;
        uint64_t ns;
    } cores[CORES_MAX];
};

static enum step step_of(const char *type)
{
    for (size_t s = 0; s < STEP_COUNT; s++) {
        if (strcmp(type, step_types[s]) == 0) {
            return (enum step)s;
        }
    }
    return STEP_COUNT;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;

    if (x->nc != y->nc) {
        return x->nc < y->nc ? -1 : 1;
    }
    if (x->exec_id != y->exec_id) {
        return x->exec_id < y->exec_id ? -1 : 1;
    }
    return x->span < y->span ? -1 : x->span > y->span;
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a;
    const struct run *y = b;

    if (x->nc != y->nc) {
        return x->nc < y->nc ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->exec_id < y->exec_id ? -1 : x->exec_id > y->exec_id;
}

static int parts_find(const struct ntk_system_trace *trace, struct parts *parts)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        struct part part = { span->exec_id, i, span->nc, STEP_COUNT };

        ntk_system_trace_passed(trace, i);
        if (ntk_system_span_has_exec(span) && !span->is_instant) {
            part.step = step_of(span->type);
        }
        if (part.step != STEP_COUNT && ntk_vec_push(&parts->parts, &part) < 0) {
            return -ENOMEM;
        }
        struct run run = { span->start_ns, span->end_ns, span->exec_id, 0, span->nc };
        if (part.step == STEP_RUN && !span->is_partial && ntk_vec_push(&parts->runs, &run) < 0) {
            return -ENOMEM;
        }
    }
    ntk_vec_sort(&parts->parts, compare_parts);
    ntk_vec_sort(&parts->runs, compare_runs);
    struct run *runs = parts->runs.items;
    for (size_t i = 0; i < parts->runs.count; i++) {
        runs[i].latest_ns =
            i > 0 && runs[i - 1].nc == runs[i].nc && runs[i - 1].latest_ns > runs[i].end_ns
                ? runs[i - 1].latest_ns
                : runs[i].end_ns;
    }
    return 0;
}

/* Files may say anything: sums stop at the largest number. */
static uint64_t ns_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int64_t ns_of(uint64_t ns)
{
    return ns <= INT64_MAX ? (int64_t)ns : INT64_MAX;
}

static void core_add(struct core_times *times, uint32_t core, uint64_t ns)
{
    for (size_t i = 0; i < times->count; i++) {
        if (times->cores[i].core == core) {
            times->cores[i].ns = ns_sum(times->cores[i].ns, ns);
            return;
        }
    }
    if (times->count < CORES_MAX) {
        times->cores[times->count].core = core;
        times->cores[times->count++].ns = ns;
    }
}

static int64_t longest_of(const struct core_times *times)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < times->count; i++) {
        longest = times->cores[i].ns > longest ? times->cores[i].ns : longest;
    }
    return ns_of(longest);
}

static uint64_t duration_of(const struct ntk_system_span *span)
{
    return span->device_end_ns > span->device_start_ns ? span->device_end_ns - span->device_start_ns
                                                       : span->end_ns - span->start_ns;
}

/* Time of the window in which the core ran other executions. */
static int64_t busy_between(const struct parts *parts, const struct ntk_split_execution *of,
                            uint64_t from_ns, uint64_t to_ns)
{
    const struct run *runs = parts->runs.items;
    size_t low = 0;
    size_t high = parts->runs.count;
    uint64_t covered_ns = from_ns;
    uint64_t busy_ns = 0;

    while (low < high) { /* the first of the core that may end behind the begin of the window */
        size_t middle = low + (high - low) / 2;

        if (runs[middle].nc < of->nc ||
            (runs[middle].nc == of->nc && runs[middle].latest_ns <= from_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low, tried = 0; i < parts->runs.count && runs[i].nc == of->nc &&
                                    runs[i].start_ns < to_ns && tried < RUNS_TRIED_MAX;
         i++, tried++) {
        uint64_t start = runs[i].start_ns > covered_ns ? runs[i].start_ns : covered_ns;
        uint64_t end = runs[i].end_ns < to_ns ? runs[i].end_ns : to_ns;

        if (runs[i].exec_id != of->exec_id && end > start) {
            busy_ns += end - start;
            covered_ns = end;
        }
    }
    return ns_of(busy_ns);
}

static void bound_find(struct ntk_split_execution *execution)
{
    const struct {
        int64_t ns;
        const char *name;
    } bounds[] = { { execution->device_ns, "device" },
                   { execution->queue_busy_ns, "queue" },
                   { execution->host_ns, "host" } };
    int64_t most = -1;

    for (size_t i = 0; i < 3 && execution->total_ns != NTK_SPLIT_ABSENT; i++) {
        if (bounds[i].ns > most) {
            most = bounds[i].ns;
            execution->bound = bounds[i].name;
        }
    }
}

static int64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? ns_of(to_ns - from_ns) : 0;
}

static int64_t known(int64_t ns)
{
    return ns != NTK_SPLIT_ABSENT ? ns : 0;
}

/* The parts of one execution, by start. */
static void execution_make(const struct ntk_system_trace *trace, const struct parts *parts,
                           size_t first, size_t end, struct ntk_split_execution *execution)
{
    const struct part *all = parts->parts.items;
    const struct ntk_system_span *of_step[STEP_COUNT] = { NULL }; /* the first of each */
    struct core_times runs = { 0 };
    struct core_times switches = { 0 };
    uint64_t last_run_ns = 0;

    *execution = (struct ntk_split_execution){
        .exec_id = all[first].exec_id,
        .nc = all[first].nc,
        .model = "",
        .start_ns = trace->spans[all[first].span].start_ns,
        .submit_ns = NTK_SPLIT_ABSENT,
        .queue_ns = NTK_SPLIT_ABSENT,
        .queue_busy_ns = NTK_SPLIT_ABSENT,
        .switch_ns = NTK_SPLIT_ABSENT,
        .device_ns = NTK_SPLIT_ABSENT,
        .notify_ns = NTK_SPLIT_ABSENT,
        .post_ns = NTK_SPLIT_ABSENT,
        .total_ns = NTK_SPLIT_ABSENT,
        .host_ns = NTK_SPLIT_ABSENT,
    };
    for (size_t i = first; i < end; i++) {
        const struct ntk_system_span *span = &trace->spans[all[i].span];

        if (execution->model_id == 0 && span->model_id) {
            execution->model_id = span->model_id;
            execution->model = span->name;
        }
        execution->sequence = execution->sequence ? execution->sequence : span->sequence;
        if (span->is_partial) {
            continue;
        }
        of_step[all[i].step] = of_step[all[i].step] ? of_step[all[i].step] : span;
        if (all[i].step == STEP_RUN) {
            core_add(&runs, span->device_core, duration_of(span));
            last_run_ns = span->end_ns > last_run_ns ? span->end_ns : last_run_ns;
        } else if (all[i].step == STEP_SWITCH) {
            core_add(&switches, span->device_core, duration_of(span));
        }
    }
    const struct ntk_system_span *pre = of_step[STEP_PRE];
    const struct ntk_system_span *run = of_step[STEP_RUN];
    const struct ntk_system_span *post = of_step[STEP_POST];
    const struct ntk_system_span *device = of_step[STEP_SWITCH] ? of_step[STEP_SWITCH] : run;

    execution->is_partial = !pre || !run || !post;
    if (pre) {
        execution->start_ns = pre->start_ns;
        execution->submit_ns = between(pre->start_ns, pre->end_ns);
    }
    if (pre && device) {
        execution->queue_ns = between(pre->end_ns, device->start_ns);
        execution->queue_busy_ns = busy_between(parts, execution, pre->end_ns, device->start_ns);
    }
    if (of_step[STEP_SWITCH]) {
        execution->switch_ns = longest_of(&switches);
    }
    if (run) {
        execution->device_ns = longest_of(&runs);
    }
    if (of_step[STEP_WAIT] && run) {
        execution->notify_ns = between(last_run_ns, of_step[STEP_WAIT]->end_ns);
    }
    if (post) {
        execution->post_ns = between(post->start_ns, post->end_ns);
    }
    if (pre && post && run) {
        int64_t other = ntk_ps_sum(known(execution->device_ns), known(execution->switch_ns));

        other = ntk_ps_sum(other, known(execution->queue_busy_ns));
        execution->total_ns = between(pre->start_ns, post->end_ns);
        execution->host_ns = execution->total_ns > other ? execution->total_ns - other : 0;
    }
    bound_find(execution);
}

int ntk_analysis_execution_split(const struct ntk_system_trace *trace,
                                 struct ntk_execution_split *out_split)
{
    struct parts parts = { NTK_VEC_INIT(struct part), NTK_VEC_INIT(struct run) };
    struct ntk_vec items = NTK_VEC_INIT(struct ntk_split_execution);
    int ret = parts_find(trace, &parts);
    const struct part *all = parts.parts.items;
    size_t count = ret == 0 ? parts.parts.count : 0;

    for (size_t first = 0, end = 0; first < count && ret == 0; first = end) {
        struct ntk_split_execution *execution = ntk_vec_add(&items);

        if (!execution) {
            ret = -ENOMEM;
            break;
        }
        while (end < count && all[end].nc == all[first].nc &&
               all[end].exec_id == all[first].exec_id) {
            end++;
        }
        execution_make(trace, &parts, first, end, execution);
        if (items.count % PASS_EXECUTIONS == 0) {
            ntk_system_trace_give_back(trace);
        }
    }
    ntk_vec_fini(&parts.parts);
    ntk_vec_fini(&parts.runs);
    if (ret < 0) {
        ntk_vec_fini(&items);
        return ret;
    }
    *out_split = (struct ntk_execution_split){ items.count, items.items };
    return 0;
}

void ntk_execution_split_fini(struct ntk_execution_split *split)
{
    free(split->items);
    *split = (struct ntk_execution_split){ 0 };
}
