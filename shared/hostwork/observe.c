/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/observe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shared/base/clock.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/hostwork/gaps.h"
#include "shared/hostwork/modules.h"
#include "shared/hostwork/process.h"
#include "shared/hostwork/python_join.h"
#include "shared/hostwork/resolve.h"
#include "shared/hostwork/sampler.h"

#define STACKS_PER_OBSERVATION 6000u
#define STACKS_PER_SECOND_MAX 500u
#define STACKS_PER_SECOND_MIN 20u
#define MODULES_MS 1000u   /* interval between scans of the mappings, at the sampler's pace */
#define FILL_MAX 10u       /* percent of the room for records; above, polls are at their fastest */
#define PROCESSES_READ 64u /* limit; the stacks of further processes have no names */

struct ntk_host_observation {
    struct ntk_ring_segment *segment;
    struct ntk_ring_process process;
    struct ntk_host_records records;
    struct ntk_host_result result;
    struct ntk_core_gaps gaps;
    struct ntk_host_raw raw;
    struct ntk_vec modules; /* elements are struct ntk_host_modules, one per process */
    struct ntk_host_files files;
    struct ntk_host_pythons pythons;
    const struct ntk_host_sampler_kind *kind;
    struct ntk_host_sampler *sampler;
    uint32_t poll_ms;          /* until the next poll */
    uint32_t since_modules_ms; /* polled time since the mappings were read */
    struct ntk_map
        outer_tids; /* for a process in a container: tids, ntk_host_process_inner_key() */
    size_t threads_translated;
    uint32_t cores;
    bool is_stopped;
    int failed; /* -ENOMEM: the gaps are incomplete */
    char reason[NTK_ERR_TEXT_BYTES];
};

/* ---- addresses of the in-flight words in the process ---- */

static uint64_t mapping_of(uint32_t pid, const char *segment_path)
{
    struct ntk_process_mapping mapping;
    struct stat status;
    char path[64];
    char line[512];
    uint64_t found = 0;

    (void)snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *file = segment_path && stat(segment_path, &status) == 0 ? fopen(path, "re") : NULL;
    while (file && found == 0 && fgets(line, sizeof line, file)) {
        if (ntk_process_mapping_parse(line, &mapping) && mapping.inode == status.st_ino &&
            mapping.device == status.st_dev && mapping.offset == 0) {
            found = mapping.start;
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return found;
}

static size_t words_of(struct ntk_host_observation *o, uint64_t *out_words, size_t room)
{
    uint64_t base = mapping_of(o->process.pid, ntk_ring_segment_path(o->segment));
    size_t count = base ? ntk_ring_segment_cores(o->segment, o->gaps.cores, NTK_SEGMENT_CORES) : 0;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (!o->gaps.cores[i].owned) {
            continue;
        }
        if (used == room) {
            return 0; /* the words of this process are complete */
        }
        out_words[used++] =
            base + ntk_ring_segment_in_flight_offset(o->segment, o->gaps.cores[i].core);
    }
    return used;
}

/* Returns true if the process numbers its threads separately. */
static bool is_in_container(const struct ntk_host_observation *o)
{
    return o->process.own_pid != o->process.pid;
}

/* ---- begin ---- */

static int open_sampler(struct ntk_host_observation *o,
                        const struct ntk_host_observe_options *options, struct ntk_err *err)
{
    uint64_t words[NTK_HOST_BPF_CORES];
    uint64_t seconds = options->duration_ns / NTK_NS_PER_SECOND + 1;
    uint64_t stacks = STACKS_PER_OBSERVATION / seconds;
    struct ntk_host_sampler_options sampler = {
        .pid = o->process.pid,
        .rate = options->rate ? options->rate : NTK_HOST_RATE_DEFAULT,
        .stacks_per_second = stacks > STACKS_PER_SECOND_MAX   ? STACKS_PER_SECOND_MAX
                             : stacks < STACKS_PER_SECOND_MIN ? STACKS_PER_SECOND_MIN
                                                              : (uint32_t)stacks,
        .in_flight = words,
        .in_flight_count = words_of(o, words, NTK_HOST_BPF_CORES),
        .pythons = &o->pythons,
    };
    int ret = -ENOTSUP;

    if (options->method != NTK_HOST_WANT_PROC) {
        o->kind = &ntk_host_sampler_bpf;
        ret = o->kind->open(&sampler, &o->records, &o->raw, &o->sampler, err);
        if (ret < 0 && options->method == NTK_HOST_WANT_BEST && ret != -ENOMEM) {
            ntk_str_copy(o->reason, sizeof o->reason, err->text);
            memset(err, 0, sizeof *err);
        }
    }
    if (ret < 0 && options->method != NTK_HOST_WANT_BPF) {
        o->kind = &ntk_host_sampler_proc;
        ret = o->kind->open(&sampler, &o->records, &o->raw, &o->sampler, err);
    }
    return ret;
}

static struct ntk_host_modules *modules_of(struct ntk_host_observation *o, uint32_t pid)
{
    ntk_vec_each(struct ntk_host_modules, modules, &o->modules) {
        if (modules->pid == pid) {
            return modules;
        }
    }
    struct ntk_host_modules *modules =
        o->modules.count < PROCESSES_READ ? ntk_vec_add(&o->modules) : NULL;
    if (modules) {
        modules->pid = pid;
    }
    return modules;
}

static void note_state(void *ctx, uint32_t tid, uint64_t state)
{
    struct ntk_host_observation *o = ctx;

    o->kind->python_state(o->sampler, tid, state);
}

static void observe_interpreter(struct ntk_host_observation *o, uint32_t pid)
{
    struct ntk_host_bpf_interpreter interpreter;

    if (o->kind->interpreter && ntk_host_pythons_interpreter(&o->pythons, pid, &interpreter)) {
        o->kind->interpreter(o->sampler, pid, &interpreter);
    }
}

/* Reads the mappings of processes that may be traced; a later call finds modules that are loaded
 * later. Without stacks, only interpreters are needed. */
static void read_modules(struct ntk_host_observation *o)
{
    bool has_stacks = o->kind == &ntk_host_sampler_bpf;
    uint32_t last = 0;

    ntk_vec_each(const struct ntk_host_thread, thread, &o->records.threads) {
        if (thread->pid != last && ntk_host_process_may_trace(thread->pid)) {
            struct ntk_host_modules *modules = modules_of(o, thread->pid);
            if (modules) {
                ntk_host_modules_read(modules, thread->pid, &o->files,
                                      has_stacks ? NULL : ntk_host_pythons_is_file);
                ntk_host_pythons_find(&o->pythons, modules);
                observe_interpreter(o, thread->pid);
            }
        }
        last = thread->pid;
    }
}

/* Translates tids of a process in a container, which numbers its threads separately. Ended threads
 * cannot be translated. */
static void translate_threads(struct ntk_host_observation *o)
{
    struct ntk_vec *threads = &o->records.threads;

    if (!is_in_container(o)) {
        return;
    }
    for (; o->threads_translated < threads->count; o->threads_translated++) {
        const struct ntk_host_thread *thread = ntk_vec_at(threads, o->threads_translated);
        uint32_t inner_tid = ntk_host_process_inner_tid(thread->pid, thread->tid);
        if (inner_tid != 0) {
            (void)ntk_map_put_number(&o->outer_tids,
                                     ntk_host_process_inner_key(thread->pid, inner_tid),
                                     (void *)(uintptr_t)thread->tid);
        }
    }
}

/* A sampler that reads Python frames itself knows only waits that it saw begin, and skips some if
 * there are too many. */
static void sample_long_waits(struct ntk_host_observation *o)
{
    if (o->kind->interpreter) {
        ntk_host_pythons_sample(&o->pythons, &o->records);
    }
}

int ntk_host_observation_begin(const struct ntk_host_observe_options *options,
                               struct ntk_host_observation **out_observation, struct ntk_err *err)
{
    struct ntk_host_observation *o = calloc(1, sizeof *o);

    if (!o) {
        return ntk_err_no_memory(err);
    }
    o->segment = options->segment;
    ntk_host_records_init(&o->records);
    ntk_vec_init(&o->modules, sizeof(struct ntk_host_modules));
    ntk_ring_segment_process(o->segment, &o->process);
    int ret = 0;
    if (!ntk_host_process_may_trace(o->process.pid)) {
        ret = ntk_err_set(
            err, -EACCES, NTK_ERR_NO_OFFSET,
            "permission denied: cannot trace process %u (run as its owner or root, or with "
            "CAP_SYS_PTRACE; /proc/sys/kernel/yama/ptrace_scope may restrict owners)",
            o->process.pid);
    }
    ret = ret < 0 ? ret
                  : ntk_core_gaps_begin(&o->gaps, o->segment, &o->records, ntk_clock_monotonic_ns(),
                                        err);
    ret = ret < 0 ? ret : open_sampler(o, options, err);
    if (ret < 0) {
        ntk_host_observation_destroy(o);
        return ret;
    }
    o->poll_ms = o->kind->poll_ms;
    o->pythons.outer_tids = is_in_container(o) ? &o->outer_tids : NULL;
    o->pythons.note_state = o->kind->python_state ? note_state : NULL;
    o->pythons.ctx = o;
    read_modules(o);
    translate_threads(o);
    sample_long_waits(o);
    ntk_core_gaps_start(&o->gaps, ntk_clock_monotonic_ns());
    *out_observation = o;
    return 0;
}

void ntk_host_observation_destroy(struct ntk_host_observation *o)
{
    if (!o) {
        return;
    }
    if (o->sampler) {
        o->kind->close(o->sampler);
    }
    ntk_host_result_fini(&o->result);
    ntk_core_gaps_fini(&o->gaps);
    ntk_host_raw_fini(&o->raw);
    ntk_host_pythons_fini(&o->pythons);
    ntk_vec_each(struct ntk_host_modules, modules, &o->modules) {
        ntk_host_modules_fini(modules);
    }
    ntk_vec_fini(&o->modules);
    ntk_host_files_fini(&o->files);
    ntk_map_fini(&o->outer_tids);
    ntk_host_records_fini(&o->records);
    free(o);
}

/* ---- during the observation ---- */

unsigned ntk_host_observation_poll_ms(const struct ntk_host_observation *o)
{
    return o->poll_ms;
}

/* Each wakeup costs CPU time, so they become rarer while there is little to read. */
static void pace(struct ntk_host_observation *o, unsigned fill)
{
    uint32_t slower_ms = o->poll_ms * 2;

    o->poll_ms = fill > FILL_MAX                    ? o->kind->poll_ms
                 : slower_ms < o->kind->poll_ms_max ? slower_ms
                                                    : o->kind->poll_ms_max;
}

static void follow(struct ntk_host_observation *o)
{
    unsigned unread = ntk_ring_segment_fill(o->segment);
    bool is_idle = ntk_core_gaps_follow(&o->gaps);

    /* A state counts for the time before it was read, and so do the frames read with it. */
    if (is_idle && !o->kind->interpreter) {
        ntk_host_pythons_sample(&o->pythons, &o->records);
    }
    unsigned untaken = o->kind->poll(o->sampler, is_idle);
    translate_threads(o);
    o->since_modules_ms += o->poll_ms;
    if (o->since_modules_ms >= MODULES_MS) {
        o->since_modules_ms = 0;
        read_modules(o);
        sample_long_waits(o);
    }
    pace(o, unread > untaken ? unread : untaken);
}

bool ntk_host_observation_poll(struct ntk_host_observation *o)
{
    if (!o->is_stopped) {
        follow(o);
        if (ntk_ring_segment_state(o->segment) != NTK_SEGMENT_ALIVE) {
            /* stop, because a later poll of the registry frees the segment */
            ntk_host_observation_stop(o);
        }
    }
    return !o->is_stopped;
}

/* ---- the end ---- */

static uint32_t outer_tid_of(const struct ntk_host_observation *o, uint32_t inner_tid)
{
    uint64_t key = ntk_host_process_inner_key(o->process.pid, inner_tid);

    return (uint32_t)(uintptr_t)ntk_map_get_number(&o->outer_tids, key);
}

/* Translates submitters. 0 if the thread is unknown: the core's previous submitter is then
 * responsible. */
static void translate_submitters(struct ntk_host_observation *o)
{
    if (!is_in_container(o)) {
        return;
    }
    ntk_vec_each(struct ntk_host_gap, gap, &o->records.gaps) {
        gap->tid = outer_tid_of(o, gap->tid);
    }
    ntk_vec_each(struct ntk_host_collective, collective, &o->records.collectives) {
        collective->tid = outer_tid_of(o, collective->tid);
    }
}

/* Names stacks: until now, slices and samples refer to raw stacks. */
static int name_stacks(struct ntk_host_observation *o)
{
    size_t count = o->raw.stacks.count;
    struct ntk_host_resolved *resolved = calloc(count + 1, sizeof *resolved);

    if (!resolved) {
        return -ENOMEM;
    }
    ntk_vec_each(struct ntk_host_modules, modules, &o->modules) {
        ntk_host_modules_read_map(modules);
    }
    int ret = ntk_host_resolve(&o->raw, &o->modules, &o->records.stacks, resolved);
    ntk_vec_each(struct ntk_host_slice, slice, &o->records.slices) {
        slice->stack =
            slice->stack > 0 && slice->stack <= count ? resolved[slice->stack - 1].stack : 0;
    }
    ntk_vec_each(struct ntk_host_sample, sample, &o->records.samples) {
        bool is_known = sample->stack > 0 && sample->stack <= count;
        bool is_in_fault = is_known && resolved[sample->stack - 1].is_in_fault;
        if (is_in_fault && sample->cause == NTK_HOST_RUNNING) {
            sample->cause = NTK_HOST_PAGE_FAULT;
        }
        sample->stack = is_known ? resolved[sample->stack - 1].stack : 0;
    }
    free(resolved);
    return ret;
}

void ntk_host_observation_stop(struct ntk_host_observation *o)
{
    if (o->is_stopped) {
        return;
    }
    o->is_stopped = true;
    follow(o);
    uint64_t now_ns = ntk_clock_monotonic_ns();
    o->kind->finish(o->sampler, now_ns);
    read_modules(o);
    translate_threads(o);
    o->failed = ntk_core_gaps_end(&o->gaps, now_ns, &o->cores);
    translate_submitters(o);
}

int ntk_host_observation_end(struct ntk_host_observation *o, struct ntk_err *err)
{
    ntk_host_observation_stop(o);
    int ret = o->failed < 0 ? o->failed : name_stacks(o);
    ntk_host_pythons_join(&o->pythons, &o->records);
    ret = ret < 0 ? ret : ntk_host_attribute(&o->records, o->cores, &o->result);
    return ret < 0 ? ntk_err_no_memory(err) : 0;
}

const struct ntk_host_records *ntk_host_observation_records(const struct ntk_host_observation *o)
{
    return &o->records;
}

const struct ntk_host_result *ntk_host_observation_result(const struct ntk_host_observation *o)
{
    return &o->result;
}

const char *ntk_host_observation_reason(const struct ntk_host_observation *o)
{
    return o->reason;
}
