/* SPDX-License-Identifier: MIT */
/* sample_bpf - loads the BPF program (hostwork.bpf.c), configures it and reads its events. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/hostwork/bpf_events.h"
#include "shared/hostwork/process.h"
#include "shared/hostwork/sampler.h"
#include "shared/hostwork/syscalls.h"

/* The BPF program from the build. */
__asm__(".pushsection .rodata\n"
        ".balign 8\n"
        "ntk_host_object_begin:\n"
        ".incbin \"" NTK_HOSTWORK_OBJECT "\"\n"
        "ntk_host_object_end:\n"
        ".popsection\n");
extern const char ntk_host_object_begin[];
extern const char ntk_host_object_end[];

#define POLL_EVENTS_MAX (1 << 18)
#define CPUS_MAX 4096
#define TICKS_PER_SECOND 10u  /* intervals per second in which stack copies are limited */
#define FILE_NS NTK_NS_PER_MS /* the file of a shorter wait is not looked up */
#define THREADS_STEPS_MAX 65536u
/* Minimum size of the map for stacks of waiting threads. The kernel evicts entries early because
 * each CPU keeps some free. */
#define COPIES_MIN 1024u
#define COPIES_PER_CPU 64u
#define COPIES_MAX 8192u

struct ntk_host_sampler {
    struct ntk_host_records *records;
    struct ntk_host_raw *raw;
    struct ntk_host_pythons *pythons;
    uint32_t pid;
    struct bpf_object *object;
    struct bpf_link *tracepoints[5];
    struct bpf_link **samples;
    size_t cpu_count;
    struct ring_buffer *ring;
    struct ntk_host_bpf_control *control; /* the entry of the map; the BPF program writes it, too */
    int waiting, processes, interpreters, states;
    int budget;         /* events that this poll may still handle */
    size_t taken_bytes; /* in this poll */
};

static char last_words[256];

__attribute__((format(printf, 2, 0))) static int listen_to(enum libbpf_print_level level,
                                                           const char *format, va_list arguments)
{
    char line[1024];

    (void)vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\n")] = '\0';
    if (level == LIBBPF_WARN && line[0] != '\0' && !strstr(line, "BEGIN PROG LOAD LOG")) {
        ntk_str_copy(last_words, sizeof last_words, line);
    }
    if (level != LIBBPF_DEBUG) {
        ntk_log_debug("hostwork", "%s", line);
    }
    return 0;
}

/* ---- events ---- */

static void take_slice(struct ntk_host_sampler *sampler, const struct ntk_host_bpf_event *event,
                       uint32_t stack)
{
    struct ntk_host_records *records = sampler->records;
    struct ntk_host_slice slice = {
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .ready_ns = event->ready_ns,
        .tid = event->tid,
        .waker = ntk_host_is_waker(event->syscall, event->waker_syscall)
                     ? event->waker
                     : ntk_host_pythons_holder(sampler->pythons, event, records),
        .syscall = event->syscall,
        .stack = stack,
        .argument = { event->argument[0], event->argument[1], event->argument[2] },
        .kind = (uint8_t)event->slice_kind,
        .is_ready_quota = (uint8_t)event->is_ready_quota,
    };

    if (event->end_ns - event->start_ns >= FILE_NS &&
        ntk_host_syscall_has_descriptor(event->syscall)) {
        slice.object = ntk_host_process_file(event->pid, event->argument[0], &records->stacks);
    }
    if (records->slices.count >= NTK_HOST_SLICES_MAX ||
        ntk_vec_push(&records->slices, &slice) < 0) {
        records->lost++;
    }
}

static void take_sample(struct ntk_host_sampler *sampler, const struct ntk_host_bpf_event *event,
                        uint32_t stack)
{
    struct ntk_host_sample sample = {
        .time_ns = event->start_ns,
        .tid = event->tid,
        .stack = stack,
        .cause = event->collecting == NTK_HOST_BPF_COLLECTING ? NTK_HOST_GARBAGE : NTK_HOST_RUNNING,
        .is_exact = event->collecting != NTK_HOST_BPF_COLLECTING_UNKNOWN,
    };

    if (sampler->records->samples.count >= NTK_HOST_SAMPLES_MAX ||
        ntk_vec_push(&sampler->records->samples, &sample) < 0) {
        sampler->records->lost++;
    }
}

static int take(void *ctx, void *data, size_t bytes)
{
    struct ntk_host_sampler *sampler = ctx;
    const struct ntk_host_bpf_full *full = data;
    const struct ntk_host_bpf_event *event = &full->event;
    uint32_t stack = 0;

    sampler->taken_bytes += bytes;
    if (bytes < sizeof *event ||
        (event->has_stack &&
         (bytes < offsetof(struct ntk_host_bpf_full, stack.bytes) ||
          bytes < offsetof(struct ntk_host_bpf_full, stack.bytes) + full->stack.bytes_count))) {
        return 0;
    }
    if (event->kind == NTK_HOST_BPF_PYTHON) {
        const struct ntk_host_bpf_python *python = data;
        if (bytes >= sizeof *event + sizeof python->count &&
            python->count <= (bytes - sizeof *event) / sizeof *python->frames) {
            ntk_host_pythons_take(sampler->pythons, python, sampler->records);
        }
        return sampler->budget-- > 0 ? 0 : -EAGAIN;
    }
    if (event->has_stack) {
        stack = ntk_host_raw_add(sampler->raw, event->pid, &full->stack);
    }
    /* If the records do not have this thread, it began with this event. */
    ntk_host_process_thread(sampler->records, event->pid, event->tid, event->comm, event->start_ns,
                            event->end_ns);
    if (event->kind == NTK_HOST_BPF_SLICE) {
        take_slice(sampler, event, stack);
    } else if (event->kind == NTK_HOST_BPF_SAMPLE) {
        take_sample(sampler, event, stack);
    }
    return sampler->budget-- > 0 ? 0 : -EAGAIN;
}

/* ---- processes ---- */

static void scan(struct ntk_host_sampler *sampler, uint64_t first_ns, uint64_t now_ns)
{
    uint32_t pids[NTK_HOST_PROCESSES_MAX];
    size_t count = ntk_host_process_tree(sampler->pid, pids, NTK_HOST_PROCESSES_MAX);
    uint32_t one = 1;

    for (size_t i = 0; i < count; i++) {
        if (bpf_map_update_elem(sampler->processes, &pids[i], &one, BPF_NOEXIST) == 0) {
            __atomic_fetch_add(&sampler->control->process_count[pids[i] % NTK_HOST_BPF_PIDS], 1,
                               __ATOMIC_RELAXED);
        }
        ntk_host_process_threads(pids[i], first_ns, now_ns, sampler->records);
    }
}

/* Adds threads that are already off the CPU; /proc shows their calls. */
static void note_waiting(struct ntk_host_sampler *sampler, uint64_t now_ns)
{
    ntk_vec_each(const struct ntk_host_thread, thread, &sampler->records->threads) {
        struct ntk_host_bpf_waiting wait = {
            .start_ns = now_ns, .pid = thread->pid, .waker_syscall = -1, .is_idle = 1
        };
        if (ntk_host_process_syscall(thread->pid, thread->tid, &wait.syscall, wait.argument) &&
            wait.syscall >= 0) {
            memcpy(wait.comm, thread->name, sizeof wait.comm);
            (void)bpf_map_update_elem(sampler->waiting, &thread->tid, &wait, BPF_NOEXIST);
        }
    }
}

/* ---- begin and end ---- */

static void sampler_close(struct ntk_host_sampler *sampler)
{
    if (!sampler) {
        return;
    }
    for (size_t i = 0; i < sizeof sampler->tracepoints / sizeof *sampler->tracepoints; i++) {
        bpf_link__destroy(sampler->tracepoints[i]);
    }
    for (size_t i = 0; sampler->samples && i < sampler->cpu_count; i++) {
        bpf_link__destroy(sampler->samples[i]);
    }
    free(sampler->samples);
    ring_buffer__free(sampler->ring);
    if (sampler->control) {
        (void)munmap(sampler->control, sizeof *sampler->control);
    }
    bpf_object__close(sampler->object);
    free(sampler);
}

static int attach_samples(struct ntk_host_sampler *sampler, uint32_t rate)
{
    const struct bpf_program *program =
        bpf_object__find_program_by_name(sampler->object, "on_sample");
    struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
                                          .size = sizeof attributes,
                                          .config = PERF_COUNT_SW_CPU_CLOCK,
                                          .sample_freq = rate,
                                          .freq = 1 };
    long cpus = sysconf(_SC_NPROCESSORS_CONF);

    sampler->cpu_count = cpus > 0 && cpus < CPUS_MAX ? (size_t)cpus : 1;
    sampler->samples = calloc(sampler->cpu_count, sizeof(struct bpf_link *));
    if (!sampler->samples) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < sampler->cpu_count; i++) {
        int fd =
            (int)syscall(SYS_perf_event_open, &attributes, -1, (int)i, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno == ENODEV) {
            continue; /* the CPU is offline */
        }
        if (fd < 0) {
            return -errno;
        }
        sampler->samples[i] = bpf_program__attach_perf_event(program, fd);
        if (!sampler->samples[i]) {
            int ret = -errno;
            close(fd);
            return ret;
        }
    }
    return 0;
}

static int attach_tracepoints(struct ntk_host_sampler *sampler)
{
    static const char *const names[] = { "on_fork", "on_exec", "on_exit", "on_waking",
                                         "on_switch" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sampler->tracepoints[i] =
            bpf_program__attach(bpf_object__find_program_by_name(sampler->object, names[i]));
        if (!sampler->tracepoints[i]) {
            return -errno;
        }
    }
    return 0;
}

static int map_control(struct ntk_host_sampler *sampler)
{
    int map = bpf_object__find_map_fd_by_name(sampler->object, "control");
    void *at = mmap(NULL, sizeof *sampler->control, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);

    sampler->control = at == MAP_FAILED ? NULL : at;
    return sampler->control ? 0 : -errno;
}

static int load(struct ntk_host_sampler *sampler)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "neuron_hostwork");
    size_t bytes = (size_t)(ntk_host_object_end - ntk_host_object_begin);

    last_words[0] = '\0';
    libbpf_set_print(listen_to);
    sampler->object = bpf_object__open_mem(ntk_host_object_begin, bytes, &options);
    if (!sampler->object) {
        return -errno;
    }
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    uint32_t copies = COPIES_MIN + COPIES_PER_CPU * (cpus > 0 ? (uint32_t)cpus : 1);
    copies = copies < COPIES_MAX ? copies : COPIES_MAX;
    int ret =
        bpf_map__set_max_entries(bpf_object__find_map_by_name(sampler->object, "copies"), copies);
    ret = ret < 0 ? ret
                  : bpf_map__set_max_entries(
                        bpf_object__find_map_by_name(sampler->object, "pythons"), copies);
    ret = ret < 0 ? ret : bpf_object__load(sampler->object);
    if (ret < 0) {
        return ret;
    }
    sampler->waiting = bpf_object__find_map_fd_by_name(sampler->object, "waiting");
    sampler->processes = bpf_object__find_map_fd_by_name(sampler->object, "processes");
    sampler->interpreters = bpf_object__find_map_fd_by_name(sampler->object, "interpreters");
    sampler->states = bpf_object__find_map_fd_by_name(sampler->object, "states");
    sampler->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(sampler->object, "ring"), take,
                                     sampler, NULL);
    return sampler->ring ? map_control(sampler) : -errno;
}

/* Calls that wait for other threads, for a time, or for events. */
static void mark_plain_calls(struct ntk_host_bpf_control *control)
{
    const uint64_t argument[3] = { 0 };

    for (int32_t call = 0; call < NTK_HOST_BPF_CALLS; call++) {
        enum ntk_host_cause cause = ntk_host_syscall_cause(call, argument);
        if (cause == NTK_HOST_WAIT || cause == NTK_HOST_SLEEP || cause == NTK_HOST_POLL ||
            cause == NTK_HOST_CHILD) {
            control->plain_calls[call / 64] |= UINT64_C(1) << call % 64;
        }
    }
}

static int begin(struct ntk_host_sampler *sampler, const struct ntk_host_sampler_options *options)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t per_tick =
        options->stacks_per_second / TICKS_PER_SECOND / (cpus > 0 ? (uint32_t)cpus : 1);
    struct ntk_host_bpf_control *control = sampler->control;
    uint64_t now_ns = sampler->records->start_ns;

    control->owner = options->pid;
    control->is_idle = 1;
    mark_plain_calls(control);
    control->stacks_per_tick = per_tick > 0 ? per_tick : 1;
    for (size_t i = 0; i < options->in_flight_count && i < NTK_HOST_BPF_CORES; i++) {
        control->in_flight[i] = options->in_flight[i];
    }
    scan(sampler, now_ns, now_ns);
    int ret = attach_tracepoints(sampler);
    ret = ret < 0 ? ret : attach_samples(sampler, options->rate);
    note_waiting(sampler, ntk_clock_monotonic_ns());
    return ret;
}

static int sampler_open(const struct ntk_host_sampler_options *options,
                        struct ntk_host_records *records, struct ntk_host_raw *raw,
                        struct ntk_host_sampler **out_sampler, struct ntk_err *err)
{
    struct ntk_host_sampler *sampler;

    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "the kernel has no type information (/sys/kernel/btf/vmlinux)");
    }
    if (!ntk_host_process_is_first_namespace()) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "this program runs in its own PID namespace (a container without "
                           "hostPID)");
    }
    sampler = calloc(1, sizeof *sampler);
    if (!sampler) {
        return ntk_err_no_memory(err);
    }
    sampler->records = records;
    sampler->raw = raw;
    sampler->pythons = options->pythons;
    sampler->pid = options->pid;
    int ret = load(sampler);
    ret = ret < 0 ? ret : begin(sampler, options);
    if (ret < 0) {
        sampler_close(sampler);
        if (ret == -EPERM || ret == -EACCES) {
            return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                               "BPF requires root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE");
        }
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                           "the kernel rejected the BPF program that observes threads: %s%s%s",
                           strerror(-ret), last_words[0] ? "; " : "", last_words);
    }
    records->method = NTK_HOST_METHOD_BPF;
    *out_sampler = sampler;
    return 0;
}

static unsigned sampler_poll(struct ntk_host_sampler *sampler, bool is_idle)
{
    /* Bounded, because threads on many CPUs may write faster than this one reads; the caller polls
     * again. */
    sampler->budget = POLL_EVENTS_MAX;
    sampler->taken_bytes = 0;
    (void)ring_buffer__consume(sampler->ring);
    /* The only source if the BPF program cannot read the words. */
    if (sampler->control->in_flight[0] == 0) {
        sampler->control->is_idle = is_idle;
        return 100;
    }
    size_t percent = sampler->taken_bytes * 100 / NTK_HOST_BPF_RING;
    return percent < 100 ? (unsigned)percent : 100;
}

static void sampler_interpreter(struct ntk_host_sampler *sampler, uint32_t pid,
                                const struct ntk_host_bpf_interpreter *interpreter)
{
    (void)bpf_map_update_elem(sampler->interpreters, &pid, interpreter, BPF_ANY);
}

static void sampler_python_state(struct ntk_host_sampler *sampler, uint32_t tid, uint64_t state)
{
    (void)bpf_map_update_elem(sampler->states, &tid, &state, BPF_ANY);
}

/* The Python frames of a wait that has not ended; false if they are lost. */
static bool take_python(struct ntk_host_sampler *sampler, const struct ntk_host_bpf_waiting *wait,
                        uint32_t tid)
{
    int map = bpf_object__find_map_fd_by_name(sampler->object, "pythons");
    struct ntk_host_bpf_python python;

    if (bpf_map_lookup_elem(map, &tid, &python) != 0) {
        return false;
    }
    python.event = (struct ntk_host_bpf_event){
        .kind = NTK_HOST_BPF_PYTHON, .start_ns = wait->start_ns, .pid = wait->pid, .tid = tid
    };
    ntk_host_pythons_take(sampler->pythons, &python, sampler->records);
    return true;
}

static void end_waiting(struct ntk_host_sampler *sampler, uint64_t now_ns)
{
    struct ntk_host_bpf_waiting wait;
    uint32_t next;
    bool has_next = bpf_map_get_next_key(sampler->waiting, NULL, &next) == 0;

    for (uint32_t i = 0; i < THREADS_STEPS_MAX && has_next; i++) {
        uint32_t tid = next;
        has_next = bpf_map_get_next_key(sampler->waiting, &tid, &next) == 0;
        if (bpf_map_lookup_elem(sampler->waiting, &tid, &wait) != 0 || wait.start_ns == 0 ||
            wait.start_ns >= now_ns) {
            continue;
        }
        struct ntk_host_bpf_full full = { 0 };
        int copies = bpf_object__find_map_fd_by_name(sampler->object, "copies");
        bool is_long = now_ns - wait.start_ns >= NTK_HOST_BPF_COPY_NS; /* as in the BPF program */
        bool has_python = is_long && wait.has_python && take_python(sampler, &wait, tid);
        bool has_stack = is_long && wait.has_stack && bpf_map_lookup_elem(copies, &tid, &full) == 0;
        sampler->records->stacks_skipped +=
            is_long &&
            (wait.is_skipped || (wait.has_python && !has_python) || (wait.has_stack && !has_stack));
        ntk_host_bpf_event_of_wait(&full.event, &wait, tid, now_ns);
        full.event.has_stack = has_stack;
        (void)take(sampler, &full, sizeof full);
    }
}

static void sampler_finish(struct ntk_host_sampler *sampler, uint64_t now_ns)
{
    struct ntk_host_bpf_counts counts;
    uint32_t zero = 0;

    for (size_t i = sizeof sampler->tracepoints / sizeof *sampler->tracepoints; i-- > 0;) {
        bpf_link__destroy(sampler->tracepoints[i]);
        sampler->tracepoints[i] = NULL;
    }
    for (size_t i = 0; i < sampler->cpu_count; i++) {
        bpf_link__destroy(sampler->samples[i]);
        sampler->samples[i] = NULL;
    }
    sampler->budget = POLL_EVENTS_MAX;
    (void)ring_buffer__consume(sampler->ring);
    end_waiting(sampler, now_ns);
    scan(sampler, now_ns, now_ns);
    int map = bpf_object__find_map_fd_by_name(sampler->object, "counts");
    if (bpf_map_lookup_elem(map, &zero, &counts) == 0) {
        sampler->records->events += counts.events;
        sampler->records->lost += counts.lost + counts.untracked;
        sampler->records->stacks_skipped += counts.stacks_skipped + sampler->raw->skipped;
    }
}

const struct ntk_host_sampler_kind ntk_host_sampler_bpf = {
    .poll_ms = 20,
    .poll_ms_max = 100,
    .open = sampler_open,
    .poll = sampler_poll,
    .interpreter = sampler_interpreter,
    .python_state = sampler_python_state,
    .finish = sampler_finish,
    .close = sampler_close,
};
