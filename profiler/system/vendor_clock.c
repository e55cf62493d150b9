/* SPDX-License-Identifier: MIT */
/*
 * vendor_clock - finds the physical core of each sync point in the vendor's trace, and the
 * deviation of a core's points from a line.
 *
 * Points have an execution and no core: the first point of an execution belongs to the physical
 * core of its first run, and so on.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/vendor_session.h"
#include "profiler/trace/sorter.h"
#include "shared/base/bisect.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

#define CORES_MAX 64U       /* maximum per execution; points of later cores have no core */
#define POINTS_MIN 3U       /* minimum, because two points are always on a line */
#define SLOPE_MAX_OFF 0.001 /* maximum drift; a larger drift means another clock */
#define NOTES_MAX 16U
#define PASS_POINTS 1024U
#define SYNCS_MAX 1000000U
#define HEAP_BYTES ((size_t)8 << 20) /* memory per list; longer lists are stored in a file */

/* A point of an execution, as an item of a sorter. */
struct point {
    int64_t nc;
    uint64_t exec_id, tracking_id, span;
};

/* A sync point, as an item of a sorter. */
struct meeting {
    int64_t core; /* logical and physical core, from core_of() */
    uint64_t host_ns, device_ns, unused;
};

static int64_t core_of(const struct ntk_system_span *span)
{
    return (int64_t)((uint64_t)span->nc << 32 | span->device_core);
}

NTK_ORDER(by_execution, struct point, NTK_UP(exec_id) NTK_UP(tracking_id));

NTK_ORDER(by_host, struct meeting, NTK_UP(host_ns));

static bool is_sync(const struct ntk_system_span *span)
{
    return strcmp(span->type, "timestamp_sync_point") == 0;
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

static int points_find(const struct ntk_system_trace *trace, struct ntk_sorter *points)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        if (ntk_system_span_has_exec(span) &&
            (is_sync(span) || strcmp(span->type, "nc_exec_running") == 0)) {
            struct point *point = ntk_sorter_add(points);

            if (!point) {
                return points->failed;
            }
            *point = (struct point){ span->nc, span->exec_id, span->tracking_id, i };
        }
        ntk_system_trace_passed(trace, i);
    }
    return 0;
}

/* Assigns cores for one execution, by tracking id: if there are as many points as runs, they match
 * one by one; otherwise points match the cores in the order of their starts. */
static void cores_assign(struct ntk_system_trace *trace, const struct point *points, size_t count)
{
    uint32_t cores[CORES_MAX];
    size_t core_count = 0;
    size_t sync_count = 0;
    size_t run = 0; /* next run for a point */

    for (size_t i = 0; i < count; i++) {
        const struct ntk_system_span *span = &trace->spans[points[i].span];
        bool is_new = !is_sync(span) && core_count < CORES_MAX;

        for (size_t c = 0; c < core_count && is_new; c++) {
            is_new = cores[c] != span->device_core;
        }
        if (is_new) {
            cores[core_count++] = span->device_core;
        }
        sync_count += is_sync(span);
    }
    bool is_one_each = 2 * sync_count == count;
    sync_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct ntk_system_span *span = &trace->spans[points[i].span];
        uint32_t core;

        if (!is_sync(span)) {
            continue;
        }
        while (is_one_each && is_sync(&trace->spans[points[run].span])) {
            run++;
        }
        core = is_one_each               ? trace->spans[points[run++].span].device_core
               : sync_count < core_count ? cores[sync_count]
                                         : NTK_SYSTEM_NO_CORE;
        span->device_core = span->device_core == NTK_SYSTEM_NO_CORE ? core : span->device_core;
        sync_count++;
    }
}

/* Returns the largest distance from the least-squares line, in ns; negative if unknown. */
static double residual_of(const struct meeting *points, size_t count)
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

/* Keeps as many sync points in the trace as the heap should hold. Returns 0 or -ENOMEM. */
static int syncs_keep(struct ntk_system_trace *trace, const struct ntk_sorted *meetings)
{
    const struct meeting *all = meetings->items;
    size_t count = meetings->count < SYNCS_MAX ? meetings->count : SYNCS_MAX;

    uint32_t life = 0;

    ntk_vec_init(&trace->sync_points, sizeof(struct ntk_system_sync));
    for (size_t i = 0; i < count; i++) {
        bool is_next = i > 0 && all[i].core == all[i - 1].core;

        life = is_next ? life + (all[i].device_ns < all[i - 1].device_ns) : 0;
        const struct ntk_system_sync sync = { (uint32_t)((uint64_t)all[i].core >> 32),
                                              (uint32_t)((uint64_t)all[i].core & UINT32_MAX), life,
                                              all[i].device_ns, all[i].host_ns };
        if (ntk_vec_push(&trace->sync_points, &sync) < 0) {
            return -ENOMEM;
        }
    }
    if (count < meetings->count) {
        ntk_vendor_session_note(
            trace, "Clock",
            "%zu of %zu clock synchronisation points are not used to place captures",
            meetings->count - count, meetings->count);
    }
    return 0;
}

static int sync_compare(const struct ntk_system_sync *sync, int64_t core, uint64_t host_ns)
{
    int64_t of = (int64_t)((uint64_t)sync->nc << 32 | sync->core);

    if (of != core) {
        return of < core ? -1 : 1;
    }
    return sync->host_ns < host_ns ? -1 : sync->host_ns > host_ns;
}

/* Returns the number of points of earlier cores, or not later on this core. */
static size_t syncs_until(const struct ntk_vec *points, uint32_t nc, uint32_t core,
                          uint64_t host_ns)
{
    int64_t key = (int64_t)((uint64_t)nc << 32 | core);
    size_t low = 0;

    NTK_BISECT(low, points->count, i, sync_compare(ntk_vec_at(points, i), key, host_ns) <= 0);
    return low;
}

static const struct ntk_system_sync *sync_at(const struct ntk_vec *points, size_t index,
                                             uint32_t nc, uint32_t core)
{
    const struct ntk_system_sync *sync = index < points->count ? ntk_vec_at(points, index) : NULL;

    return sync && sync->nc == nc && sync->core == core ? sync : NULL;
}

const struct ntk_system_sync *ntk_system_sync_find(const struct ntk_system_trace *trace,
                                                   uint32_t nc, uint32_t core, uint64_t host_ns)
{
    const struct ntk_vec *points = &trace->sync_points;
    size_t until = syncs_until(points, nc, core, host_ns);
    const struct ntk_system_sync *before = until > 0 ? sync_at(points, until - 1, nc, core) : NULL;
    const struct ntk_system_sync *found = before ? before : sync_at(points, until, nc, core);

    if (!found) { /* the first core of nc with points; no point is at 0 */
        size_t first = syncs_until(points, nc, 0, 0);
        const struct ntk_system_sync *other =
            first < points->count ? ntk_vec_at(points, first) : NULL;

        found =
            other && other->nc == nc ? ntk_system_sync_find(trace, nc, other->core, host_ns) : NULL;
    }
    return found;
}

static void residuals_note(struct ntk_system_trace *trace, const struct ntk_sorted *meetings)
{
    const struct meeting *all = meetings->items;
    size_t count = meetings->count;
    size_t noted = 0;

    for (size_t first = 0, end = 0; first < count && noted < NOTES_MAX; first = end) {
        while (end < count && all[end].core == all[first].core &&
               (end == first || all[end].device_ns >= all[end - 1].device_ns)) {
            end++;
        }
        double off = end - first >= POINTS_MIN ? residual_of(&all[first], end - first) : -1;
        if (off >= 0) {
            uint32_t physical = (uint32_t)((uint64_t)all[first].core & UINT32_MAX);
            char text[40] = "";

            if (physical != NTK_SYSTEM_NO_CORE) {
                (void)snprintf(text, sizeof text, " (physical core %u)", physical);
            }
            ntk_vendor_session_note(
                trace, "Clock",
                "core %u%s: %zu synchronisation points of its clock and the host's clock are up to "
                "%.1f us off a straight line: the order of events closer together is unknown",
                (uint32_t)((uint64_t)all[first].core >> 32), text, end - first, off / 1000);
            noted++;
        }
    }
}

/* Finds sync points, if all have a core. */
static int meetings_find(const struct ntk_system_trace *trace, const struct ntk_sorted *points,
                         struct ntk_sorter *meetings)
{
    const struct point *all = points->items;

    for (size_t i = 0; i < points->count; i++) {
        const struct ntk_system_span *span = &trace->spans[all[i].span];
        uint64_t host_ns =
            is_sync(span) && ntk_system_span_has_clock(span) ? host_of(trace, span) : 0;
        struct meeting *meeting = host_ns ? ntk_sorter_add(meetings) : NULL;

        if (host_ns && !meeting) {
            return meetings->failed;
        }
        if (meeting) {
            *meeting = (struct meeting){ core_of(span), host_ns, span->device_start_ns, 0 };
        }
        if (i % PASS_POINTS == PASS_POINTS - 1) { /* points are far apart in the trace */
            ntk_system_trace_give_back(trace);
        }
    }
    return 0;
}

static void executions_assign(struct ntk_system_trace *trace, const struct ntk_sorted *points)
{
    const struct point *all = points->items;
    size_t groups = 0;

    for (size_t first = 0, end = 0; first < points->count; first = end) {
        while (end < points->count && all[end].nc == all[first].nc &&
               all[end].exec_id == all[first].exec_id) {
            end++;
        }
        cores_assign(trace, &all[first], end - first);
        if (++groups % PASS_POINTS == 0) {
            ntk_system_trace_give_back(trace);
        }
    }
}

int ntk_vendor_session_clocks(struct ntk_system_trace *trace)
{
    const char *folder = ntk_fs_temporary_folder();
    struct ntk_sorted points = { 0 };
    struct ntk_sorted meetings = { 0 };
    struct ntk_sorter sorter;

    ntk_sorter_init(&sorter, sizeof(struct point), by_execution, HEAP_BYTES, folder);
    int ret = points_find(trace, &sorter);
    ret = ret < 0 ? ret : ntk_sorter_finish(&sorter, HEAP_BYTES, &points, NULL);
    ntk_sorter_fini(&sorter);
    if (ret == 0) {
        executions_assign(trace, &points);
        ntk_sorter_init(&sorter, sizeof(struct meeting), by_host, HEAP_BYTES, folder);
        ret = meetings_find(trace, &points, &sorter);
        ret = ret < 0 ? ret : ntk_sorter_finish(&sorter, HEAP_BYTES, &meetings, NULL);
        ntk_sorter_fini(&sorter);
    }
    ret = ret < 0 ? ret : syncs_keep(trace, &meetings);
    if (ret == 0) {
        residuals_note(trace, &meetings);
    }
    ntk_sorted_fini(&points, sizeof(struct point));
    ntk_sorted_fini(&meetings, sizeof(struct meeting));
    return ret;
}
