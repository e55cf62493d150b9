/* SPDX-License-Identifier: MIT */
/* cmd_idle - explains idle cores of running processes by the activity of host threads in each
 * gap. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_job.h"
#include "profiler/output/answers/output_hostwork.h"
#include "profiler/output/traces/host_flame.h"
#include "profiler/system/live_host.h"
#include "profiler/system/live_trace.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/progress.h"
#include "shared/base/str.h"
#include "shared/hostwork/observe.h"
#include "shared/ring/ring_registry.h"

#define DESCRIPTORS 65536
#define PROCESSES_MAX 64u
#define POLL_REGISTRY_NS NTK_NS_PER_SECOND
#define EVENTS_PER_CORE 1000000u /* maximum number of recorded events */
#define POLL_LIVE_MS 20u         /* maximum interval while events are recorded */

static uint64_t arg_pid;
static const char *arg_job;
static uint64_t arg_duration_ns = 10 * NTK_NS_PER_SECOND;
static const char *arg_method = "auto";
static uint64_t arg_rate = 99;
static uint64_t arg_rows = 20;
static bool arg_json;
static const char *arg_folded;
static const char *arg_pprof;
static const char *arg_output;
static const char *arg_record;

static const struct ntk_opt options[] = {
    { 'p', "pid", "PID", NTK_OPT_U64, &arg_pid, "observe this process", .is_above_zero = true },
    { 0, "job", "NAME", NTK_OPT_TEXT, &arg_job,
      "observe all processes with this tag, or with ranks that meet at this address" },
    { 0, "for", "TIME", NTK_OPT_DURATION, &arg_duration_ns, "observe for TIME (default 10s)",
      .is_above_zero = true },
    { 0, "method", "METHOD", NTK_OPT_CHOICE, &arg_method,
      "observe threads with METHOD: bpf (exact, requires root), proc (coarse), or auto (default)",
      "auto bpf proc" },
    { 0, "rate", "N", NTK_OPT_U64, &arg_rate,
      "sample running threads N times per second (default 99, at most 1000)",
      .is_above_zero = true },
    { 0, "rows", "N", NTK_OPT_U64, &arg_rows, "print at most N rows (default 20)",
      .is_above_zero = true },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print a JSON object" },
    { 'o', "output", "FILE", NTK_OPT_TEXT, &arg_output, "write the result to FILE" },
    { 0, "folded", "FILE", NTK_OPT_TEXT, &arg_folded, "write stacks as folded lines to FILE" },
    { 0, "pprof", "FILE", NTK_OPT_TEXT, &arg_pprof, "write stacks as a pprof profile to FILE" },
    { 0, "record", "FOLDER", NTK_OPT_TEXT, &arg_record,
      "also record calls, executions and host threads to FOLDER, for neuron-profile view -d" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile idle",
    .usage = "--pid PID | --job NAME [OPTION]...",
    .summary = "Shows why the cores of a running process are idle: what its host threads do\n"
               "while no execution is in flight.",
    .options = options,
    .epilogue = "The process needs hooks: the runtime of this project, neuron-monitor run, or\n"
                "neuron-monitor attach. Only users who may trace the process can observe it.\n"
                "The method bpf requires root (or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE) and a\n"
                "kernel with BTF. docs/idle.md defines the causes.",
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

struct observed {
    struct ntk_ring_process process;
    struct ntk_host_observation *observation;
    struct ntk_live_trace *live; /* NULL if not recorded */
};

struct run {
    struct ntk_ring_registry *registry;
    struct observed observed[PROCESSES_MAX];
    size_t count;
    int code; /* 1 if a process is not observed, after a message */
};

/* Polls all processes; returns false if none is running any more. */
static bool poll_all(struct run *run)
{
    bool is_alive = false;

    for (size_t i = 0; i < run->count; i++) {
        struct observed *observed = &run->observed[i];
        if (observed->live) {
            (void)ntk_live_trace_step(observed->live);
        }
        is_alive = ntk_host_observation_poll(observed->observation) || is_alive;
    }
    return is_alive;
}

/* ---- which processes ---- */

static enum ntk_host_method_wanted wanted_method(void)
{
    return strcmp(arg_method, "bpf") == 0    ? NTK_HOST_WANT_BPF
           : strcmp(arg_method, "proc") == 0 ? NTK_HOST_WANT_PROC
                                             : NTK_HOST_WANT_BEST;
}

static int record_begin(struct observed *observed, struct ntk_err *err)
{
    return ntk_live_trace_begin(
        &(struct ntk_live_trace_options){ .pid = observed->process.pid,
                                          .has_owner = true,
                                          .owner = observed->process.uid,
                                          .events_per_core = EVENTS_PER_CORE,
                                          .folder = arg_record },
        &observed->live, err);
}

static int begin(struct run *run, struct ntk_err *err)
{
    struct ntk_ring_options ring = { .from = NTK_RING_FROM_NOW };
    struct ntk_ring_poll poll_result;
    size_t omitted = 0;
    size_t failed = 0;
    int ret = ntk_ring_registry_open(&ring, &run->registry, err);

    ret = ret < 0 ? ret : ntk_ring_registry_poll(run->registry, &poll_result, err);
    for (size_t i = 0; ret == 0 && i < ntk_ring_registry_count(run->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(run->registry, i);
        struct ntk_ring_process process;
        struct ntk_host_observe_options observe = { .segment = segment,
                                                    .method = wanted_method(),
                                                    .rate = (uint32_t)arg_rate,
                                                    .duration_ns = arg_duration_ns };

        ntk_ring_segment_process(segment, &process);
        if (ntk_ring_segment_state(segment) != NTK_SEGMENT_ALIVE ||
            !ntk_profile_job_has(arg_job, arg_pid, segment, &process)) {
            continue;
        }
        if (run->count == PROCESSES_MAX) {
            omitted++;
            continue;
        }
        struct observed *observed = &run->observed[run->count];
        observed->process = process;
        if (ntk_host_observation_begin(&observe, &observed->observation, err) < 0) {
            run->code = ntk_profile_fail(err); /* the other processes of a job are observed */
            failed++;
            continue;
        }
        (void)poll_all(run); /* each begin takes some time */
        run->count++;
        ret = arg_record ? record_begin(observed, err) : 0;
    }
    if (omitted > 0) {
        fprintf(stderr,
                "neuron-profile: observing %u of %zu processes of the job: use --pid for others\n",
                PROCESSES_MAX, PROCESSES_MAX + omitted);
        run->code = 1;
    }
    if (ret == 0 && run->count + failed == 0) {
        ret = ntk_profile_job_err_not_found(arg_job, arg_pid, &poll_result, err);
    }
    return ret;
}

/* ---- meanwhile ---- */

/* The time until the first process needs its next poll, or the end. */
static int poll_ms_of(const struct run *run, uint64_t left_ns)
{
    uint64_t ms = left_ns / NTK_NS_PER_MS + 1;

    for (size_t i = 0; i < run->count; i++) {
        const struct observed *observed = &run->observed[i];
        unsigned own_ms = ntk_host_observation_poll_ms(observed->observation);
        ms = own_ms < ms ? own_ms : ms;
        ms = observed->live && ms > POLL_LIVE_MS ? POLL_LIVE_MS : ms;
    }
    return (int)ms;
}

static int observe(struct run *run, struct ntk_err *err)
{
    uint64_t begin_ns = ntk_clock_monotonic_ns();
    uint64_t polled_ns = begin_ns;
    struct ntk_progress progress;
    int ret = 0;

    ntk_progress_begin(&progress, "observing");
    while (!is_interrupted && ret == 0) {
        uint64_t now_ns = ntk_clock_monotonic_ns();
        if (!poll_all(run) || now_ns - begin_ns >= arg_duration_ns) {
            break;
        }
        if (now_ns - polled_ns >= POLL_REGISTRY_NS) {
            ret = ntk_ring_registry_poll(run->registry, NULL, err);
            polled_ns = now_ns;
        }
        ntk_progress_show(&progress, (double)(now_ns - begin_ns) / (double)arg_duration_ns);
        (void)poll(NULL, 0, poll_ms_of(run, arg_duration_ns - (now_ns - begin_ns)));
    }
    ntk_progress_end(&progress);
    for (size_t i = 0; i < run->count; i++) {
        ntk_host_observation_stop(run->observed[i].observation);
    }
    for (size_t i = 0; i < run->count && ret == 0; i++) {
        ret = ntk_host_observation_end(run->observed[i].observation, err);
    }
    return ret;
}

/* ---- the answer ---- */

int ntk_profile_hostwork_write(const struct ntk_hostwork_answer *answer, const char *folder)
{
    struct ntk_buf out = { 0 };
    char *path = NULL;
    int code = 1;

    ntk_hostwork_file(answer, &out);
    if (asprintf(&path, "%s/" NTK_HOSTWORK_FILE, folder) >= 0) {
        code = ntk_profile_put(&out, path);
        free(path);
    }
    ntk_buf_fini(&out);
    return code;
}

/* Completes the recording of one process, and prints its folder. Returns the exit code. */
static int record_end(struct observed *observed, const struct ntk_hostwork_answer *answer)
{
    const struct ntk_live_host host = { answer->records, answer->result };
    struct ntk_live_trace_result result = { 0 };
    struct ntk_err err = { 0 };

    int ret = ntk_live_trace_end(observed->live, &host, &result, &err);
    if (ret != 0) {
        (void)ntk_profile_fail(&err);
    }
    int code = ret < 0 ? 1 : ntk_profile_hostwork_write(answer, result.folder);
    if (ret >= 0) {
        fprintf(stderr, "neuron-profile: recorded process %u to %s\n", answer->pid, result.folder);
    }
    free(result.folder);
    return ret == 0 ? code : 1;
}

static int answer(struct run *run, struct ntk_err *err)
{
    struct ntk_hostwork_answer answers[PROCESSES_MAX];
    int recorded = 0;
    struct ntk_buf out = { 0 };
    int ret = 0;

    for (size_t i = 0; i < run->count; i++) {
        struct observed *observed = &run->observed[i];
        answers[i] = (struct ntk_hostwork_answer){
            .pid = observed->process.pid,
            .command = observed->process.command,
            .reason = ntk_host_observation_reason(observed->observation),
            .records = ntk_host_observation_records(observed->observation),
            .result = ntk_host_observation_result(observed->observation),
        };
        if (observed->live) {
            recorded |= record_end(observed, &answers[i]);
        }
        if (!arg_json) {
            ntk_buf_add_text(&out, i > 0 ? "\n" : "");
            ntk_hostwork_text(&answers[i], arg_rows, &out);
        }
    }
    if (arg_json) {
        ntk_hostwork_json(answers, run->count, arg_rows, &out);
    }
    if (arg_folded) {
        ret = ntk_host_flame_folded(answers, run->count, arg_folded, err);
    }
    if (arg_pprof && ret == 0) {
        ret = ntk_host_flame_pprof(answers, run->count, arg_pprof, err);
    }
    int code = ret < 0 ? ntk_profile_fail(err) : 0;
    int put = ntk_profile_put(&out, arg_output); /* even if another file cannot be written */
    ntk_buf_fini(&out);
    return code || put ? 1 : recorded;
}

int ntk_cmd_idle(int argc, char **argv)
{
    static struct run run;
    struct sigaction action = { .sa_handler = interrupt };
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse_all(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if ((arg_pid == 0) == (arg_job == NULL)) {
        return ntk_opt_usage_error(&program, "use either --pid PID or --job NAME");
    }
    if (arg_rate > 1000) {
        return ntk_opt_usage_error(&program, "--rate: at most 1000");
    }
    ntk_fs_raise_descriptor_limit(DESCRIPTORS); /* one descriptor for each library of a job */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int ret = ntk_profile_can_put(arg_output, &err);
    ret = ret < 0 ? ret : ntk_profile_can_put(arg_folded, &err);
    ret = ret < 0 ? ret : ntk_profile_can_put(arg_pprof, &err);
    ret = ret < 0 ? ret : begin(&run, &err);
    int code = run.code;
    ret = ret < 0 || run.count == 0 ? ret : observe(&run, &err);
    if (ret < 0) {
        code = ntk_profile_fail(&err);
    } else if (run.count > 0) {
        int answered = answer(&run, &err);
        code = answered ? answered : code;
    }
    for (size_t i = 0; i < PROCESSES_MAX; i++) {
        ntk_host_observation_destroy(run.observed[i].observation);
        ntk_live_trace_destroy(run.observed[i].live);
    }
    ntk_ring_registry_close(run.registry);
    return code;
}
