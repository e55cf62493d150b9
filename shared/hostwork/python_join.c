/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/python_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "shared/base/bisect.h"
#include "shared/base/clock.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/formats/elf/elf_file.h"

#define SAMPLES_MAX (1u << 19)
#define NEAR_NS (30 * NTK_NS_PER_MS) /* maximum distance to a CPU sample */
#define DEPTH_JOINED 64u
#define PTHREAD_BYTES 1024u /* part of a thread's descriptor that is searched for its tid */

struct python {
    uint32_t pid;
    struct ntk_python python;
    uint64_t gil_start, gil_end;
    bool is_taken; /* by ntk_host_pythons_interpreter() */
    char module[NTK_HOST_MODULE_NAME_BYTES];
};

static bool read_process(void *ctx, uint64_t address, void *out, size_t bytes)
{
    struct iovec to = { out, bytes };
    struct iovec from = { (void *)(uintptr_t)address, bytes }; // NOLINT(*-int-to-ptr)

    return process_vm_readv(*(const pid_t *)ctx, &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

/* ---- finding ---- */

/* The minor version in "python3.11" or "libpython3.12.so.1.0"; 0 for any other file. */
static uint32_t minor_of(const char *name)
{
    const char *at = ntk_str_starts_with(name, "python3.")      ? name + 8
                     : ntk_str_starts_with(name, "libpython3.") ? name + 11
                                                                : NULL;
    unsigned minor;

    return at && sscanf(at, "%2u", &minor) == 1 ? minor : 0;
}

bool ntk_host_pythons_is_file(const char *name)
{
    return minor_of(name) > 0;
}

static uint64_t runtime_of(const struct ntk_host_module *module)
{
    struct ntk_elf_export export;
    struct ntk_elf_file file;
    uint64_t address = 0;

    if (module->fd < 0 || ntk_elf_file_open_fd(&file, module->fd) < 0) {
        return 0;
    }
    if (file.is_ours && ntk_elf_file_find(&file, "_PyRuntime", NULL, &export)) {
        address = export.address + (file.is_library ? module->load : 0);
    }
    ntk_elf_file_close(&file);
    return address;
}

void ntk_host_pythons_find(struct ntk_host_pythons *pythons, struct ntk_host_modules *modules)
{
    pid_t pid = (pid_t)modules->pid;
    struct ntk_host_memory memory = { read_process, &pid };
    struct python python = { .pid = modules->pid };

    if (pythons->pythons.item_bytes == 0) {
        ntk_vec_init(&pythons->pythons, sizeof(struct python));
        ntk_vec_init(&pythons->samples, sizeof(struct ntk_host_python_sample));
        ntk_vec_init(&pythons->holders, sizeof(struct ntk_host_python_sample));
    }
    ntk_vec_each(const struct python, known, &pythons->pythons) {
        if (known->pid == modules->pid) {
            return;
        }
    }
    ntk_vec_each(struct ntk_host_module, module, &modules->modules) {
        uint32_t minor = module->is_looked ? 0 : minor_of(module->name);
        uint64_t runtime = minor > 0 ? runtime_of(module) : 0;
        module->is_looked = true;
        if (runtime != 0 && ntk_python_init(&python.python, minor, runtime, &memory)) {
            ntk_str_copy(python.module, sizeof python.module, module->name);
            (void)ntk_vec_push(&pythons->pythons, &python);
            return;
        }
    }
}

bool ntk_host_pythons_interpreter(struct ntk_host_pythons *pythons, uint32_t pid,
                                  struct ntk_host_bpf_interpreter *out)
{
    ntk_vec_each(struct python, python, &pythons->pythons) {
        pid_t own_pid = (pid_t)pid;
        struct ntk_host_memory memory = { read_process, &own_pid };
        struct ntk_python_gil gil;

        if (python->pid == pid && !python->is_taken && python->python.offsets.thread_has_native &&
            ntk_python_gil(&python->python, &memory, &gil)) {
            *out = (struct ntk_host_bpf_interpreter){
                .collecting = gil.collecting_at,
                .holder = gil.holder_at,
                .native_offset = python->python.offsets.thread_native,
            };
            python->is_taken = true;
            return true;
        }
    }
    return false;
}

/* ---- sampling ---- */

/* Finds the tid for 3.10, which stores none: it is in the C library's thread descriptor, at a
 * position that differs between versions. Takes a number that is a thread of the process. */
static uint32_t tid_by_pthread(const struct ntk_host_memory *memory, uint32_t pid,
                               uint64_t descriptor, const struct ntk_host_records *records)
{
    uint32_t words[PTHREAD_BYTES / sizeof(uint32_t)];

    if (!memory->read(memory->ctx, descriptor, words, sizeof words)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct ntk_host_thread *thread =
            words[i] > 1 ? ntk_host_records_thread(records, words[i]) : NULL;
        if (thread && thread->pid == pid) {
            return thread->tid;
        }
    }
    return 0;
}

static void sample_thread(struct ntk_host_pythons *pythons, const struct python *python,
                          const struct ntk_host_memory *memory, size_t index,
                          const struct ntk_python_gil *gil, struct ntk_host_records *records)
{
    const struct ntk_python_thread *thread = &pythons->threads[index];
    struct ntk_host_python_sample sample = { .time_ns = ntk_clock_monotonic_ns() };
    bool is_holder = gil && gil->holder == thread->address;
    size_t count;

    sample.tid = python->python.offsets.thread_has_native
                     ? (uint32_t)thread->native
                     : tid_by_pthread(memory, python->pid, thread->native, records);
    if (sample.tid == 0 || !ntk_host_records_thread(records, sample.tid)) {
        return;
    }
    count =
        ntk_python_stack(&python->python, memory, thread, pythons->frames, NTK_PYTHON_FRAMES_MAX);
    for (size_t i = count; i-- > 0;) {
        const struct ntk_python_frame *frame = &pythons->frames[i];
        sample.stack =
            ntk_host_stacks_push(&records->stacks, sample.stack, frame->name,
                                 ntk_str_base_name(frame->file), frame->line, NTK_HOST_PYTHON);
    }
    sample.is_collecting = is_holder && gil->is_collecting;
    if (pythons->samples.count >= SAMPLES_MAX || ntk_vec_push(&pythons->samples, &sample) < 0) {
        records->lost++;
    }
    if (is_holder && pythons->holders.count < SAMPLES_MAX) {
        sample.stack = python->pid;
        (void)ntk_vec_push(&pythons->holders, &sample);
    }
}

void ntk_host_pythons_sample(struct ntk_host_pythons *pythons, struct ntk_host_records *records)
{
    ntk_vec_each(struct python, python, &pythons->pythons) {
        pid_t pid = (pid_t)python->pid;
        struct ntk_host_memory memory = { read_process, &pid };
        struct ntk_python_gil gil;
        bool has_gil = ntk_python_gil(&python->python, &memory, &gil);
        size_t count =
            ntk_python_threads(&python->python, &memory, pythons->threads, NTK_PYTHON_THREADS_MAX);

        if (has_gil) {
            python->gil_start = gil.start;
            python->gil_end = gil.end;
        }
        for (size_t i = 0; i < count; i++) {
            sample_thread(pythons, python, &memory, i, has_gil ? &gil : NULL, records);
        }
    }
}

/* ---- joining ---- */

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

/* The nearest sample, at most NEAR_NS away. */
static const struct ntk_host_python_sample *sample_near(const struct ntk_vec *samples, uint32_t tid,
                                                        uint64_t time_ns)
{
    const struct ntk_host_python_sample *best = NULL;
    uint64_t best_ns = NEAR_NS + 1;
    const struct ntk_host_python_sample *at =
        sample_after(samples, tid, time_ns > NEAR_NS ? time_ns - NEAR_NS : 0);
    const struct ntk_host_python_sample *end =
        (const struct ntk_host_python_sample *)samples->items + samples->count;

    for (; at && at < end && at->tid == tid && at->time_ns <= time_ns + NEAR_NS; at++) {
        uint64_t ns = at->time_ns > time_ns ? at->time_ns - time_ns : time_ns - at->time_ns;
        if (ns < best_ns) {
            best = at;
            best_ns = ns;
        }
    }
    return best;
}

static const struct python *python_of(const struct ntk_host_pythons *pythons, uint32_t pid)
{
    ntk_vec_each(const struct python, python, &pythons->pythons) {
        if (python->pid == pid) {
            return python;
        }
    }
    return NULL;
}

/* Joins the Python frames with the native frames that the interpreter called. */
static uint32_t join(struct ntk_host_stacks *stacks, const struct python *python,
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
    const struct python *python = thread ? python_of(pythons, thread->pid) : NULL;

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
    ntk_vec_sort(&pythons->samples, compare_samples);
    ntk_vec_sort(&pythons->holders, compare_times);
    ntk_vec_each(struct ntk_host_slice, slice, &records->slices) {
        join_slice(pythons, records, slice);
    }
    ntk_vec_each(struct ntk_host_sample, cpu, &records->samples) {
        const struct ntk_host_python_sample *sample =
            sample_near(&pythons->samples, cpu->tid, cpu->time_ns);
        const struct ntk_host_thread *thread = ntk_host_records_thread(records, cpu->tid);
        const struct python *python = thread ? python_of(pythons, thread->pid) : NULL;
        if (sample && python && sample->stack != 0) {
            cpu->stack = join(&records->stacks, python, sample->stack, cpu->stack);
            if (!cpu->is_exact && sample->is_collecting) {
                cpu->cause = NTK_HOST_GARBAGE;
            }
        }
    }
}

void ntk_host_pythons_fini(struct ntk_host_pythons *pythons)
{
    ntk_vec_fini(&pythons->pythons);
    ntk_vec_fini(&pythons->samples);
    ntk_vec_fini(&pythons->holders);
}
