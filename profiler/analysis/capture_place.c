/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/capture_place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/system/session_find.h"
#include "shared/base/str.h"

#define INTERPOLATE_NS 1000000000U
#define DRIFT_MAX 0.001 /* maximum drift of a clock; a larger drift means another clock */

/* Finds the points with the same clock epoch around a point. */
static size_t points_around(const struct ntk_vec *all, const struct ntk_system_sync *point,
                            const struct ntk_system_sync **out_points)
{
    const struct ntk_system_sync *first = point;
    const struct ntk_system_sync *end = point;
    const struct ntk_system_sync *items = all->items;

#define IS_SAME(other) \
    ((other)->nc == point->nc && (other)->core == point->core && (other)->life == point->life)
    while (first > items && IS_SAME(first - 1)) {
        first--;
    }
    while (end < items + all->count && IS_SAME(end)) {
        end++;
    }
#undef IS_SAME
    *out_points = first;
    return (size_t)(end - first);
}

/* Returns 0 if the core has no points. */
static uint64_t host_of(const struct ntk_system_sync *points, size_t count, uint64_t device_ns)
{
    const struct ntk_system_sync *before = points;
    const struct ntk_system_sync *after = NULL;

    for (size_t i = 1; i < count; i++) {
        if (points[i].device_ns <= device_ns) {
            before = &points[i];
        } else if (before == &points[i - 1] && before->device_ns <= device_ns) {
            after = &points[i];
        }
    }
    if (count == 0) {
        return 0;
    }
    uint64_t host_ns = before->host_ns + (device_ns - before->device_ns);
    uint64_t apart_ns = after && after > before ? after->device_ns - before->device_ns : 0;
    if (apart_ns > INTERPOLATE_NS) {
        double drift_ns = (double)(int64_t)(after->host_ns - before->host_ns - apart_ns);
        double share = (double)(device_ns - before->device_ns) / (double)apart_ns;
        if (fabs(drift_ns) < DRIFT_MAX * (double)apart_ns) {
            host_ns += (uint64_t)(int64_t)llround(drift_ns * share);
        }
    }
    return host_ns;
}

uint64_t ntk_capture_place(const struct ntk_system_trace *trace,
                           const struct ntk_system_tables *tables, const struct ntk_ntff *ntff,
                           uint32_t nc, const char **out_reason)
{
    const struct ntk_system_execution *execution =
        ntk_system_tables_captured_in(tables, ntff, nc, out_reason);
    uint64_t window_ns = ntff->window_start_ps / 1000;

    if (!execution || !execution->sync_host_ns || !trace->is_vendor) {
        return execution ? execution->sync_host_ns : 0;
    }
    uint32_t core = ntff->subgraph_count ? ntff->subgraphs[0].core : NTK_SYSTEM_NO_CORE;
    const struct ntk_system_sync *points =
        ntk_system_sync_find(trace, execution->nc, core, execution->sync_host_ns);
    size_t count = points ? points_around(&trace->sync_points, points, &points) : 0;
    uint64_t lead_ns = execution->device_start_ns - window_ns;
    return count                               ? host_of(points, count, window_ns)
           : execution->sync_host_ns > lead_ns ? execution->sync_host_ns - lead_ns
                                               : execution->sync_host_ns;
}

/* Returns the start of the execution. Spans are in order of their start: the first physical core of
 * a pair is used. */
static uint64_t start_of_execution(const struct ntk_system_trace *trace, uint64_t execution)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        if (span->exec_id == execution && strcmp(span->type, "nc_exec_running") == 0) {
            return span->start_ns;
        }
        ntk_system_trace_passed(trace, i);
    }
    return 0;
}

static bool is_of(const struct ntk_system_trace *trace, uint32_t pid)
{
    return trace->info && trace->info->process_id == pid && !trace->is_vendor;
}

/* Returns true if the trace is in or below the folder of the capture. */
static bool is_near(const char *path, const struct ntk_system_trace *trace)
{
    size_t bytes = (size_t)(ntk_str_base_name(path) - path);

    return strncmp(trace->folder, path, bytes) == 0;
}

/* Fills what the name of a capture requested by `neuron-profile trigger` shows. */
static void locate_triggered(const char *path, const struct ntk_vec *traces,
                             struct ntk_capture_located *at)
{
    unsigned long long execution;
    unsigned pid;
    unsigned core; /* number of the core in the machine */
    bool has_near = false;

    if (sscanf(ntk_str_base_name(path), "pid_%u_nc_%u_exec_%llu.ntff", &pid, &core, &execution) !=
        3) {
        return;
    }
    at->pid = pid;
    at->execution = execution;
    /* Processes of several machines may have one number. */
    ntk_vec_each(struct ntk_system_trace *, trace, traces) {
        has_near = has_near || (is_of(*trace, pid) && is_near(path, *trace));
    }
    uint64_t start_ns = 0;
    ntk_vec_each(struct ntk_system_trace *, trace, traces) {
        if (start_ns == 0 && is_of(*trace, pid) && (!has_near || is_near(path, *trace))) {
            uint32_t first = (*trace)->info->first_core;

            at->nc = core >= first ? core - first : UINT32_MAX;
            start_ns = start_of_execution(*trace, execution);
        }
    }
    at->start_ns = at->start_ns ? at->start_ns : start_ns;
}

struct ntk_capture_located ntk_capture_locate(const char *path,
                                              const struct ntk_system_trace *trace,
                                              const struct ntk_system_tables *tables,
                                              const struct ntk_vec *traces)
{
    struct ntk_capture_located at = { .nc = ntk_session_core_of(path) };
    struct ntk_ntff *ntff = NULL;

    if (ntk_ntff_open(path, &ntff, NULL) == 0) {
        at.start_ns = ntk_capture_place(trace, tables, ntff, at.nc, NULL);
        ntk_ntff_close(ntff);
    }
    locate_triggered(path, traces, &at);
    return at;
}
