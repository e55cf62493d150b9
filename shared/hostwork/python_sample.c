/* SPDX-License-Identifier: MIT */
/* python_sample - finds the interpreters of a job, and samples them. */
#include "shared/hostwork/python_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/formats/elf/elf_file.h"
#include "shared/hostwork/process.h"

#define SAMPLES_MAX (1u << 19)
#define CODES_MAX 65536u /* maximum number of functions with kept names, per process */
#define TRACES_MAX (2 * NTK_PYTHON_THREADS_MAX)
#define DESCRIPTOR_BYTES 1024u /* part of a thread descriptor that is searched for its tid */
#define TID_AT_MAX 65536u

/* Names of a code object, valid while its addresses are the same. */
struct code {
    uint64_t name_at, file_at;
    uint32_t line;
    const char *name, *file; /* texts of the records; the name is "" if it is unreadable */
};

/* A thread at its last sample. */
struct trace {
    uint64_t state; /* address */
    size_t count;
    struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    uint32_t stacks[NTK_PYTHON_FRAMES_MAX]; /* from the outermost frame to this one */
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

/* Before glibc 2.34, threads are in a separate library. */
static bool is_c_library(const char *name)
{
    return ntk_str_starts_with(name, "libc.so") || ntk_str_starts_with(name, "libc-2.") ||
           ntk_str_starts_with(name, "libpthread");
}

bool ntk_host_pythons_is_file(const char *name)
{
    return minor_of(name) > 0 || is_c_library(name);
}

/* The address of an exported object in the process; 0 if there is none. */
static uint64_t object_of(const struct ntk_host_module *module, const char *name)
{
    struct ntk_elf_export export;
    struct ntk_elf_file file;
    uint64_t address = 0;

    if (module->fd < 0 || ntk_elf_file_open_fd(&file, module->fd) < 0) {
        return 0;
    }
    if (file.is_ours && ntk_elf_file_find(&file, name, NULL, &export)) {
        address = export.address + (file.is_library ? module->load : 0);
    }
    ntk_elf_file_close(&file);
    return address;
}

uint32_t ntk_host_pythons_tid_at(const struct ntk_host_modules *modules,
                                 const struct ntk_host_memory *memory)
{
    uint32_t field[3]; /* bits per element, number of elements, position in bytes */

    ntk_vec_each(const struct ntk_host_module, module, &modules->modules) {
        uint64_t address =
            is_c_library(module->name) ? object_of(module, "_thread_db_pthread_tid") : 0;
        struct ntk_host_range range = { address, sizeof field };
        if (address != 0 && memory->read(memory->ctx, &range, 1, field) == sizeof field &&
            field[0] == 32 && field[1] == 1 && field[2] < TID_AT_MAX) {
            return field[2];
        }
    }
    return 0;
}

struct ntk_host_python *ntk_host_pythons_of(const struct ntk_host_pythons *pythons, uint32_t pid)
{
    struct ntk_host_python *last = NULL;

    ntk_vec_each(struct ntk_host_python, python, &pythons->pythons) {
        last = python->pid == pid ? python : last;
    }
    return last;
}

void ntk_host_pythons_find(struct ntk_host_pythons *pythons, struct ntk_host_modules *modules)
{
    pid_t pid = (pid_t)modules->pid;
    struct ntk_host_memory memory = { read_process, &pid };
    struct ntk_host_python python = { .pid = modules->pid, .image = modules->image };

    if (pythons->pythons.item_bytes == 0) {
        ntk_vec_init(&pythons->pythons, sizeof(struct ntk_host_python));
        ntk_vec_init(&pythons->samples, sizeof(struct ntk_host_python_sample));
        ntk_vec_init(&pythons->holders, sizeof(struct ntk_host_python_sample));
    }
    struct ntk_host_python *known = ntk_host_pythons_of(pythons, modules->pid);
    if (known && known->image == modules->image) {
        return;
    }
    if (known) {
        known->is_gone = true; /* it stays, because earlier stacks have its frames */
    }
    ntk_vec_each(struct ntk_host_module, module, &modules->modules) {
        if (module->round != modules->round) {
            continue; /* of an earlier program */
        }
        uint32_t minor = module->is_looked ? 0 : minor_of(module->name);
        uint64_t runtime = minor > 0 ? object_of(module, "_PyRuntime") : 0;
        module->is_looked = true;
        if (runtime != 0 && ntk_python_init(&python.python, minor, runtime, &memory)) {
            if (!python.python.offsets.thread_has_native) {
                python.python.tid_at = ntk_host_pythons_tid_at(modules, &memory);
            }
            ntk_str_copy(python.module, sizeof python.module, module->name);
            (void)ntk_vec_push(&pythons->pythons, &python);
            return;
        }
    }
}

bool ntk_host_pythons_interpreter(struct ntk_host_pythons *pythons, uint32_t pid,
                                  struct ntk_host_bpf_interpreter *out)
{
    pid_t own_pid = (pid_t)pid;
    struct ntk_host_memory memory = { read_process, &own_pid };
    struct ntk_host_python *python = ntk_host_pythons_of(pythons, pid);
    struct ntk_python_gil gil;

    if (!python || python->is_taken || python->is_gone ||
        (!python->python.offsets.thread_has_native && python->python.tid_at == 0) ||
        !ntk_python_gil(&python->python, &memory, &gil)) {
        return false;
    }
    *out = (struct ntk_host_bpf_interpreter){
        .python = python->python,
        .threads = gil.threads_at,
        .collecting = gil.collecting_at,
        .holder = gil.holder_at,
        .lock_start = gil.start,
        .lock_end = gil.end,
    };
    python->is_taken = true;
    return true;
}

/* ---- threads ---- */

/* Returns the number if it is a thread of the process; otherwise 0. */
static uint32_t tid_if_of(uint32_t pid, uint32_t number, const struct ntk_host_records *records)
{
    const struct ntk_host_thread *thread =
        number > 1 ? ntk_host_records_thread(records, number) : NULL;

    return thread && thread->pid == pid ? number : 0;
}

/* Finds the tid for 3.10, which stores none: it is in the C library's thread descriptor. If the
 * library does not publish its position there, takes a number that is a thread of the process. Not
 * in a container, where tids are small: other numbers in the descriptor would be taken for them. */
static uint32_t tid_by_descriptor(const struct ntk_host_memory *memory,
                                  struct ntk_host_python *python, uint64_t descriptor,
                                  bool is_in_container, const struct ntk_host_records *records)
{
    uint32_t words[DESCRIPTOR_BYTES / sizeof(uint32_t)];
    struct ntk_host_range range = { descriptor + python->python.tid_at, sizeof *words };
    uint32_t tid = 0;

    if (python->python.tid_at > 0) {
        return memory->read(memory->ctx, &range, 1, words) == sizeof *words ? words[0] : 0;
    }
    range = (struct ntk_host_range){ descriptor, sizeof words };
    if (!is_in_container && memory->read(memory->ctx, &range, 1, words) == sizeof words) {
        for (uint32_t i = 0; i < sizeof words / sizeof *words && tid == 0; i++) {
            tid = tid_if_of(python->pid, words[i], records);
            python->python.tid_at = tid > 0 ? i * (uint32_t)sizeof *words : 0;
        }
    }
    return tid;
}

/* The tid of a thread of the process, from its number in the PID namespace of the process; 0 if
 * there is none. */
static uint32_t outer_tid_of(const struct ntk_host_pythons *pythons, uint32_t pid,
                             uint32_t inner_tid, const struct ntk_host_records *records)
{
    uint64_t key = ntk_host_process_inner_key(pid, inner_tid);
    uint32_t tid = pythons->outer_tids
                       ? (uint32_t)(uintptr_t)ntk_map_get_number(pythons->outer_tids, key)
                       : inner_tid;

    return tid_if_of(pid, tid, records);
}

uint32_t ntk_host_pythons_holder(const struct ntk_host_pythons *pythons,
                                 const struct ntk_host_bpf_event *event,
                                 const struct ntk_host_records *records)
{
    uint32_t tid = outer_tid_of(pythons, event->pid, event->holder, records);

    return tid != event->tid ? tid : 0;
}

/* The tid of a thread of an interpreter; 0 if unknown. */
static uint32_t tid_of(const struct ntk_host_pythons *pythons, struct ntk_host_python *python,
                       const struct ntk_host_memory *memory, uint64_t native,
                       const struct ntk_host_records *records)
{
    bool is_in_container = pythons->outer_tids != NULL;
    uint32_t inner_tid = python->python.offsets.thread_has_native
                             ? (uint32_t)native
                             : tid_by_descriptor(memory, python, native, is_in_container, records);

    return outer_tid_of(pythons, python->pid, inner_tid, records);
}

/* ---- frames ---- */

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
static uint32_t push_frame(struct ntk_host_python *python, const struct ntk_host_memory *memory,
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
    return ntk_host_stacks_push(stacks, caller, code->name[0] != '\0' ? code->name : "[unknown]",
                                code->file, code->line, NTK_HOST_PYTHON);
}

static bool is_same(const struct ntk_python_frame *a, const struct ntk_python_frame *b)
{
    return a->code == b->code &&
           (a->code == 0 || (a->name == b->name && a->file == b->file && a->line == b->line));
}

/* Returns the stack of the frames. Most of them are those of the thread's last sample, and so is
 * the stack up to the first outer frame that differs. */
static uint32_t stack_of(struct ntk_host_pythons *pythons, struct ntk_host_python *python,
                         const struct ntk_host_memory *memory, size_t count, struct trace *trace,
                         struct ntk_host_stacks *stacks)
{
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
    trace->count = count;
    memcpy(trace->frames, pythons->frames, count * sizeof *trace->frames);
    memcpy(trace->stacks, pythons->stacks, count * sizeof *trace->stacks);
    return stack;
}

/* ---- sampling ---- */

static void add_sample(struct ntk_host_pythons *pythons,
                       const struct ntk_host_python_sample *sample,
                       struct ntk_host_records *records)
{
    if (pythons->samples.count >= SAMPLES_MAX || ntk_vec_push(&pythons->samples, sample) < 0) {
        records->lost++;
    }
}

static struct trace *trace_of(struct ntk_host_python *python, uint32_t tid, struct trace *spare)
{
    return entry_of(&python->traces, tid, TRACES_MAX, sizeof *spare, spare);
}

static void sample_thread(struct ntk_host_pythons *pythons, struct ntk_host_python *python,
                          const struct ntk_host_memory *memory, size_t index,
                          const struct ntk_python_gil *gil, struct ntk_host_records *records)
{
    const struct ntk_python_thread *thread = &python->threads[index];
    struct ntk_host_python_sample sample = { 0 };
    bool is_holder = gil && gil->holder == thread->address;
    struct trace spare = { 0 };

    sample.tid = tid_of(pythons, python, memory, thread->native, records);
    if (sample.tid == 0) {
        return;
    }
    struct trace *trace = trace_of(python, sample.tid, &spare);
    if (pythons->note_state && trace->state != thread->address) {
        pythons->note_state(pythons->ctx, sample.tid, thread->address);
    }
    trace->state = thread->address;
    sample.time_ns = ntk_clock_monotonic_ns();
    size_t count = ntk_python_stack(&python->python, memory, thread, trace->frames, trace->count,
                                    &pythons->scratch, pythons->frames);
    sample.stack = stack_of(pythons, python, memory, count, trace, &records->stacks);
    sample.is_collecting = is_holder && gil->is_collecting;
    add_sample(pythons, &sample, records);
    if (is_holder && pythons->holders.count < SAMPLES_MAX) {
        sample.stack = python->pid;
        (void)ntk_vec_push(&pythons->holders, &sample);
    }
}

void ntk_host_pythons_sample(struct ntk_host_pythons *pythons, struct ntk_host_records *records)
{
    ntk_vec_each(struct ntk_host_python, python, &pythons->pythons) {
        pid_t pid = (pid_t)python->pid;
        struct ntk_host_memory memory = { read_process, &pid };
        struct ntk_python_gil gil;
        if (python->is_gone) {
            continue;
        }
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

void ntk_host_pythons_take(struct ntk_host_pythons *pythons,
                           const struct ntk_host_bpf_python *event,
                           struct ntk_host_records *records)
{
    pid_t pid = (pid_t)event->event.pid;
    struct ntk_host_memory memory = { read_process, &pid };
    struct ntk_host_python *python = ntk_host_pythons_of(pythons, event->event.pid);
    struct trace spare = { 0 };

    if (!python || event->count > NTK_PYTHON_FRAMES_MAX) {
        return;
    }
    for (size_t i = 0; i < event->count; i++) {
        const struct ntk_host_bpf_frame *frame = &event->frames[i];
        pythons->frames[i] = (struct ntk_python_frame){
            .code = frame->code,
            .name = frame->name,
            .file = frame->file,
            .line = frame->line < NTK_PYTHON_LINE_MAX ? (uint32_t)frame->line : 0,
        };
    }
    struct trace *trace = trace_of(python, event->event.tid, &spare);
    struct ntk_host_python_sample sample = {
        .time_ns = event->event.start_ns,
        .tid = event->event.tid,
        .stack = stack_of(pythons, python, &memory, event->count, trace, &records->stacks),
    };
    add_sample(pythons, &sample, records);
}
