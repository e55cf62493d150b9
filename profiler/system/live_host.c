/* SPDX-License-Identifier: MIT */
#include "profiler/system/live_host.h"

#include <errno.h>
#include <stdio.h>

#include "shared/base/bisect.h"
#include "shared/base/order.h"

#define TYPE_BYTES 32

struct writing {
    struct ntk_live_records *to;
    const struct ntk_live_host *host;
    uint64_t realtime_ns;   /* real time of the host's monotonic time 0 */
    uint8_t first_type;     /* type of cause 0; nc_idle follows the last cause */
    struct ntk_map threads; /* shown threads, by tid */
    struct ntk_vec gaps;    /* elements are struct ntk_host_gap: of any core, merged, by time */
};

static void put(struct writing *w, uint16_t core, size_t type, uint32_t tid, const char *name,
                uint64_t start_ns, uint64_t end_ns)
{
    if (end_ns > start_ns) {
        ntk_live_records_span(w->to, core, (uint8_t)(w->first_type + type), tid, name,
                              start_ns + w->realtime_ns, end_ns + w->realtime_ns);
    }
}

static void put_types(struct writing *w)
{
    static char texts[NTK_HOST_CAUSE_COUNT][TYPE_BYTES];
    static const char *types[NTK_HOST_CAUSE_COUNT + 1];

    for (int c = 0; c < NTK_HOST_CAUSE_COUNT; c++) {
        (void)snprintf(texts[c], sizeof texts[c], "thread_%s",
                       ntk_host_cause_name((enum ntk_host_cause)c));
        for (char *at = texts[c]; *at; at++) {
            *at = *at == '-' ? '_' : *at;
        }
        types[c] = texts[c];
    }
    types[NTK_HOST_CAUSE_COUNT] = "nc_idle";
    w->first_type = ntk_live_records_types(w->to, types, NTK_HOST_CAUSE_COUNT + 1);
}

/* ---- threads ---- */

static int show(struct writing *w, uint32_t tid)
{
    return tid == 0 ? 0 : ntk_map_put_number(&w->threads, tid, w);
}

static int choose_threads(struct writing *w)
{
    int ret = 0;

    ntk_vec_each(const struct ntk_host_piece, piece, &w->host->result->pieces) {
        ret = ret < 0 ? ret : show(w, piece->tid);
        ret = ret < 0 ? ret : show(w, piece->holder);
    }
    ntk_vec_each(const struct ntk_host_gap, gap, &w->host->records->gaps) {
        ret = ret < 0 ? ret : show(w, gap->tid);
    }
    return ret;
}

NTK_ORDER(compare_starts, struct ntk_host_gap, NTK_UP(start_ns));

/* Merges gaps: gaps of several cores at one time become one. */
static int merge_gaps(struct writing *w)
{
    size_t kept = 0;

    ntk_vec_each(const struct ntk_host_gap, gap, &w->host->records->gaps) {
        if (ntk_vec_push(&w->gaps, gap) < 0) {
            return -ENOMEM;
        }
    }
    ntk_vec_sort(&w->gaps, compare_starts);
    struct ntk_host_gap *all = w->gaps.items;
    for (size_t i = 0; i < w->gaps.count; i++) {
        if (kept > 0 && all[i].start_ns <= all[kept - 1].end_ns) {
            all[kept - 1].end_ns =
                all[i].end_ns > all[kept - 1].end_ns ? all[i].end_ns : all[kept - 1].end_ns;
        } else {
            all[kept++] = all[i];
        }
    }
    w->gaps.count = kept;
    return 0;
}

static const char *function_name(const struct writing *w, uint32_t stack, bool is_running)
{
    const struct ntk_host_frame *function =
        ntk_host_stacks_function(&w->host->records->stacks, stack, is_running);

    return function ? function->name : "";
}

/* Returns the first of the thread's samples at the time or later; NULL if none. */
static const struct ntk_host_sample *sample_at(const struct ntk_vec *samples, uint32_t tid,
                                               uint64_t time_ns)
{
    const struct ntk_host_sample *all = samples->items;
    size_t low = 0;

    NTK_BISECT(low, samples->count, i,
               all[i].tid < tid || (all[i].tid == tid && all[i].time_ns < time_ns));
    return low < samples->count && all[low].tid == tid ? &all[low] : NULL;
}

/* Writes spans for [start_ns, end_ns) within gaps, in which the thread has no slice. */
static void put_running(struct writing *w, const struct ntk_host_thread *thread, uint64_t start_ns,
                        uint64_t end_ns, size_t *gap_at)
{
    const struct ntk_host_gap *gaps = w->gaps.items;

    while (*gap_at < w->gaps.count && gaps[*gap_at].end_ns <= start_ns) {
        (*gap_at)++;
    }
    for (size_t g = *gap_at; g < w->gaps.count && gaps[g].start_ns < end_ns; g++) {
        uint64_t from_ns = gaps[g].start_ns > start_ns ? gaps[g].start_ns : start_ns;
        uint64_t to_ns = gaps[g].end_ns < end_ns ? gaps[g].end_ns : end_ns;
        const struct ntk_host_sample *seen =
            sample_at(&w->host->records->samples, thread->tid, from_ns);
        bool is_seen = seen && seen->time_ns < to_ns;

        put(w, NTK_NO_CORE, is_seen ? seen->cause : NTK_HOST_RUNNING, thread->tid,
            is_seen ? function_name(w, seen->stack, true) : "", from_ns, to_ns);
    }
}

static void put_slice(struct writing *w, const struct ntk_host_slice *slice)
{
    uint64_t ready_ns = slice->ready_ns > slice->start_ns && slice->ready_ns < slice->end_ns &&
                                slice->kind == NTK_HOST_BLOCKED
                            ? slice->ready_ns
                            : slice->end_ns;

    put(w, NTK_NO_CORE, ntk_host_slice_cause(slice), slice->tid,
        function_name(w, slice->stack, false), slice->start_ns, ready_ns);
    put(w, NTK_NO_CORE, slice->is_ready_quota ? NTK_HOST_THROTTLED : NTK_HOST_CPU_WAIT, slice->tid,
        "", ready_ns, slice->end_ns);
}

/* Writes a thread; slices are sorted by thread, then start. */
static void put_thread(struct writing *w, const struct ntk_host_thread *thread, size_t first)
{
    const struct ntk_host_slice *slices = w->host->records->slices.items;
    uint64_t at_ns = thread->first_ns;
    size_t gap_at = 0;

    for (size_t i = first;
         i < w->host->records->slices.count && slices[i].tid == thread->tid && !w->to->failed;
         i++) {
        if (slices[i].start_ns > at_ns) {
            put_running(w, thread, at_ns, slices[i].start_ns, &gap_at);
        }
        put_slice(w, &slices[i]);
        at_ns = slices[i].end_ns > at_ns ? slices[i].end_ns : at_ns;
    }
    if (thread->last_ns > at_ns) {
        put_running(w, thread, at_ns, thread->last_ns, &gap_at);
    }
}

static int put_threads(struct writing *w)
{
    const struct ntk_vec *slices = &w->host->records->slices;
    struct ntk_map firsts = { 0 }; /* maps a thread to 1 + index of its first slice */
    int ret = 0;

    for (size_t i = slices->count; i-- > 0 && ret == 0;) {
        const struct ntk_host_slice *slice = ntk_vec_at(slices, i);
        ret = ntk_map_get_number(&w->threads, slice->tid)
                  ? ntk_map_put_number(&firsts, slice->tid, (void *)(uintptr_t)(i + 1))
                  : 0;
    }
    ntk_vec_each(const struct ntk_host_thread, thread, &w->host->records->threads) {
        size_t first = (uintptr_t)ntk_map_get_number(&firsts, thread->tid);
        if (ret == 0 && ntk_map_get_number(&w->threads, thread->tid)) {
            put_thread(w, thread, first > 0 ? first - 1 : slices->count);
        }
    }
    ntk_map_fini(&firsts);
    return ret;
}

/* ---- cores ---- */

/* Returns the cause with the most time in the gap; pieces are sorted by gap. */
static const char *main_cause(const struct ntk_vec *pieces, size_t gap, size_t *at)
{
    uint64_t ns[NTK_HOST_CAUSE_COUNT] = { 0 };
    enum ntk_host_cause best = NTK_HOST_UNKNOWN;
    const struct ntk_host_piece *all = pieces->items;

    while (*at < pieces->count && all[*at].gap < gap) {
        (*at)++;
    }
    for (; *at < pieces->count && all[*at].gap == gap; (*at)++) {
        ns[all[*at].cause] += all[*at].end_ns - all[*at].start_ns;
        best = ns[all[*at].cause] > ns[best] ? (enum ntk_host_cause)all[*at].cause : best;
    }
    return ntk_host_cause_name(best);
}

/* Writes the gaps of the first physical core of each logical core, because its cores are idle
 * together. */
static void put_gaps(struct writing *w)
{
    const struct ntk_vec *gaps = &w->host->records->gaps;
    uint32_t first[NTK_SEGMENT_CORES] = { 0 }; /* by logical core: 1 + first physical core */
    size_t piece = 0;

    for (size_t i = 0; i < gaps->count && !w->to->failed; i++) {
        const struct ntk_host_gap *gap = ntk_vec_at(gaps, i);
        const char *cause = main_cause(&w->host->result->pieces, i, &piece);

        if (gap->core >= NTK_SEGMENT_CORES || w->to->logical[gap->core] >= NTK_SEGMENT_CORES) {
            continue;
        }
        uint32_t *of = &first[w->to->logical[gap->core]];
        *of = *of == 0 ? gap->core + 1 : *of;
        if (*of == gap->core + 1) {
            put(w, (uint16_t)gap->core, NTK_HOST_CAUSE_COUNT, 0, cause, gap->start_ns, gap->end_ns);
        }
    }
}

void ntk_live_host_write(struct ntk_live_records *to, const struct ntk_live_host *host)
{
    struct writing w = { .to = to, .host = host, .gaps = NTK_VEC_INIT(struct ntk_host_gap) };

    w.realtime_ns = ntk_ring_segment_realtime_ns(to->segment, 0) -
                    ntk_ring_segment_monotonic_ns(to->segment, 0);
    put_types(&w);
    if (choose_threads(&w) < 0 || merge_gaps(&w) < 0 || put_threads(&w) < 0) {
        to->failed = -ENOMEM;
    } else {
        put_gaps(&w);
    }
    ntk_map_fini(&w.threads);
    ntk_vec_fini(&w.gaps);
}
