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
#include "shared/hostwork/process.h"

#define SAMPLES_MAX (1u << 19)
#define NEAR_NS (30 * NTK_NS_PER_MS) /* maximum distance to a CPU sample */
#define DEPTH_JOINED 64u
#define CODES_MAX 65536u /* maximum number of functions with kept names, per process */
/* If the frames of a thread do not change, it probably waits. They are read less often, and count
 * for the samples in between if they are still the same. */
#define UNCHANGED_MIN 4u
#define SKIPPED_MAX 2u
#define TRACES_MAX (2 * NTK_PYTHON_THREADS_MAX)
#define PTHREAD_BYTES 1024u /* part of a thread's descriptor that is searched for its tid */

/* Names of a code object, valid while its addresses are the same. */
struct code {
    uint64_t name_at, file_at;
    uint32_t line;
    const char *name, *file; /* texts of the records; the name is "" if it is unreadable */
};

/* A thread at its last sample. */
struct trace {
    uint32_t unchanged;                 /* number of samples in a row with the same frames */
    uint32_t skipped;                   /* number of samples since its frames were read */
    uint64_t times_ns[SKIPPED_MAX + 1]; /* of these samples, and of the current one */
    size_t count;
    struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    uint32_t stacks[NTK_PYTHON_FRAMES_MAX]; /* from the outermost frame to this one */
};

struct python {
    uint32_t pid;
    struct ntk_python python;
    uint64_t gil_start, gil_end;
    bool is_taken;   /* by ntk_host_pythons_interpreter() */
    uint64_t tid_at; /* for 3.10: position of the tid in a thread's descriptor; 0: unknown */
    size_t thread_count;
    struct ntk_python_thread *threads; /* NTK_PYTHON_THREADS_MAX */
    struct ntk_map codes;              /* by address; struct code */
    struct ntk_map traces;             /* by address of the thread's state; struct trace */
    char module[NTK_HOST_MODULE_NAME_BYTES];
};

static size_t read_process(void *ctx, const struct ntk_host_range *ranges, size_t count, void *out)
{
    struct iovec from[NTK_PYTHON_FRAMES_MAX + 1];
    struct iovec to = { out, 0 };

    count = count < sizeof from / sizeof *from ? count : sizeof from / sizeof *from;
    for (size_t i = 0; i < count; i++) {
        from[i].iov_base = (void *)(uintptr_t)ranges[i].address; // NOLINT(*-int-to-ptr)
        from[i].iov_len = ranges[i].bytes;
        to.iov_len += ranges[i].bytes;
    }
    ssize_t bytes = process_vm_readv(*(const pid_t *)ctx, &to, 1, from, count, 0);
    return bytes > 0 ? (size_t)bytes : 0;
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

/* Returns the number if it is a thread of the process; otherwise 0. */
static uint32_t tid_if_of(uint32_t pid, uint32_t number, const struct ntk_host_records *records)
{
    const struct ntk_host_thread *thread =
        number > 1 ? ntk_host_records_thread(records, number) : NULL;

    return thread && thread->pid == pid ? number : 0;
}

/* Finds the tid for 3.10, which stores none: it is in the C library's thread descriptor, at a
 * position that differs between versions. Takes a number that is a thread of the process. */
static uint32_t tid_by_pthread(const struct ntk_host_memory *memory, struct python *python,
                               uint64_t descriptor, const struct ntk_host_records *records)
{
    uint32_t words[PTHREAD_BYTES / sizeof(uint32_t)];
    struct ntk_host_range range = { descriptor + python->tid_at, sizeof *words };
    uint32_t tid = 0;

    if (python->tid_at > 0 && memory->read(memory->ctx, &range, 1, words) == sizeof *words) {
        tid = tid_if_of(python->pid, words[0], records);
    }
    range = (struct ntk_host_range){ descriptor, sizeof words };
    if (tid == 0 && memory->read(memory->ctx, &range, 1, words) == sizeof words) {
        for (size_t i = 0; i < sizeof words / sizeof *words && tid == 0; i++) {
            tid = tid_if_of(python->pid, words[i], records);
            python->tid_at = tid > 0 ? i * sizeof *words : python->tid_at;
        }
    }
    return tid;
}

/* The tid of a thread of an interpreter; 0 if unknown. In a container, it is unknown for 3.10: tids
 * are small there, so other numbers in the descriptor would be taken for them. */
static uint32_t tid_of(const struct ntk_host_pythons *pythons, struct python *python,
                       const struct ntk_host_memory *memory, uint64_t native,
                       const struct ntk_host_records *records)
{
    uint32_t tid = (uint32_t)native;

    if (!python->python.offsets.thread_has_native) {
        return pythons->outer_tids ? 0 : tid_by_pthread(memory, python, native, records);
    }
    if (pythons->outer_tids) {
        uint64_t key = ntk_host_process_inner_key(python->pid, tid);
        tid = (uint32_t)(uintptr_t)ntk_map_get_number(pythons->outer_tids, key);
    }
    return tid_if_of(python->pid, tid, records);
}

/* The entry for a key, zeroed if it is new; `spare` without room. */
static void *entry_of(struct ntk_map *map, uint64_t key, size_t limit, size_t bytes, void *spare)
{
    void *entry = ntk_map_get_number(map, key);

    if (!entry && map->count < limit) {
        entry = calloc(1, bytes);
        if (entry && ntk_map_put_number(map, key, entry) < 0) {
            free(entry);
            entry = NULL;
        }
    }
    return entry ? entry : spare;
}

/* Adds a frame to the stack of its caller. Returns the new stack. */
static uint32_t push_frame(struct python *python, const struct ntk_host_memory *memory,
                           const struct ntk_python_frame *frame, uint32_t caller,
                           struct ntk_host_stacks *stacks)
{
    struct code spare = { 0 };
    char text[NTK_PYTHON_TEXT_BYTES];

    if (frame->code == 0) {
        return caller;
    }
    struct code *code = entry_of(&python->codes, frame->code, CODES_MAX, sizeof *code, &spare);
    if (!code->name || code->name_at != frame->name || code->file_at != frame->file ||
        code->line != frame->line) {
        *code = (struct code){ frame->name, frame->file, frame->line, "", "" };
        ntk_python_text(&python->python, memory, frame->name, text);
        code->name = ntk_host_stacks_text(stacks, text);
        ntk_python_text(&python->python, memory, frame->file, text);
        code->file = ntk_host_stacks_text(stacks, ntk_str_base_name(text));
    }
    return code->name[0] != '\0' ? ntk_host_stacks_push(stacks, caller, code->name, code->file,
                                                        code->line, NTK_HOST_PYTHON)
                                 : caller;
}

static bool is_same(const struct ntk_python_frame *a, const struct ntk_python_frame *b)
{
    return a->code == b->code &&
           (a->code == 0 || (a->name == b->name && a->file == b->file && a->line == b->line));
}

/* Samples the frames of a thread. Returns its stack. Most frames are those of its last sample, and
 * so is the stack up to the first outer frame that differs. */
static uint32_t sample_stack(struct ntk_host_pythons *pythons, struct python *python,
                             const struct ntk_host_memory *memory,
                             const struct ntk_python_thread *thread, struct trace *trace,
                             struct ntk_host_stacks *stacks)
{
    size_t count = ntk_python_stack(&python->python, memory, thread, trace->frames, trace->count,
                                    &pythons->scratch, pythons->frames);
    uint32_t stack = 0;
    bool is_old = true;

    for (size_t outer = 1; outer <= count; outer++) {
        const struct ntk_python_frame *frame = &pythons->frames[count - outer];
        is_old =
            is_old && outer <= trace->count && is_same(frame, &trace->frames[trace->count - outer]);
        stack = is_old ? trace->stacks[trace->count - outer]
                       : push_frame(python, memory, frame, stack, stacks);
        pythons->stacks[count - outer] = stack;
    }
    trace->unchanged = is_old && count == trace->count ? trace->unchanged + 1 : 0;
    trace->count = count;
    memcpy(trace->frames, pythons->frames, count * sizeof *trace->frames);
    memcpy(trace->stacks, pythons->stacks, count * sizeof *trace->stacks);
    return stack;
}

static void sample_thread(struct ntk_host_pythons *pythons, struct python *python,
                          const struct ntk_host_memory *memory, size_t index,
                          const struct ntk_python_gil *gil, struct ntk_host_records *records)
{
    const struct ntk_python_thread *thread = &python->threads[index];
    struct ntk_host_python_sample sample = { 0 };
    bool is_holder = gil && gil->holder == thread->address;
    struct trace spare = { 0 };
    struct trace *trace =
        entry_of(&python->traces, thread->address, TRACES_MAX, sizeof *trace, &spare);

    sample.tid = tid_of(pythons, python, memory, thread->native, records);
    if (sample.tid == 0) {
        return;
    }
    trace->times_ns[trace->skipped] = ntk_clock_monotonic_ns();
    if (!is_holder && trace->unchanged >= UNCHANGED_MIN && trace->skipped < SKIPPED_MAX) {
        trace->skipped++;
        return;
    }
    sample.stack = sample_stack(pythons, python, memory, thread, trace, &records->stacks);
    for (uint32_t i = trace->unchanged > 0 ? 0 : trace->skipped; i <= trace->skipped; i++) {
        sample.time_ns = trace->times_ns[i];
        sample.is_collecting = i == trace->skipped && is_holder && gil->is_collecting;
        if (pythons->samples.count >= SAMPLES_MAX || ntk_vec_push(&pythons->samples, &sample) < 0) {
            records->lost++;
        }
    }
    trace->skipped = 0;
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
        pythons->scratch.round++;
        bool has_gil = ntk_python_gil(&python->python, &memory, &gil);
        if (!python->threads) {
            python->threads = calloc(NTK_PYTHON_THREADS_MAX, sizeof *python->threads);
        }
        python->thread_count =
            python->threads ? ntk_python_threads(&python->python, &memory, python->thread_count,
                                                 &pythons->scratch, python->threads)
                            : 0;
        if (has_gil) {
            python->gil_start = gil.start;
            python->gil_end = gil.end;
        }
        for (size_t i = 0; i < python->thread_count; i++) {
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

static void free_entries(struct ntk_map *map)
{
    ntk_map_each(entry, map) {
        free(entry->value);
    }
    ntk_map_fini(map);
}

void ntk_host_pythons_fini(struct ntk_host_pythons *pythons)
{
    ntk_vec_each(struct python, python, &pythons->pythons) {
        free(python->threads);
        free_entries(&python->codes);
        free_entries(&python->traces);
    }
    ntk_vec_fini(&pythons->pythons);
    ntk_vec_fini(&pythons->samples);
    ntk_vec_fini(&pythons->holders);
}
