/* SPDX-License-Identifier: MIT */
/*
 * attribute - finds the thread and the activity that caused each part of each gap.
 *
 * The rule (docs/idle.md): a gap belongs to the thread that submits the next execution. While that
 * thread waits for another thread of the job, the time belongs to the thread that woke it, and so
 * on. A wait for a lock ends the chain and names the lock and its holder. A wait inside a
 * collective operation also ends the chain, because it depends on other ranks.
 */
#include "shared/hostwork/hostwork.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bisect.h"
#include "shared/base/order.h"
#include "shared/hostwork/attribute_rows.h"
#include "shared/hostwork/syscalls.h"

/* Limit on pieces; later parts of gaps become a single UNKNOWN piece each. */
#define PIECES_MAX (1u << 21)

struct walk {
    struct ntk_host_records *records;
    struct ntk_host_rows *rows;
    struct ntk_vec *pieces;
    struct ntk_map by_tid; /* struct thread_work */
    struct thread_work *works;
    uint32_t gap;
    uint32_t chain[NTK_HOST_CHAIN_MAX];
    int failed;
};

struct thread_work {
    const struct ntk_host_thread *thread;
    const struct ntk_host_slice *slices;
    size_t slice_count;
    const struct ntk_host_sample *samples;
    size_t sample_count;
    const struct ntk_host_collective *collectives;
    size_t collective_count;
};

/* ---- order ---- */

NTK_ORDER(compare_gaps, struct ntk_host_gap, NTK_UP(core) NTK_UP(start_ns));

NTK_ORDER(compare_slices, struct ntk_host_slice, NTK_UP(tid) NTK_UP(start_ns));

NTK_ORDER(compare_samples, struct ntk_host_sample, NTK_UP(tid) NTK_UP(time_ns));

NTK_ORDER(compare_collectives, struct ntk_host_collective, NTK_UP(tid) NTK_UP(start_ns));

/* Makes slices of one thread disjoint, in case the sampler recorded an overlap: the later slice
 * then begins later. */
static void separate_slices(struct ntk_vec *slices)
{
    struct ntk_host_slice *all = slices->items;
    size_t kept = 0;

    for (size_t i = 0; i < slices->count; i++) {
        struct ntk_host_slice slice = all[i];
        const struct ntk_host_slice *before = kept > 0 ? &all[kept - 1] : NULL;

        if (before && before->tid == slice.tid && slice.start_ns < before->end_ns) {
            slice.start_ns = before->end_ns;
        }
        if (slice.end_ns > slice.start_ns) {
            all[kept++] = slice;
        }
    }
    slices->count = kept;
}

static struct thread_work *work_of(const struct walk *walk, uint32_t tid)
{
    return tid ? ntk_map_get_number(&walk->by_tid, tid) : NULL;
}

static int index_threads(struct walk *walk)
{
    struct ntk_host_records *records = walk->records;

    walk->works = calloc(records->threads.count + 1, sizeof *walk->works);
    if (!walk->works) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < records->threads.count; i++) {
        const struct ntk_host_thread *thread = ntk_vec_at(&records->threads, i);

        walk->works[i].thread = thread;
        if (ntk_map_put_number(&walk->by_tid, thread->tid, &walk->works[i]) < 0) {
            return -ENOMEM;
        }
    }
    ntk_vec_each(const struct ntk_host_slice, slice, &records->slices) {
        struct thread_work *work = work_of(walk, slice->tid);
        if (work) {
            work->slices = work->slice_count++ == 0 ? slice : work->slices;
        }
    }
    ntk_vec_each(const struct ntk_host_sample, sample, &records->samples) {
        struct thread_work *work = work_of(walk, sample->tid);
        if (work) {
            work->samples = work->sample_count++ == 0 ? sample : work->samples;
        }
    }
    ntk_vec_each(const struct ntk_host_collective, collective, &records->collectives) {
        struct thread_work *work = work_of(walk, collective->tid);
        if (work) {
            work->collectives = work->collective_count++ == 0 ? collective : work->collectives;
        }
    }
    return 0;
}

/* Finds the first slice that ends after the time. */
static size_t first_slice(const struct thread_work *work, uint64_t time_ns)
{
    size_t low = 0;

    NTK_BISECT(low, work->slice_count, i, work->slices[i].end_ns <= time_ns);
    return low;
}

static size_t first_sample(const struct thread_work *work, uint64_t time_ns)
{
    size_t low = 0;

    NTK_BISECT(low, work->sample_count, i, work->samples[i].time_ns < time_ns);
    return low;
}

/* ---- pieces ---- */

static void put(struct walk *walk, const struct ntk_host_piece *piece)
{
    if (piece->end_ns <= piece->start_ns || walk->failed) {
        return;
    }
    if (walk->pieces->count < PIECES_MAX && ntk_vec_push(walk->pieces, piece) < 0) {
        walk->failed = -ENOMEM;
        return;
    }
    walk->failed = ntk_host_rows_add(walk->rows, piece);
}

static void put_cause(struct walk *walk, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
                      enum ntk_host_cause cause, size_t depth)
{
    put(walk, &(struct ntk_host_piece){ .start_ns = start_ns,
                                        .end_ns = end_ns,
                                        .gap = walk->gap,
                                        .tid = tid,
                                        .syscall = -1,
                                        .cause = (uint8_t)cause,
                                        .chain = (uint8_t)depth });
}

/* Adds pieces for a thread on a CPU; samples in this time give the place. */
static void put_running(struct walk *walk, const struct thread_work *work, uint64_t start_ns,
                        uint64_t end_ns, size_t depth)
{
    const struct ntk_host_thread *thread = work->thread;
    uint64_t from_ns = start_ns > thread->first_ns ? start_ns : thread->first_ns;
    uint64_t to_ns = end_ns < thread->last_ns ? end_ns : thread->last_ns;

    if (from_ns >= to_ns) {
        put_cause(walk, thread->tid, start_ns, end_ns, NTK_HOST_UNKNOWN, depth);
        return;
    }
    put_cause(walk, thread->tid, start_ns, from_ns, NTK_HOST_UNKNOWN, depth);
    struct ntk_host_piece piece = { .start_ns = from_ns,
                                    .end_ns = to_ns,
                                    .gap = walk->gap,
                                    .tid = thread->tid,
                                    .syscall = -1,
                                    .cause = NTK_HOST_RUNNING,
                                    .chain = (uint8_t)depth };
    for (size_t i = first_sample(work, from_ns);
         i < work->sample_count && work->samples[i].time_ns < to_ns && !walk->failed; i++) {
        piece.stack = piece.stack ? piece.stack : work->samples[i].stack;
        walk->failed = ntk_host_rows_hit(walk->rows, &work->samples[i], walk->gap);
    }
    put(walk, &piece);
    put_cause(walk, thread->tid, to_ns, end_ns, NTK_HOST_UNKNOWN, depth);
}

enum ntk_host_cause ntk_host_slice_cause(const struct ntk_host_slice *slice)
{
    switch ((enum ntk_host_slice_kind)slice->kind) {
    case NTK_HOST_PREEMPTED:
        return NTK_HOST_CPU_WAIT;
    case NTK_HOST_QUOTA:
        return NTK_HOST_THROTTLED;
    case NTK_HOST_FAULTING:
        return NTK_HOST_PAGE_FAULT;
    case NTK_HOST_HALTED:
        return NTK_HOST_STOPPED;
    case NTK_HOST_BLOCKED:
        break;
    }
    if (slice->is_gil) {
        return NTK_HOST_GIL;
    }
    return slice->syscall < 0 ? NTK_HOST_OTHER
                              : ntk_host_syscall_cause(slice->syscall, slice->argument);
}

/* Returns true if another thread of the job may end the wait; that thread's work is then the
 * cause. */
static bool may_pass_on(enum ntk_host_cause cause)
{
    return cause == NTK_HOST_WAIT || cause == NTK_HOST_POLL || cause == NTK_HOST_READ ||
           cause == NTK_HOST_WRITE || cause == NTK_HOST_NETWORK || cause == NTK_HOST_CHILD;
}

/* ---- collective operations ---- */

static bool is_in_runtime(const struct ntk_host_stacks *stacks, uint32_t stack)
{
    static const char runtime[] = "libnrt.so";
    const struct ntk_host_frame *frame;

    for (; (frame = ntk_host_stacks_at(stacks, stack)); stack = frame->parent) {
        if (strncmp(frame->module, runtime, sizeof runtime - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns true if the thread may be waiting for other ranks. During an asynchronous operation it
 * may do something else; then only its stack proves that it waits. */
static bool may_be_collective(const struct walk *walk, const struct ntk_host_slice *slice,
                              const struct ntk_host_collective *collective)
{
    enum ntk_host_cause cause = ntk_host_slice_cause(slice);

    return slice->kind == NTK_HOST_BLOCKED &&
           (may_pass_on(cause) || cause == NTK_HOST_SLEEP || cause == NTK_HOST_DEVICE ||
            cause == NTK_HOST_OTHER) &&
           (!collective->is_asynchronous || is_in_runtime(&walk->records->stacks, slice->stack));
}

/* The first operation of the slice's thread that ends after the time, if the slice is a wait in
 * it. */
static const struct ntk_host_collective *
collective_at(const struct walk *walk, const struct ntk_host_slice *slice, uint64_t time_ns)
{
    const struct thread_work *work = work_of(walk, slice->tid);
    size_t low = 0;

    NTK_BISECT(low, work->collective_count, i, work->collectives[i].end_ns <= time_ns);
    return low < work->collective_count && may_be_collective(walk, slice, &work->collectives[low])
               ? &work->collectives[low]
               : NULL;
}

/* ---- waits ---- */

static bool is_in_chain(const struct walk *walk, size_t depth, uint32_t tid)
{
    for (size_t i = 0; i < depth; i++) {
        if (walk->chain[i] == tid) {
            return true;
        }
    }
    return false;
}

static void blame(struct walk *walk, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
                  size_t depth); // NOLINT(misc-no-recursion): at most NTK_HOST_CHAIN_MAX deep

/* Adds a part of the slice that has one cause. */
static void put_wait(struct walk *walk, const struct ntk_host_slice *slice, uint64_t start_ns,
                     uint64_t end_ns, enum ntk_host_cause cause,
                     size_t depth) // NOLINT(misc-no-recursion)
{
    if (may_pass_on(cause) && depth + 1 < NTK_HOST_CHAIN_MAX && work_of(walk, slice->waker) &&
        slice->waker != slice->tid && !is_in_chain(walk, depth, slice->waker)) {
        walk->chain[depth] = slice->tid;
        blame(walk, slice->waker, start_ns, end_ns, depth + 1);
        return;
    }
    /* otherwise the wait only happened at that place */
    bool is_in_call = slice->kind == NTK_HOST_BLOCKED;
    put(walk, &(struct ntk_host_piece){
                  .start_ns = start_ns,
                  .end_ns = end_ns,
                  .gap = walk->gap,
                  .tid = slice->tid,
                  .holder = cause == NTK_HOST_LOCK || cause == NTK_HOST_GIL ? slice->waker : 0,
                  .stack = slice->stack,
                  .object = is_in_call ? slice->object : NULL,
                  .syscall = is_in_call ? slice->syscall : -1,
                  .cause = (uint8_t)cause,
                  .chain = (uint8_t)depth });
}

/* Handles the part [start_ns, end_ns) of the slice, before the thread was ready again. */
static void put_blocked(struct walk *walk, const struct ntk_host_slice *slice, uint64_t start_ns,
                        uint64_t end_ns, size_t depth) // NOLINT(misc-no-recursion)
{
    enum ntk_host_cause cause = ntk_host_slice_cause(slice);

    while (start_ns < end_ns && !walk->failed) {
        const struct ntk_host_collective *in = collective_at(walk, slice, start_ns);
        uint64_t from_ns = in && in->start_ns < end_ns ? in->start_ns : end_ns;

        if (from_ns > start_ns) {
            put_wait(walk, slice, start_ns, from_ns, cause, depth);
            start_ns = from_ns;
        }
        uint64_t to_ns = in && in->end_ns < end_ns ? in->end_ns : end_ns;
        if (to_ns > start_ns) {
            put_wait(walk, slice, start_ns, to_ns, NTK_HOST_COLLECTIVE, depth);
            start_ns = to_ns;
        }
    }
}

static void blame(struct walk *walk, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
                  size_t depth) // NOLINT(misc-no-recursion)
{
    const struct thread_work *work = work_of(walk, tid);
    uint64_t at_ns = start_ns;

    if (!work) {
        put_cause(walk, tid, start_ns, end_ns, NTK_HOST_UNKNOWN, depth);
        return;
    }
    for (size_t i = first_slice(work, start_ns);
         i < work->slice_count && work->slices[i].start_ns < end_ns && !walk->failed; i++) {
        const struct ntk_host_slice *slice = &work->slices[i];
        uint64_t from_ns = slice->start_ns > at_ns ? slice->start_ns : at_ns;
        uint64_t to_ns = slice->end_ns < end_ns ? slice->end_ns : end_ns;
        uint64_t ready_ns =
            slice->ready_ns && slice->kind == NTK_HOST_BLOCKED ? slice->ready_ns : slice->end_ns;

        if (from_ns > at_ns) {
            put_running(walk, work, at_ns, from_ns, depth);
        }
        ready_ns = ready_ns < from_ns ? from_ns : ready_ns < to_ns ? ready_ns : to_ns;
        put_blocked(walk, slice, from_ns, ready_ns, depth);
        put_cause(walk, tid, ready_ns, to_ns,
                  slice->is_ready_quota ? NTK_HOST_THROTTLED : NTK_HOST_CPU_WAIT, depth);
        at_ns = to_ns;
    }
    if (at_ns < end_ns) {
        put_running(walk, work, at_ns, end_ns, depth);
    }
}

/* ---- all gaps ---- */

/* A gap before an execution without a known submitter gets the submitter of the previous gap on the
 * core. */
static void fill_submitters(struct ntk_vec *gaps)
{
    struct ntk_host_gap *all = gaps->items;

    for (size_t i = 1; i < gaps->count; i++) {
        if (all[i].tid == 0 && all[i - 1].core == all[i].core) {
            all[i].tid = all[i - 1].tid;
        }
    }
}

int ntk_host_attribute(struct ntk_host_records *records, uint32_t core_count,
                       struct ntk_host_result *out_result)
{
    struct ntk_host_rows rows;
    struct walk walk = { .records = records, .rows = &rows, .pieces = &out_result->pieces };

    memset(out_result, 0, sizeof *out_result);
    ntk_vec_init(&out_result->pieces, sizeof(struct ntk_host_piece));
    ntk_host_rows_init(&rows, records, out_result);
    ntk_vec_sort(&records->gaps, compare_gaps);
    ntk_vec_sort(&records->slices, compare_slices);
    ntk_vec_sort(&records->samples, compare_samples);
    ntk_vec_sort(&records->collectives, compare_collectives);
    separate_slices(&records->slices);
    fill_submitters(&records->gaps);
    walk.failed = index_threads(&walk);
    out_result->core_count = core_count;
    uint64_t known_ns = records->end_ns - records->start_ns;
    known_ns -= records->unknown_ns < known_ns ? records->unknown_ns : known_ns;
    out_result->held_ns = core_count * known_ns;
    for (size_t i = 0; i < records->gaps.count && !walk.failed; i++) {
        const struct ntk_host_gap *gap = ntk_vec_at(&records->gaps, i);

        if (gap->end_ns <= gap->start_ns) {
            continue;
        }
        uint64_t ns = gap->end_ns - gap->start_ns;
        out_result->idle_ns += ns;
        out_result->gap_count++;
        out_result->longest_ns = ns > out_result->longest_ns ? ns : out_result->longest_ns;
        walk.gap = (uint32_t)i;
        if (gap->is_unused) {
            put_cause(&walk, 0, gap->start_ns, gap->end_ns, NTK_HOST_UNUSED, 0);
        } else {
            blame(&walk, gap->tid, gap->start_ns, gap->end_ns, 0);
        }
    }
    int ret = walk.failed ? walk.failed : ntk_host_rows_finish(&rows);
    ntk_host_rows_fini(&rows);
    ntk_map_fini(&walk.by_tid);
    free(walk.works);
    if (ret < 0) {
        ntk_host_result_fini(out_result);
    }
    return ret;
}

void ntk_host_result_fini(struct ntk_host_result *result)
{
    ntk_vec_fini(&result->rows);
    ntk_vec_fini(&result->flames);
    ntk_vec_fini(&result->steps);
    ntk_vec_fini(&result->pieces);
    memset(result, 0, sizeof *result);
}

size_t ntk_host_result_order(const struct ntk_host_result *result,
                             enum ntk_host_cause out_causes[NTK_HOST_CAUSE_COUNT])
{
    size_t count = 0;

    for (int c = 0; c < NTK_HOST_CAUSE_COUNT; c++) {
        size_t at = count;

        if (result->causes[c].ns == 0) {
            continue;
        }
        for (; at > 0 && result->causes[out_causes[at - 1]].ns < result->causes[c].ns; at--) {
            out_causes[at] = out_causes[at - 1];
        }
        out_causes[at] = (enum ntk_host_cause)c;
        count++;
    }
    return count;
}
