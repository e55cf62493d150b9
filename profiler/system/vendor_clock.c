/* SPDX-License-Identifier: MIT */
/*
 * vendor_clock - which physical core a sync point of the vendor's trace is of, and how well the
 * points of a core lie on one line.
 *
 * Points name an execution and no core: the first of an execution is of the physical core that its
 * first run names, and so on.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/vendor_session.h"

#define CORES_MAX 64U       /* of one execution; later ones stay without */
#define POINTS_MIN 3U       /* two are always on a line */
#define SLOPE_MAX_OFF 0.001 /* a clock that is further off counts something else */
#define NOTES_MAX 16U
#define PASS_POINTS 1024U

struct point {
    uint64_t exec_id, tracking_id;
    size_t span;
    uint32_t nc, core;
    bool is_sync;
    uint64_t host_ns, device_ns; /* of a sync point */
};

static int by_execution(const void *a, const void *b)
{
    const struct point *x = a;
    const struct point *y = b;

    if (x->nc != y->nc) {
        return x->nc < y->nc ? -1 : 1;
    }
    if (x->exec_id != y->exec_id) {
        return x->exec_id < y->exec_id ? -1 : 1;
    }
    return x->tracking_id < y->tracking_id ? -1 : x->tracking_id > y->tracking_id;
}

static int by_core(const void *a, const void *b)
{
    const struct point *x = a;
    const struct point *y = b;

    if (x->nc != y->nc) {
        return x->nc < y->nc ? -1 : 1;
    }
    if (x->core != y->core) {
        return x->core < y->core ? -1 : 1;
    }
    return x->host_ns < y->host_ns ? -1 : x->host_ns > y->host_ns;
}

static uint64_t host_of(const struct ntk_system_trace *trace, const struct ntk_system_span *span)
{
    static const char key[] = "cpu_timestamp_ns";
    struct ntk_system_extra extra = { 0 };

    while (ntk_system_extra_next(trace, span, &extra)) {
        if (extra.key_bytes == sizeof key - 1 && memcmp(extra.key, key, sizeof key - 1) == 0) {
            char text[24] = "";

            memcpy(text, extra.value,
                   extra.value_bytes < sizeof text ? extra.value_bytes : sizeof text - 1);
            return strtoull(text, NULL, 10);
        }
    }
    return 0;
}

static int points_find(const struct ntk_system_trace *trace, struct ntk_vec *points)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        bool is_sync = strcmp(span->type, "timestamp_sync_point") == 0;

        ntk_system_trace_passed(trace, i);
        if (!ntk_system_span_has_exec(span) ||
            (!is_sync && strcmp(span->type, "nc_exec_running") != 0)) {
            continue;
        }
        struct point point = { .exec_id = span->exec_id,
                               .tracking_id = span->tracking_id,
                               .span = i,
                               .nc = span->nc,
                               .core = span->device_core,
                               .is_sync = is_sync,
                               .host_ns = is_sync ? host_of(trace, span) : 0,
                               .device_ns = span->device_start_ns };
        if (ntk_vec_push(points, &point) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* Of one execution, by tracking id. */
static void cores_assign(struct ntk_system_trace *trace, struct point *points, size_t count)
{
    uint32_t cores[CORES_MAX];
    size_t core_count = 0;
    size_t sync_count = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_new = !points[i].is_sync && core_count < CORES_MAX;

        for (size_t c = 0; c < core_count && is_new; c++) {
            is_new = cores[c] != points[i].core;
        }
        if (is_new) {
            cores[core_count++] = points[i].core;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (points[i].is_sync && points[i].core == NTK_SYSTEM_NO_CORE) {
            if (sync_count < core_count) {
                points[i].core = cores[sync_count];
                trace->spans[points[i].span].device_core = cores[sync_count];
            }
            sync_count++;
        }
    }
}

/* The largest distance from the least-squares line, in ns; a negative number: not to be told. */
static double residual_of(const struct point *points, size_t count)
{
    double n = 0;
    double sum_x = 0;
    double sum_y = 0;
    double sum_xx = 0;
    double sum_xy = 0;
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        double x = (double)(points[i].device_ns - points[0].device_ns);
        double y = (double)(points[i].host_ns - points[0].host_ns) - x;

        n++;
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
    }
    double spread = n * sum_xx - sum_x * sum_x;
    double slope = spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : INFINITY;
    if (!(fabs(slope) < SLOPE_MAX_OFF)) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        double x = (double)(points[i].device_ns - points[0].device_ns);
        double y = (double)(points[i].host_ns - points[0].host_ns) - x;
        double off = fabs(y - (sum_y - slope * sum_x) / n - slope * x);

        most = off > most ? off : most;
    }
    return most;
}

/* Sync points alone are left, and kept with the trace. 0 or -ENOMEM. */
static int syncs_keep(struct ntk_system_trace *trace, struct ntk_vec *points)
{
    struct point *all = points->items;
    size_t count = 0;

    for (size_t i = 0; i < points->count; i++) {
        if (all[i].is_sync && all[i].host_ns && all[i].device_ns) {
            all[count++] = all[i];
        }
    }
    points->count = count;
    ntk_vec_sort(points, by_core);
    ntk_vec_init(&trace->sync_points, sizeof(struct ntk_system_sync));
    ntk_vec_each(const struct point, point, points) {
        const struct ntk_system_sync sync = { point->nc, point->core, point->device_ns,
                                              point->host_ns };
        if (ntk_vec_push(&trace->sync_points, &sync) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

static void residuals_note(struct ntk_system_trace *trace, const struct ntk_vec *points)
{
    const struct point *all = points->items;
    size_t count = points->count;
    size_t noted = 0;

    for (size_t first = 0, end = 0; first < count && noted < NOTES_MAX; first = end) {
        while (end < count && all[end].nc == all[first].nc && all[end].core == all[first].core &&
               all[end].device_ns >= all[first].device_ns) {
            end++;
        }
        end = end > first ? end : first + 1;
        double off = end - first >= POINTS_MIN ? residual_of(&all[first], end - first) : -1;
        if (off >= 0) {
            char physical[40] = "";

            if (all[first].core != NTK_SYSTEM_NO_CORE) {
                (void)snprintf(physical, sizeof physical, " (physical core %u)", all[first].core);
            }
            ntk_vendor_session_note(trace, "Clock",
                                    "core %u%s: its clock and the host's meet at %zu points, up to "
                                    "%.1f us off one line: events of both that are closer have "
                                    "no order",
                                    all[first].nc, physical, end - first, off / 1000);
            noted++;
        }
    }
}

int ntk_vendor_session_clocks(struct ntk_system_trace *trace)
{
    struct ntk_vec points = NTK_VEC_INIT(struct point);
    int ret = points_find(trace, &points);
    struct point *all = points.items;
    size_t groups = 0;

    if (ret == 0) {
        ntk_vec_sort(&points, by_execution);
        for (size_t first = 0, end = 0; first < points.count; first = end) {
            while (end < points.count && all[end].nc == all[first].nc &&
                   all[end].exec_id == all[first].exec_id) {
                end++;
            }
            cores_assign(trace, &all[first], end - first);
            if (++groups % PASS_POINTS == 0) {
                ntk_system_trace_give_back(trace);
            }
        }
        ret = syncs_keep(trace, &points);
    }
    if (ret == 0) {
        residuals_note(trace, &points);
    }
    ntk_vec_fini(&points);
    return ret;
}
