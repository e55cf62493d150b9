/* SPDX-License-Identifier: MIT */
/*
 * sample_proc - reads thread states in /proc, which users may do for their own processes.
 *
 * A state counts for the time since the thread's previous read; the last state also counts until
 * the end. No state is read while cores are busy. Activities between two reads are missed, and
 * functions are unknown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/hostwork/process.h"
#include "shared/hostwork/sampler.h"
#include "shared/hostwork/syscalls.h"

#define POLL_MS 50
/* Maximum number of threads in addition to the main one; if there are more, they take turns, so
 * that a round stays short. */
#define THREADS_PER_POLL 64u
#define POLLS_PER_SCAN 20u

struct ntk_host_sampler {
    struct ntk_host_records *records;
    uint32_t pid;
    uint32_t polls;
    uint64_t looked_ns;
    struct ntk_map last;   /* maps a tid to 1 + index of the slice that may continue */
    struct ntk_map looked; /* maps a tid to the time of its last read */
    size_t next_thread;
};

static void scan(struct ntk_host_sampler *sampler)
{
    uint32_t pids[NTK_HOST_PROCESSES_MAX];
    size_t count = ntk_host_process_tree(sampler->pid, pids, NTK_HOST_PROCESSES_MAX);

    for (size_t i = 0; i < count; i++) {
        ntk_host_process_threads(pids[i], sampler->looked_ns, 0, sampler->records);
    }
}

/* The state letter of proc(5); 0 if the thread is gone. */
static char state_letter(const struct ntk_host_thread *thread)
{
    char path[96];
    char text[512];

    (void)snprintf(path, sizeof path, "/proc/%u/task/%u/stat", thread->pid, thread->tid);
    const char *after_name =
        ntk_fs_read_text(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    char state = '\0';
    if (after_name && after_name[1] == ' ') {
        state = after_name[2];
    }
    return state == 'Z' || state == 'X' ? '\0' : state;
}

/* Reads the thread's state and system call; false if it is gone. The call distinguishes the usual
 * states. */
static bool read_state(const struct ntk_host_thread *thread, char *out_state,
                       struct ntk_host_slice *out)
{
    if (ntk_host_process_syscall(thread->pid, thread->tid, &out->syscall, out->argument)) {
        *out_state = out->syscall < 0 ? 'R' : 'S';
    } else {
        *out_state = state_letter(thread);
    }
    return *out_state != '\0';
}

static bool continues(const struct ntk_host_slice *before, const struct ntk_host_slice *now)
{
    return before->syscall == now->syscall && before->kind == now->kind &&
           memcmp(before->argument, now->argument, sizeof now->argument) == 0;
}

static void look(struct ntk_host_sampler *sampler, struct ntk_host_thread *thread, uint64_t now_ns)
{
    struct ntk_host_records *records = sampler->records;
    uint64_t looked_ns = (uintptr_t)ntk_map_get_number(&sampler->looked, thread->tid);
    struct ntk_host_slice slice = { .start_ns = looked_ns ? looked_ns : sampler->looked_ns,
                                    .end_ns = now_ns,
                                    .tid = thread->tid };
    size_t at = (size_t)(uintptr_t)ntk_map_get_number(&sampler->last, thread->tid);
    struct ntk_host_slice *before = at > 0 ? ntk_vec_at(&records->slices, at - 1) : NULL;
    char state;

    if (thread->last_ns == now_ns || !read_state(thread, &state, &slice)) {
        return;
    }
    records->events++;
    thread->last_ns = now_ns;
    (void)ntk_map_put_number(&sampler->looked, thread->tid, (void *)(uintptr_t)now_ns);
    if (state == 'R') {
        /* One ns earlier, so that it is in the time that it counts for: the next wait begins
         * now. */
        struct ntk_host_sample sample = { .time_ns = now_ns - 1,
                                          .tid = thread->tid,
                                          .cause = NTK_HOST_RUNNING };
        (void)ntk_map_remove_number(&sampler->last, thread->tid);
        if (records->samples.count >= NTK_HOST_SAMPLES_MAX ||
            ntk_vec_push(&records->samples, &sample) < 0) {
            records->lost++;
        }
        return;
    }
    slice.kind = state == 'T' || state == 't'        ? NTK_HOST_HALTED
                 : slice.syscall < 0 && state == 'D' ? NTK_HOST_FAULTING
                                                     : NTK_HOST_BLOCKED;
    if (before && continues(before, &slice)) {
        before->end_ns = now_ns;
        return;
    }
    if (ntk_host_syscall_has_descriptor(slice.syscall)) {
        slice.object = ntk_host_process_file(thread->pid, slice.argument[0], &records->stacks);
    }
    if (records->slices.count >= NTK_HOST_SLICES_MAX ||
        ntk_vec_push(&records->slices, &slice) < 0 ||
        ntk_map_put_number(&sampler->last, thread->tid, (void *)(uintptr_t)records->slices.count) <
            0) {
        records->lost++;
    }
}

static int sampler_open(const struct ntk_host_sampler_options *options,
                        struct ntk_host_records *records, struct ntk_host_raw *raw,
                        struct ntk_host_sampler **out_sampler, struct ntk_err *err)
{
    struct ntk_host_sampler *sampler = calloc(1, sizeof *sampler);

    (void)raw;
    if (!sampler) {
        return ntk_err_no_memory(err);
    }
    sampler->records = records;
    sampler->pid = options->pid;
    sampler->looked_ns = records->start_ns;
    records->method = NTK_HOST_METHOD_PROC;
    scan(sampler);
    *out_sampler = sampler;
    return 0;
}

static unsigned sampler_poll(struct ntk_host_sampler *sampler, bool is_idle)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    size_t count = sampler->records->threads.count;

    if (++sampler->polls % POLLS_PER_SCAN == 0) {
        scan(sampler);
        count = sampler->records->threads.count;
    }
    if (!is_idle) {
        return 0; /* what threads do now is not the reason for a gap */
    }
    struct ntk_host_thread *main_thread = ntk_host_records_thread(sampler->records, sampler->pid);
    if (main_thread) {
        look(sampler, main_thread, now_ns);
    }
    for (size_t i = 0; i < count && i < THREADS_PER_POLL; i++) {
        sampler->next_thread = sampler->next_thread < count ? sampler->next_thread : 0;
        look(sampler, ntk_vec_at(&sampler->records->threads, sampler->next_thread++), now_ns);
    }
    sampler->looked_ns = now_ns;
    return 0; /* states are merged, so their number does not grow with the rate of events */
}

/* While cores are busy, current thread states are not the reason for the gaps since the last read,
 * so the states of the last read count until now. */
static void sampler_finish(struct ntk_host_sampler *sampler, uint64_t now_ns)
{
    struct ntk_host_records *records = sampler->records;
    struct ntk_host_slice ignored;
    char state;

    ntk_vec_each(struct ntk_host_thread, thread, &records->threads) {
        size_t at = (size_t)(uintptr_t)ntk_map_get_number(&sampler->last, thread->tid);

        if (!ntk_map_get_number(&sampler->looked, thread->tid) ||
            !read_state(thread, &state, &ignored)) {
            continue; /* never seen, or gone */
        }
        thread->last_ns = now_ns;
        if (at > 0) {
            ((struct ntk_host_slice *)ntk_vec_at(&records->slices, at - 1))->end_ns = now_ns;
        }
    }
}

static void sampler_close(struct ntk_host_sampler *sampler)
{
    if (sampler) {
        ntk_map_fini(&sampler->last);
        ntk_map_fini(&sampler->looked);
        free(sampler);
    }
}

const struct ntk_host_sampler_kind ntk_host_sampler_proc = {
    .poll_ms = POLL_MS,
    .poll_ms_max = POLL_MS,
    .open = sampler_open,
    .poll = sampler_poll,
    .finish = sampler_finish,
    .close = sampler_close,
};
