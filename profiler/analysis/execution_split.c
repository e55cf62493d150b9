/* SPDX-License-Identifier: MIT */
/* execution_split - collects steps of each execution, sorted by core and number, and adds and
 * subtracts them. */
#include "profiler/analysis/execution_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/trace/sorter.h"
#include "shared/base/bisect.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

#define CORES_MAX 64U /* maximum number of physical cores per execution */
#define PASS_EXECUTIONS 1024U
#define HEAP_BYTES ((size_t)4 << 20) /* memory per list; longer lists are stored in a file */
/* maximum number of runs checked before a queue, because in a hostile file all may overlap */
#define RUNS_TRIED_MAX 4096U

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

/* Items of sorters, ordered by core first. */
struct part {
    int64_t nc;
    uint64_t exec_id, span, step;
};

struct run { /* a run of a physical core, in host time */
    int64_t nc;
    uint64_t start_ns, end_ns, exec_id;
};

struct parts {
    struct ntk_sorted parts, runs;
    /* elements are uint64_t: latest end so far of a run on its logical core */
    struct ntk_long_list latest;
};

/* Times per physical core: steps of one execution are added up. */
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

NTK_ORDER(compare_parts, struct part, NTK_UP(exec_id) NTK_UP(span));

NTK_ORDER(compare_runs, struct run, NTK_UP(start_ns) NTK_UP(exec_id));

static int latest_fill(struct parts *parts)
{
    const struct run *runs = parts->runs.items;
    int ret = ntk_long_list_resize(&parts->latest, parts->runs.count + 1);
    uint64_t *latest = parts->latest.items;

    for (size_t i = 0; i < parts->runs.count && ret == 0; i++) {
        latest[i] = i > 0 && runs[i - 1].nc == runs[i].nc && latest[i - 1] > runs[i].end_ns
                        ? latest[i - 1]
                        : runs[i].end_ns;
    }
    return ret;
}

static int parts_add(const struct ntk_system_trace *trace, struct ntk_sorter *parts,
                     struct ntk_sorter *runs)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        enum step step =
            ntk_system_span_has_exec(span) && !span->is_instant ? step_of(span->type) : STEP_COUNT;
        struct part *part = step != STEP_COUNT ? ntk_sorter_add(parts) : NULL;
        bool is_run = step == STEP_RUN && !span->is_partial;
        struct run *run = is_run ? ntk_sorter_add(runs) : NULL;

        ntk_system_trace_passed(trace, i);
        if ((step != STEP_COUNT && !part) || (is_run && !run)) {
            return parts->failed ? parts->failed : runs->failed;
        }
        if (part) {
            *part = (struct part){ span->nc, span->exec_id, i, step };
        }
        if (run) {
            *run = (struct run){ span->nc, span->start_ns, span->end_ns, span->exec_id };
        }
    }
    return 0;
}

static int parts_find(const struct ntk_system_trace *trace, struct parts *out_parts)
{
    const char *folder = ntk_fs_temporary_folder();
    struct ntk_sorter parts;
    struct ntk_sorter runs;

    ntk_sorter_init(&parts, sizeof(struct part), compare_parts, HEAP_BYTES, folder);
    ntk_sorter_init(&runs, sizeof(struct run), compare_runs, HEAP_BYTES, folder);
    int ret = parts_add(trace, &parts, &runs);
    ret = ret < 0 ? ret : ntk_sorter_finish(&parts, HEAP_BYTES, &out_parts->parts, NULL);
    ret = ret < 0 ? ret : ntk_sorter_finish(&runs, HEAP_BYTES, &out_parts->runs, NULL);
    ntk_sorter_fini(&parts);
    ntk_sorter_fini(&runs);
    return ret < 0 ? ret : latest_fill(out_parts);
}

static void parts_fini(struct parts *parts)
{
    ntk_sorted_fini(&parts->parts, sizeof(struct part));
    ntk_sorted_fini(&parts->runs, sizeof(struct run));
    ntk_long_list_fini(&parts->latest);
}

static int64_t ns_of(uint64_t ns)
{
    return ns <= INT64_MAX ? (int64_t)ns : INT64_MAX;
}

static void core_add(struct core_times *times, uint32_t core, uint64_t ns)
{
    for (size_t i = 0; i < times->count; i++) {
        if (times->cores[i].core == core) {
            times->cores[i].ns = ntk_count_sum(times->cores[i].ns, ns);
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
    return span->end_ns - span->start_ns;
}

/* Returns the time in the window in which the core ran other executions. */
static int64_t busy_between(const struct parts *parts, const struct ntk_split_execution *of,
                            uint64_t from_ns, uint64_t to_ns)
{
    const struct run *runs = parts->runs.items;
    const uint64_t *latest = parts->latest.items;
    size_t low = 0;
    uint64_t covered_ns = from_ns;
    uint64_t busy_ns = 0;

    /* find the first run of the core that may end after the start of the window */
    NTK_BISECT(low, parts->runs.count, i,
               runs[i].nc < of->nc || (runs[i].nc == of->nc && latest[i] <= from_ns));
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

/* Makes an execution from its parts, in order of their start. */
static void execution_make(const struct ntk_system_trace *trace, const struct parts *parts,
                           size_t first, size_t end, struct ntk_split_execution *execution)
{
    const struct part *all = parts->parts.items;
    const struct ntk_system_span *of_step[STEP_COUNT] = { NULL }; /* first span of each step */
    struct core_times runs = { 0 };
    struct core_times switches = { 0 };
    uint64_t last_run_ns = 0;

    *execution = (struct ntk_split_execution){
        .exec_id = all[first].exec_id,
        .nc = (uint32_t)all[first].nc,
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
            uint64_t end_ns = span->end_ns;
            last_run_ns = end_ns > last_run_ns ? end_ns : last_run_ns;
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
    const char *folder = ntk_fs_temporary_folder();
    struct parts parts = {
        .latest = { .item_bytes = sizeof(uint64_t), .heap_bytes_max = HEAP_BYTES, .folder = folder }
    };
    struct ntk_long_list items = { .item_bytes = sizeof(struct ntk_split_execution),
                                   .heap_bytes_max = HEAP_BYTES,
                                   .folder = folder };
    int ret = parts_find(trace, &parts);
    const struct part *all = parts.parts.items;
    size_t count = ret == 0 ? parts.parts.count : 0;

    for (size_t first = 0, end = 0; first < count && ret == 0; first = end) {
        struct ntk_split_execution *execution = ntk_long_list_add(&items, &ret);

        if (!execution) {
            break;
        }
        while (end < count && all[end].nc == all[first].nc &&
               all[end].exec_id == all[first].exec_id) {
            end++;
        }
        execution_make(trace, &parts, first, end, execution);
        if (items.count % PASS_EXECUTIONS == 0) {
            ntk_system_trace_give_back(trace);
            ntk_long_list_give_back(&items);
            ntk_long_items_give_back(parts.parts.items, count * sizeof *all, parts.parts.is_mapped);
        }
    }
    parts_fini(&parts);
    if (ret < 0) {
        ntk_long_list_fini(&items);
        return ret;
    }
    *out_split = (struct ntk_execution_split){ items.count, items.items, items };
    return 0;
}

void ntk_execution_split_fini(struct ntk_execution_split *split)
{
    ntk_long_list_fini(&split->list);
    *split = (struct ntk_execution_split){ 0 };
}
