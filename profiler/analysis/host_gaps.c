/* SPDX-License-Identifier: MIT */
/* host_gaps - sorts starts and ends of runs and calls by core and time, and sweeps over each
 * core. */
#include "profiler/analysis/host_gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/median.h"
#include "profiler/trace/long_list.h"
#include "profiler/trace/sorter.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

#define HEAP_BYTES ((size_t)8 << 20) /* memory per list; longer lists are stored in a file */
#define PASS_EDGES 65536U

/* A start (+1) or an end (-1), as an item of a sorter, ordered by core first. */
struct edge {
    int64_t nc;
    uint64_t time_ns;
    uint32_t cause; /* enum ntk_gap_cause; NTK_GAP_APPLICATION for a run */
    int32_t change;
    uint32_t device_core; /* physical core of a run */
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

/* Orders edges; at equal times starts precede ends, so that adjacent runs have no gap between
 * them. */
NTK_ORDER(compare_edges, struct edge, NTK_UP(time_ns) NTK_DOWN(change));

static bool is_run(const struct ntk_system_span *span)
{
    return strcmp(span->type, "nc_exec_running") == 0 && !span->is_instant && !span->is_partial;
}

static int edges_add(struct ntk_sorter *edges, const struct ntk_system_span *span, uint32_t cause)
{
    for (int change = 1; change >= -1; change -= 2) {
        struct edge *edge = ntk_sorter_add(edges);

        if (!edge) {
            return edges->failed;
        }
        *edge = (struct edge){ span->nc, change > 0 ? span->start_ns : span->end_ns, cause, change,
                               span->device_core };
    }
    return 0;
}

static int edges_find(const struct ntk_system_trace *trace, struct ntk_sorted *out_edges)
{
    struct ntk_sorter edges;
    int ret = 0;

    ntk_sorter_init(&edges, sizeof(struct edge), compare_edges, HEAP_BYTES,
                    ntk_fs_temporary_folder());
    for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        if (is_run(span)) {
            ret = edges_add(&edges, span, NTK_GAP_APPLICATION);
        } else if (!span->is_instant && !span->is_partial &&
                   !ntk_system_type_is_hardware(span->type) &&
                   !ntk_system_type_is_thread_state(span->type)) {
            ret = edges_add(&edges, span, cause_of(span->type));
        }
        ntk_system_trace_passed(trace, i);
    }
    ret = ret < 0 ? ret : ntk_sorter_finish(&edges, HEAP_BYTES, out_edges, NULL);
    ntk_sorter_fini(&edges);
    return ret;
}

/* State of a core while its edges are processed. */
struct sweep {
    struct ntk_gap_core core;
    struct ntk_median lengths;
    int64_t open[NTK_GAP_CAUSE_COUNT];
    uint64_t first_ns, run_start_ns, run_end_ns, now_ns;
    /* Times since the last run; they become part of a gap if another run follows */
    uint64_t cause_ns[NTK_GAP_CAUSE_COUNT];
    uint32_t counted_core; /* first physical core, because each core of a pair has a span per run */
    bool has_run;
};

static int gap_end(struct sweep *sweep, uint64_t now_ns)
{
    struct ntk_gap_core *core = &sweep->core;
    uint64_t length_ns = now_ns - sweep->run_end_ns;

    core->gap_count++;
    core->gap_ns += length_ns;
    if (length_ns > core->longest_ns) {
        core->longest_ns = length_ns;
        core->longest_at_ns = sweep->run_end_ns;
    }
    for (size_t i = 0; i < NTK_GAP_CAUSE_COUNT; i++) {
        core->cause_ns[i] += sweep->cause_ns[i];
    }
    return ntk_median_add(&sweep->lengths, length_ns);
}

static void run_count(struct sweep *sweep, uint32_t device_core)
{
    if (device_core < sweep->counted_core || !sweep->has_run) {
        sweep->counted_core = device_core;
        sweep->core.run_count = 0;
    }
    sweep->core.run_count += device_core == sweep->counted_core;
}

static int run_begin(struct sweep *sweep, const struct edge *edge)
{
    int ret = 0;

    if (sweep->open[NTK_GAP_APPLICATION] == 0) {
        ret = sweep->has_run ? gap_end(sweep, edge->time_ns) : 0;
        sweep->first_ns = sweep->has_run ? sweep->first_ns : edge->time_ns;
        sweep->run_start_ns = edge->time_ns;
    }
    run_count(sweep, edge->device_core);
    sweep->has_run = true;
    return ret;
}

static void run_end(struct sweep *sweep, uint64_t now_ns)
{
    sweep->core.run_ns += now_ns - sweep->run_start_ns;
    sweep->core.span_ns = now_ns - sweep->first_ns;
    sweep->run_end_ns = now_ns;
    memset(sweep->cause_ns, 0, sizeof sweep->cause_ns);
}

static int edge_take(struct sweep *sweep, const struct edge *edge)
{
    int ret = 0;

    if (sweep->has_run && sweep->open[NTK_GAP_APPLICATION] == 0) {
        unsigned cause = NTK_GAP_TENSORS;

        while (cause < NTK_GAP_APPLICATION && sweep->open[cause] <= 0) {
            cause++;
        }
        sweep->cause_ns[cause] += edge->time_ns - sweep->now_ns;
    }
    if (edge->cause == NTK_GAP_APPLICATION && edge->change > 0) {
        ret = run_begin(sweep, edge);
    }
    sweep->now_ns = edge->time_ns;
    sweep->open[edge->cause] += edge->change;
    if (edge->cause == NTK_GAP_APPLICATION && sweep->open[NTK_GAP_APPLICATION] == 0) {
        run_end(sweep, edge->time_ns);
    }
    return ret;
}

/* Adds the edges of one core. */
static int core_add(const struct ntk_sorted *edges, size_t first, size_t end, struct ntk_vec *cores)
{
    const struct edge *all = edges->items;
    struct sweep sweep = { .core = { .nc = (uint32_t)all[first].nc } };
    int ret = 0;

    ntk_median_init(&sweep.lengths);
    for (size_t i = first; i < end && ret == 0; i++) {
        ret = edge_take(&sweep, &all[i]);
        if (i % PASS_EDGES == 0) {
            ntk_long_items_give_back(all, edges->count * sizeof *all, edges->is_mapped);
        }
    }
    ret = ret < 0 ? ret : ntk_median_get(&sweep.lengths, &sweep.core.median_ns);
    ntk_median_fini(&sweep.lengths);
    return ret < 0 || !sweep.has_run ? ret : ntk_vec_push(cores, &sweep.core);
}

int ntk_analysis_host_gaps(const struct ntk_system_trace *trace, struct ntk_host_gaps *out_gaps)
{
    struct ntk_vec cores = NTK_VEC_INIT(struct ntk_gap_core);
    struct ntk_sorted edges = { 0 };
    int ret = edges_find(trace, &edges);
    const struct edge *all = edges.items;

    for (size_t first = 0, end = 0; first < edges.count && ret == 0; first = end) {
        while (end < edges.count && all[end].nc == all[first].nc) {
            end++;
        }
        ret = core_add(&edges, first, end, &cores);
    }
    ntk_sorted_fini(&edges, sizeof *all);
    if (ret < 0) {
        ntk_vec_fini(&cores);
        return ret;
    }
    *out_gaps = (struct ntk_host_gaps){ cores.count, cores.items };
    return 0;
}

void ntk_host_gaps_fini(struct ntk_host_gaps *gaps)
{
    free(gaps->cores);
    *gaps = (struct ntk_host_gaps){ 0 };
}
