/* SPDX-License-Identifier: MIT */
/* host_gaps - spans by core; of each its runs in order, then one sweep over what the host did. */
#include "profiler/analysis/host_gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gap {
    uint64_t start_ns, end_ns;
};

/* Something begins (+1) or ends (-1). */
struct edge {
    uint64_t time_ns;
    enum ntk_gap_cause cause; /* NTK_GAP_APPLICATION: the gap itself */
    int change;
};

const char *ntk_gap_cause_name(enum ntk_gap_cause cause)
{
    static const char *const names[NTK_GAP_CAUSE_COUNT] = { "tensors", "model", "execution",
                                                            "other_call", "application" };

    return names[cause];
}

static enum ntk_gap_cause cause_of(const char *type)
{
    static const struct {
        const char *begin;
        enum ntk_gap_cause cause;
    } causes[] = {
        { "nrt_tensor_", NTK_GAP_TENSORS },
        { "tensor_", NTK_GAP_TENSORS },
        { "dmem_buf_copy", NTK_GAP_TENSORS },
        { "nrt_load", NTK_GAP_MODEL },
        { "nrt_unload", NTK_GAP_MODEL },
        { "model_load", NTK_GAP_MODEL },
        { "nrt_execute", NTK_GAP_EXECUTION },
        { "runtime_execute", NTK_GAP_EXECUTION },
        { "nrt_model_submit", NTK_GAP_EXECUTION },
        { "nrta_execute", NTK_GAP_EXECUTION },
        { "kbl_", NTK_GAP_EXECUTION },
        { "kmgr_", NTK_GAP_EXECUTION },
    };

    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (strncmp(type, causes[i].begin, strlen(causes[i].begin)) == 0) {
            return causes[i].cause;
        }
    }
    return NTK_GAP_OTHER_CALL;
}

static int compare_gaps(const void *a, const void *b)
{
    const struct gap *x = a;
    const struct gap *y = b;

    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;

    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The spans of one core, in the order of the trace. */
struct group {
    const struct ntk_system_span *const *spans;
    size_t count;
};

static int compare_spans(const void *a, const void *b)
{
    const struct ntk_system_span *x = *(const struct ntk_system_span *const *)a;
    const struct ntk_system_span *y = *(const struct ntk_system_span *const *)b;

    if (x->nc != y->nc) {
        return x->nc < y->nc ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool is_run(const struct ntk_system_span *span)
{
    return strcmp(span->type, "nc_exec_running") == 0 && !span->is_instant && !span->is_partial;
}

/* Runs of the core merged where they overlap (the two cores of a pair, queued steps), then what is
 * between. */
static size_t find_gaps(const struct group *group, struct ntk_gap_core *core, struct gap *runs)
{
    size_t count = 0;
    size_t merged = 0;
    uint32_t counted_core =
        UINT32_MAX; /* the first physical one: each of a pair has a span per run */

    for (size_t i = 0; i < group->count; i++) {
        const struct ntk_system_span *span = group->spans[i];
        if (is_run(span)) {
            runs[count++] = (struct gap){ span->start_ns, span->end_ns };
            if (span->device_core < counted_core) {
                counted_core = span->device_core;
                core->run_count = 0;
            }
            core->run_count += span->device_core == counted_core;
        }
    }
    qsort(runs, count, sizeof *runs, compare_gaps);
    for (size_t i = 0; i < count; i++) {
        if (merged && runs[i].start_ns <= runs[merged - 1].end_ns) {
            if (runs[i].end_ns > runs[merged - 1].end_ns) {
                runs[merged - 1].end_ns = runs[i].end_ns;
            }
        } else {
            runs[merged++] = runs[i];
        }
    }
    core->span_ns = merged ? runs[merged - 1].end_ns - runs[0].start_ns : 0;
    for (size_t i = 0; i < merged; i++) {
        core->run_ns += runs[i].end_ns - runs[i].start_ns;
    }
    for (size_t i = 0; i + 1 < merged; i++) {
        runs[i] = (struct gap){ runs[i].end_ns, runs[i + 1].start_ns };
    }
    return merged ? merged - 1 : 0;
}

static void measure_gaps(struct ntk_gap_core *core, const struct gap *gaps, size_t count,
                         uint64_t *lengths)
{
    core->gap_count = count;
    for (size_t i = 0; i < count; i++) {
        lengths[i] = gaps[i].end_ns - gaps[i].start_ns;
        core->gap_ns += lengths[i];
        if (lengths[i] > core->longest_ns) {
            core->longest_ns = lengths[i];
            core->longest_at_ns = gaps[i].start_ns;
        }
    }
    qsort(lengths, count, sizeof *lengths, compare_numbers);
    core->median_ns = count ? lengths[(count - 1) / 2] : 0;
}

static void find_causes(const struct group *group, struct ntk_gap_core *core,
                        const struct gap *gaps, size_t count, struct edge *edges)
{
    size_t edge_count = 0;
    int open[NTK_GAP_CAUSE_COUNT] = { 0 };

    for (size_t i = 0; i < count; i++) {
        edges[edge_count++] = (struct edge){ gaps[i].start_ns, NTK_GAP_APPLICATION, 1 };
        edges[edge_count++] = (struct edge){ gaps[i].end_ns, NTK_GAP_APPLICATION, -1 };
    }
    for (size_t i = 0; i < group->count; i++) {
        const struct ntk_system_span *span = group->spans[i];
        if (span->is_instant || span->is_partial || ntk_system_type_is_hardware(span->type)) {
            continue;
        }
        edges[edge_count++] = (struct edge){ span->start_ns, cause_of(span->type), 1 };
        edges[edge_count++] = (struct edge){ span->end_ns, cause_of(span->type), -1 };
    }
    qsort(edges, edge_count, sizeof *edges, compare_edges);
    for (size_t i = 0; i + 1 < edge_count; i++) {
        open[edges[i].cause] += edges[i].change;
        if (open[NTK_GAP_APPLICATION] <= 0) {
            continue;
        }
        enum ntk_gap_cause cause = NTK_GAP_TENSORS;
        while (cause < NTK_GAP_APPLICATION && open[cause] <= 0) {
            cause++;
        }
        core->cause_ns[cause] += edges[i + 1].time_ns - edges[i].time_ns;
    }
}

/* Room for what one core needs at once: all spans may be of one. */
struct room {
    const struct ntk_system_span **spans;
    struct gap *between;
    uint64_t *lengths;
    struct edge *edges;
};

static void add_core(const struct group *group, const struct room *room, struct ntk_host_gaps *gaps)
{
    struct ntk_gap_core core = { .nc = group->spans[0]->nc };
    size_t count = find_gaps(group, &core, room->between);

    if (core.run_count > 0) {
        measure_gaps(&core, room->between, count, room->lengths);
        find_causes(group, &core, room->between, count, room->edges);
        gaps->cores[gaps->core_count++] = core;
    }
}

static void add_cores(const struct ntk_system_trace *trace, const struct room *room,
                      struct ntk_host_gaps *gaps)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        room->spans[i] = &trace->spans[i];
    }
    qsort(room->spans, trace->span_count, sizeof *room->spans, compare_spans);
    for (size_t first = 0; first < trace->span_count;) {
        size_t end = first + 1;

        while (end < trace->span_count && room->spans[end]->nc == room->spans[first]->nc) {
            end++;
        }
        add_core(&(struct group){ room->spans + first, end - first }, room, gaps);
        first = end;
    }
}

int ntk_analysis_host_gaps(const struct ntk_system_trace *trace, struct ntk_host_gaps *out_gaps)
{
    struct ntk_host_gaps gaps = { 0 };
    struct room room = {
        .spans = calloc(trace->span_count + 1, sizeof *room.spans),
        .between = calloc(trace->span_count + 1, sizeof *room.between),
        .lengths = calloc(trace->span_count + 1, sizeof *room.lengths),
        .edges = calloc(4 * trace->span_count + 1, sizeof *room.edges),
    };
    int ret = -ENOMEM;

    gaps.cores = calloc(trace->span_count + 1, sizeof *gaps.cores);
    if (room.spans && room.between && room.lengths && room.edges && gaps.cores) {
        ret = 0;
        add_cores(trace, &room, &gaps);
        *out_gaps = gaps;
    } else {
        free(gaps.cores);
    }
    free(room.spans);
    free(room.between);
    free(room.lengths);
    free(room.edges);
    return ret;
}

void ntk_host_gaps_fini(struct ntk_host_gaps *gaps)
{
    free(gaps->cores);
    *gaps = (struct ntk_host_gaps){ 0 };
}
