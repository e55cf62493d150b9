/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/python_join.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "shared/base/bisect.h"
#include "shared/base/clock.h"
#include "shared/base/order.h"

#define NEAR_NS (30 * NTK_NS_PER_MS) /* maximum distance to a sample of a running thread */
#define DEPTH_JOINED 64u

NTK_ORDER(compare_samples, struct ntk_host_python_sample, NTK_UP(tid) NTK_UP(time_ns));

NTK_ORDER(compare_times, struct ntk_host_python_sample, NTK_UP(time_ns));

/* The thread's first sample at or after the time; NULL if there is none. */
static const struct ntk_host_python_sample *sample_after(const struct ntk_vec *samples,
                                                         uint32_t tid, uint64_t time_ns)
{
    struct ntk_host_python_sample key = { .tid = tid, .time_ns = time_ns };
    size_t low = 0;

    NTK_BISECT(low, samples->count, i, compare_samples(ntk_vec_at(samples, i), &key) < 0);
    const struct ntk_host_python_sample *sample =
        low < samples->count ? ntk_vec_at(samples, low) : NULL;
    return sample && sample->tid == tid ? sample : NULL;
}

/* The nearest sample, at most near_ns away. */
static const struct ntk_host_python_sample *sample_near(const struct ntk_vec *samples, uint32_t tid,
                                                        uint64_t time_ns, uint64_t near_ns)
{
    const struct ntk_host_python_sample *best = NULL;
    uint64_t best_ns = near_ns + 1;
    const struct ntk_host_python_sample *at =
        sample_after(samples, tid, time_ns > near_ns ? time_ns - near_ns : 0);
    const struct ntk_host_python_sample *end =
        (const struct ntk_host_python_sample *)samples->items + samples->count;

    for (; at && at < end && at->tid == tid && at->time_ns <= time_ns + near_ns; at++) {
        uint64_t ns = at->time_ns > time_ns ? at->time_ns - time_ns : time_ns - at->time_ns;
        if (ns < best_ns) {
            best = at;
            best_ns = ns;
        }
    }
    return best;
}

/* Joins the Python frames with the native frames that the interpreter called. */
static uint32_t join(struct ntk_host_stacks *stacks, const struct ntk_host_python *python,
                     uint32_t python_stack, uint32_t native)
{
    struct ntk_host_frame inner[DEPTH_JOINED];
    size_t count = 0;

    for (const struct ntk_host_frame *frame = ntk_host_stacks_at(stacks, native);
         frame && count < DEPTH_JOINED && strcmp(frame->module, python->module) != 0;
         frame = ntk_host_stacks_at(stacks, frame->parent)) {
        if (frame->language == NTK_HOST_PYTHON) {
            return native; /* the map file already names the Python functions */
        }
        inner[count++] = *frame;
    }
    while (count-- > 0) {
        python_stack = ntk_host_stacks_push(stacks, python_stack, inner[count].name,
                                            inner[count].module, 0, inner[count].language);
    }
    return python_stack;
}

/* The last thread that held the lock in that time, according to the samples. */
static uint32_t holder_in(const struct ntk_host_pythons *pythons, uint32_t pid, uint32_t but,
                          uint64_t start_ns, uint64_t end_ns)
{
    struct ntk_host_python_sample key = { .time_ns = start_ns };
    size_t low = 0;

    NTK_BISECT(low, pythons->holders.count, i,
               compare_times(ntk_vec_at(&pythons->holders, i), &key) < 0);
    for (; low < pythons->holders.count; low++) {
        const struct ntk_host_python_sample *holder = ntk_vec_at(&pythons->holders, low);
        if (holder->time_ns > end_ns) {
            break;
        }
        if (holder->stack == pid && holder->tid != but) {
            return holder->tid;
        }
    }
    return 0;
}

static void join_slice(struct ntk_host_pythons *pythons, struct ntk_host_records *records,
                       struct ntk_host_slice *slice)
{
    const struct ntk_host_thread *thread = ntk_host_records_thread(records, slice->tid);
    const struct ntk_host_python *python =
        thread ? ntk_host_pythons_of(pythons, thread->pid) : NULL;

    if (!python) {
        return;
    }
    slice->is_gil = slice->kind == NTK_HOST_BLOCKED && slice->syscall == SYS_futex &&
                    slice->argument[0] >= python->gil_start && slice->argument[0] < python->gil_end;
    if (slice->is_gil && slice->waker == 0) {
        slice->waker = holder_in(pythons, python->pid, slice->tid, slice->start_ns, slice->end_ns);
    }
    const struct ntk_host_python_sample *sample =
        sample_after(&pythons->samples, slice->tid, slice->start_ns);
    if (sample && sample->time_ns < slice->end_ns && sample->stack != 0) {
        slice->stack = join(&records->stacks, python, sample->stack, slice->stack);
    }
}

void ntk_host_pythons_join(struct ntk_host_pythons *pythons, struct ntk_host_records *records)
{
    /* The BPF program reads the frames together with its own sample. */
    uint64_t near_ns = records->method == NTK_HOST_METHOD_BPF ? 0 : NEAR_NS;

    ntk_vec_sort(&pythons->samples, compare_samples);
    ntk_vec_sort(&pythons->holders, compare_times);
    ntk_vec_each(struct ntk_host_slice, slice, &records->slices) {
        join_slice(pythons, records, slice);
    }
    ntk_vec_each(struct ntk_host_sample, cpu, &records->samples) {
        const struct ntk_host_python_sample *sample =
            sample_near(&pythons->samples, cpu->tid, cpu->time_ns, near_ns);
        const struct ntk_host_thread *thread = ntk_host_records_thread(records, cpu->tid);
        const struct ntk_host_python *python =
            thread ? ntk_host_pythons_of(pythons, thread->pid) : NULL;
        if (sample && python && sample->stack != 0) {
            cpu->stack = join(&records->stacks, python, sample->stack, cpu->stack);
            if (!cpu->is_exact && sample->is_collecting) {
                cpu->cause = NTK_HOST_GARBAGE;
            }
        }
    }
}

static void free_entries(struct ntk_map *map)
{
    ntk_map_each(entry, map) {
        free(entry->value);
    }
    ntk_map_fini(map);
}

void ntk_host_pythons_fini(struct ntk_host_pythons *pythons)
{
    ntk_vec_each(struct ntk_host_python, python, &pythons->pythons) {
        free(python->threads);
        free_entries(&python->codes);
        free_entries(&python->traces);
    }
    ntk_vec_fini(&pythons->pythons);
    ntk_vec_fini(&pythons->samples);
    ntk_vec_fini(&pythons->holders);
}
