/* SPDX-License-Identifier: MIT */
/*
 * cmd_capture - runs a NEFF and records all or some of its executions; each of several workers has
 * a process.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "profiler/capture/session.h"
#include "profiler/capture/workers.h"
#include "profiler/cmd/cmd.h"
#include "shared/base/progress.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"

#define NEFF_DEFAULT "file.neff"
static const char *arg_neff;
static const char *arg_session;
static uint64_t arg_nth = 1;
static const char *arg_type = "profile";
static const char *arg_mode = "sync";
static uint64_t arg_executions = 1;
static uint64_t arg_warmup;
static bool arg_ignore_errors;
static bool arg_disable_profile;
static bool arg_save_output;
static bool arg_save_output_npy;
static uint64_t arg_save_nth;
static const char *arg_write_tensors = "none";
static bool arg_check_determinism;
static bool arg_dge;
static bool arg_single_io;
static uint64_t arg_single_io_threshold;
static uint64_t arg_workers;
static uint64_t arg_worker_count;
static uint64_t arg_worker_start;
static const char *arg_profile_id = "all";
static const char *arg_multi_input;
static bool arg_list_types;
static const char *arg_io_from = "zeros";

/* Maximum, because --systrace-event-filter may be repeated. */
#define TYPES_MAX 64
static const char *arg_types[TYPES_MAX + 1];
static size_t arg_type_count;

static int type_add(const char *value, struct ntk_err *err)
{
    if (arg_type_count == TYPES_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many event types (at most %d)",
                           TYPES_MAX);
    }
    arg_types[arg_type_count++] = value;
    return 0;
}
static int (*const type_adder)(const char *value, struct ntk_err *err) = type_add;

static const struct ntk_opt options[] = {
    { 'n', "neff", "FILE", NTK_OPT_TEXT, &arg_neff, "run this NEFF (default " NEFF_DEFAULT ")" },
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session,
      "write this file (default profile.ntff, with systrace profile.json)" },
    { 0, "num-exec", "N", NTK_OPT_U64, &arg_executions, "execute N times (default 1)" },
    { 0, "profile-nth-exec", "N", NTK_OPT_U64, &arg_nth,
      "record every Nth execution (default 1; 0: none), execution 1 to FILE.ntff and others to "
      "FILE_exec_NUMBER.ntff; execute at least N times" },
    { 0, "warmup", "N", NTK_OPT_U64, &arg_warmup,
      "execute N times before the counted ones (default 0)" },
    { 't', "capture-type", "TYPE", NTK_OPT_CHOICE, &arg_type,
      "record profile (core activity, default) or systrace (host activity, as JSON)",
      .choices = "profile systrace" },
    { 0, "exec-mode", "MODE", NTK_OPT_CHOICE, &arg_mode,
      "execute in this mode: sync (default), async (queue executions, but run the recorded "
      "one alone) or async-wait (queue each and wait for it)",
      .choices = "sync async async-wait" },
    { 0, "ignore-exec-errors", NULL, NTK_OPT_FLAG, &arg_ignore_errors,
      "continue after a failed execution" },
    { 0, "disable-profile", NULL, NTK_OPT_FLAG, &arg_disable_profile, "execute without recording" },
    { 0, "save-output", NULL, NTK_OPT_FLAG, &arg_save_output,
      "write each output to NAME.out, and outputs of later executions to NAME.out.NUMBER" },
    { 0, "save-output-npy", NULL, NTK_OPT_FLAG, &arg_save_output_npy,
      "write each output to NAME.npy or NAME.npy.NUMBER" },
    { 0, "save-nth-output", "N", NTK_OPT_U64, &arg_save_nth,
      "save the outputs of every Nth execution (default 1); execute at least N times",
      .is_above_zero = true },
    { 0, "write-tensors-per-exec", "WHICH", NTK_OPT_CHOICE, &arg_write_tensors,
      "write the inputs again before every execution, in case an earlier one overwrote them: none "
      "(default), alias or all (both write all inputs)",
      .choices = "none alias all" },
    { 0, "check-output-determinism", NULL, NTK_OPT_FLAG, &arg_check_determinism,
      "fail if two executions give different outputs" },
    { 0, "enable-dge-notifs", NULL, NTK_OPT_FLAG, &arg_dge,
      "make the hardware record the transfers of its descriptor engines (slower)" },
    { 0, "io-from", "SOURCE", NTK_OPT_CHOICE, &arg_io_from,
      "fill inputs that have no FILE with zeros (default), or with the members inputs/NAME.npy or "
      ".bin of the NEFF (neff)",
      .choices = "zeros neff" },
    { 0, "single-io", NULL, NTK_OPT_FLAG, &arg_single_io,
      "use one buffer for all inputs and outputs; this saves memory, but the values are "
      "meaningless" },
    { 0, "single-io-threshold", "SIZE", NTK_OPT_BYTES, &arg_single_io_threshold,
      "with --single-io: give smaller tensors a separate buffer" },
    { 0, "systrace-get-event-types", NULL, NTK_OPT_FLAG, &arg_list_types,
      "list the event types of a systrace and exit" },
    { 0, "systrace-event-filter", "TYPE", NTK_OPT_CALL, (void *)&type_adder,
      "record only this type, or hardware or software; ^ before a name records all others; may be "
      "repeated" },
    { 0, "Several workers, one process each", NULL, NTK_OPT_HEADING, NULL, NULL },
    { 'r', "collectives-workers-per-node", "N", NTK_OPT_U64, &arg_workers,
      "start N workers on this host; their files are named FILE_rank_ID.ntff",
      .is_above_zero = true },
    { 0, "collectives-worker-count", "N", NTK_OPT_U64, &arg_worker_count,
      "set the number of workers on all nodes (default: those on this host)",
      .is_above_zero = true },
    { 0, "collectives-worker-start-id", "ID", NTK_OPT_U64, &arg_worker_start,
      "set the rank of the first worker on this host (default 0)" },
    { 'i', "collectives-profile-id", "ID", NTK_OPT_TEXT, &arg_profile_id,
      "record only this rank, or all (default)" },
    { 'm', "multi-input", "FILE", NTK_OPT_TEXT, &arg_multi_input,
      "read the inputs of each worker on this host from one line of this file, as NAME FILE ..." },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile capture",
    .usage = "-n FILE.neff -s FILE.ntff [OPTION]... [NAME FILE]...",
    .summary = "Executes a NEFF on a NeuronCore and records core activity. Inputs are "
               "zero, or read from the FILE given for their NAME (raw bytes, or .npy).",
    .options = options,
    .epilogue = "The library is $NEURON_LIBNRT if set, otherwise the libnrt.so.1 that the loader\n"
                "finds, or the one in /opt/aws/neuron/lib. Without these, and without a Neuron\n"
                "driver, it is the software runtime of this installation. The program prints its\n"
                "name on stderr.",
};

/* Number of the last execution with a file; 1 for a systrace with a file. */
static uint64_t last_recorded;

struct plan {
    uint64_t executions; /* number of counted executions */
    uint64_t every;      /* record every n-th execution; 0 for none */
    bool is_systrace;
    bool is_first; /* true if this worker shows progress */
    char *path;
};

/* Inputs of a worker; index is the number among local workers. */
struct inputs {
    uint64_t index;
    char *const *pairs; /* pairs of name and file */
    int count;
};

/* Returns true if the execution is recorded. Captures are numbered from 1, like executions. A
 * system trace is one file. */
static bool is_recorded(const struct plan *plan, uint64_t number)
{
    return !plan->is_systrace && plan->every > 0 && number > 0 && number % plan->every == 0;
}

/* Returns a path such as "run_exec_2.ntff" for "run.ntff" if `what` is "exec". */
static char *numbered_path(const char *path, const char *what, uint64_t number)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    char *numbered = NULL;
    int stem = dot ? (int)(dot - path) : (int)strlen(path);

    if (asprintf(&numbered, "%.*s_%s_%llu%s", stem, path, what, (unsigned long long)number,
                 dot ? dot : ".ntff") < 0) {
        return NULL;
    }
    return numbered;
}

/* Returns the path for the execution with this number. */
static char *capture_path(const char *path, uint64_t number)
{
    return number == 1 ? strdup(path) : numbered_path(path, "exec", number);
}

/* Makes the plan; returns 0, or the exit code after printing a usage error. */
static int make_plan(struct plan *plan)
{
    plan->is_systrace = strcmp(arg_type, "systrace") == 0;
    if (arg_executions == 0) {
        return ntk_opt_usage_error(&program, "--num-exec must be at least 1");
    }
    if (arg_single_io_threshold > 0 && !arg_single_io) {
        return ntk_opt_usage_error(&program, "--single-io-threshold requires --single-io");
    }
    if (arg_save_nth > 0 && !arg_save_output && !arg_save_output_npy) {
        return ntk_opt_usage_error(&program,
                                   "--save-nth-output requires --save-output or --save-output-npy");
    }
    plan->every = arg_disable_profile ? 0 : arg_nth;
    plan->executions = arg_executions > plan->every ? arg_executions : plan->every;
    plan->executions = plan->executions > arg_save_nth ? plan->executions : arg_save_nth;
    arg_save_nth = arg_save_nth > 0 ? arg_save_nth : 1;
    const char *session = plan->is_systrace ? "profile.json" : "profile.ntff";
    plan->path = strdup(arg_session ? arg_session : session);
    return plan->path ? 0 : 1;
}

/* is_waited: wait for the end, even if executions are queued. */
static int execute(struct ntk_session *session, bool is_waited, struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];
    int ret = ntk_session_execute(session, err);

    if (ret >= 0 && is_waited && strcmp(arg_mode, "sync") != 0) {
        int drained = ntk_session_drain(session, err);

        ret = drained != 0 ? drained : ret;
    }
    if (ret > 0 || (ret < 0 && arg_ignore_errors)) {
        fprintf(stderr, "neuron-profile: %s; continuing\n", ntk_err_format(err, text, sizeof text));
        *err = (struct ntk_err){ 0 };
        ret = 0;
    }
    return ret;
}

/* Sets inputs from pairs of name and file. */
static int inputs_set(struct ntk_session *session, char *const *inputs, int count,
                      struct ntk_err *err)
{
    int ret = 0;

    for (int i = 0; i + 1 < count && ret == 0; i += 2) {
        ret = ntk_session_set_input(session, inputs[i], inputs[i + 1], err);
    }
    return ret;
}

#define LINE_WORDS_MAX 512
#define LINES_BYTES_MAX ((size_t)16 << 20)

/* Sets inputs from the line of worker `index` in --multi-input. */
static int inputs_from_line(struct ntk_session *session, uint64_t index, struct ntk_err *err)
{
    char *words[LINE_WORDS_MAX];
    uint8_t *bytes = NULL;
    size_t size = 0;
    int count = 0;
    char *rest = NULL;
    int ret = ntk_fs_read(arg_multi_input, LINES_BYTES_MAX, &bytes, &size, err);

    if (ret < 0) {
        return ret;
    }
    char *line = (char *)bytes;
    for (uint64_t i = 0; i < index && line; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line || !*line) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s has no line %" PRIu64,
                          arg_multi_input, index + 1);
    } else {
        line[strcspn(line, "\n")] = '\0';
        for (char *word = strtok_r(line, " \t\r", &rest); word && count < LINE_WORDS_MAX;
             word = strtok_r(NULL, " \t\r", &rest)) {
            words[count++] = word;
        }
        ret = count % 2 ? ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                      "%s, line %" PRIu64 ": missing file for input '%s'",
                                      arg_multi_input, index + 1, words[count - 1])
                        : inputs_set(session, words, count, err);
    }
    free(bytes);
    return ret;
}

/* Writes all inputs, from the given sources; inputs without a source are zero. */
static int inputs_write(struct ntk_session *session, const struct inputs *inputs,
                        struct ntk_err *err)
{
    int ret = ntk_session_zero_inputs(session, err);

    if (ret == 0) {
        ret = inputs_set(session, inputs->pairs, inputs->count, err);
    }
    if (ret == 0 && arg_multi_input) {
        ret = inputs_from_line(session, inputs->index, err);
    }
    if (ret == 0 && strcmp(arg_io_from, "neff") == 0) {
        ret = ntk_session_set_inputs_from_neff(session, arg_neff, err);
    }
    return ret;
}

/* ---- executions ---- */

/* Records from start to stop, including failing executions. */
static int execute_recorded(struct ntk_session *session, const struct plan *plan, uint64_t number,
                            struct ntk_err *err)
{
    char *path = capture_path(plan->path, number);

    if (!path) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_session_record_start(session, path, err);
    if (ret == 0) {
        ret = execute(session, true, err);
        int stopped = ntk_session_record_stop(session, ret < 0 ? NULL : err);
        ret = ret < 0 ? ret : stopped;
        /* The file of a full disk is incomplete; one from before this run does not count. */
        bool is_written = stopped == 0 || (stopped == -ENOSPC && access(path, F_OK) == 0);
        last_recorded = is_written ? number : last_recorded;
    }
    free(path);
    return ret;
}

static int check_outputs(struct ntk_session *session, uint64_t index, uint32_t *first_crc,
                         struct ntk_err *err)
{
    uint32_t crc = 0;
    int ret = ntk_session_output_crc(session, &crc, err);

    if (ret == 0 && index > 0 && crc != *first_crc) {
        return ntk_err_set(err, -EILSEQ, NTK_ERR_NO_OFFSET,
                           "the outputs of execution %" PRIu64
                           " differ from those of the first (CRC32 %08x, %08x)",
                           index + 1, crc, *first_crc);
    }
    *first_crc = index == 0 ? crc : *first_crc;
    return ret;
}

static int save_outputs(struct ntk_session *session, uint64_t number, struct ntk_err *err)
{
    int ret = arg_save_output ? ntk_session_save_outputs(session, false, number, err) : 0;

    return ret == 0 && arg_save_output_npy ? ntk_session_save_outputs(session, true, number, err)
                                           : ret;
}

static int run(struct ntk_session *session, const struct plan *plan, const struct inputs *inputs,
               struct ntk_err *err)
{
    struct ntk_progress progress;
    uint32_t first_crc = 0;
    uint64_t total = arg_warmup + plan->executions;
    bool is_saving = arg_save_output || arg_save_output_npy;
    bool is_rewriting = strcmp(arg_write_tensors, "none") != 0;
    /* Executions cannot be queued if the host accesses their tensors in between. */
    bool is_queued = strcmp(arg_mode, "async") == 0 && !arg_check_determinism && !is_rewriting;
    bool is_tracing = false;
    int ret = 0;

    ntk_progress_begin(&progress, "executing");
    for (uint64_t i = 0; i < total && ret == 0; i++) {
        /* number after warm-up */
        uint64_t number = i < arg_warmup ? 0 : i + 1 - arg_warmup;
        bool is_saved = is_saving && number > 0 && number % arg_save_nth == 0;

        if (plan->is_systrace && plan->every && i == arg_warmup) {
            ret = ntk_session_trace_start(session, arg_types, err);
            is_tracing = ret == 0;
        }
        if (ret == 0 && is_rewriting && i > 0) {
            ret = inputs_write(session, inputs, err);
        }
        if (ret == 0 && is_recorded(plan, number)) {
            ret = execute_recorded(session, plan, number, err);
        } else if (ret == 0) {
            /* Earlier queued executions must not be in the recording. */
            bool is_before = i + 1 >= arg_warmup && is_recorded(plan, i + 2 - arg_warmup);

            ret = execute(session, !is_queued || is_saved || is_before || i + 1 == total, err);
        }
        if (ret == 0 && arg_check_determinism) {
            ret = check_outputs(session, i, &first_crc, err);
        }
        if (ret == 0 && is_saved) {
            ret = save_outputs(session, number, err);
        }
        if (plan->is_first) {
            ntk_progress_show(&progress, (double)(i + 1) / (double)total);
        }
    }
    ntk_progress_end(&progress);
    if (is_tracing) { /* also after a failed execution, because the trace explains it */
        int stopped = ntk_session_trace_stop(session, plan->path, ret < 0 ? NULL : err);

        last_recorded = stopped == 0;
        ret = ret < 0 ? ret : stopped;
    }
    return ret;
}

/* Does the whole work of one worker. */
static int work(const struct plan *plan, const struct inputs *inputs, struct ntk_err *err)
{
    struct ntk_session_options wanted = { .has_single_io = arg_single_io,
                                          .single_io_threshold_bytes = arg_single_io_threshold,
                                          .is_async = strcmp(arg_mode, "sync") != 0 };
    struct ntk_session *session = NULL;

    if (arg_workers > 0) {
        wanted.rank_count = (uint32_t)arg_worker_count;
        wanted.rank = (uint32_t)(arg_worker_start + inputs->index);
    }
    int ret = ntk_session_open(arg_neff, &wanted, &session, err);
    if (ret < 0) {
        ntk_profile_say_if_ntff(arg_neff, err);
    }
    if (ret == 0 && plan->is_first) {
        fprintf(stderr, "neuron-profile: library %s\n", ntk_session_library(session));
    }
    if (ret == 0) {
        ret = inputs_write(session, inputs, err);
    }
    if (ret == 0) {
        ret = ntk_session_meet(session, err);
    }
    if (ret == 0) {
        ret = run(session, plan, inputs, err);
    }
    ntk_session_close(session);
    return ret;
}

/* Prints the files that a worker wrote, up to the last. Returns 0, or the exit code. */
static int paths_print(const struct plan *plan, uint64_t last)
{
    if (plan->is_systrace && plan->every && last > 0) {
        printf("%s\n", plan->path);
    }
    for (uint64_t number = 1; number <= last; number++) {
        char *path = is_recorded(plan, number) ? capture_path(plan->path, number) : NULL;

        if (path) {
            printf("%s\n", path);
        } else if (is_recorded(plan, number)) {
            return 1;
        }
        free(path);
    }
    return 0;
}

/* ---- several workers ---- */

/* Sets their meeting point, and a core for each, unless specified by the user. */
static void worker_environment(uint64_t index, pid_t parent)
{
    char text[64];

    (void)snprintf(text, sizeof text, "127.0.0.1:%d", 20000 + (int)parent % 40000);
    (void)setenv("NEURON_RT_ROOT_COMM_ID", text, 0);
    if (!getenv("NEURON_RT_VISIBLE_CORES") && !getenv("NEURON_RT_NUM_CORES")) {
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)index);
        (void)setenv("NEURON_RT_VISIBLE_CORES", text, 1);
    }
}

/* Returns true if this rank records. */
static bool is_recording(uint64_t rank)
{
    uint64_t wanted = 0;

    return strcmp(arg_profile_id, "all") == 0 ||
           (ntk_str_parse_u64(arg_profile_id, &wanted) == 0 && wanted == rank);
}

static int worker_plan(const struct plan *plan, uint64_t index, struct plan *to)
{
    uint64_t rank = arg_worker_start + index;

    assert(plan->path); /* make_plan() has set it */
    *to = *plan;
    to->is_first = index == 0;
    to->every = is_recording(rank) ? plan->every : 0;
    to->path = numbered_path(plan->path, "rank", rank);
    return to->path ? 0 : -ENOMEM;
}

struct crew {
    const struct plan *plan;
    pid_t parent;
    const struct inputs *inputs;
};

/* Runs in the child. */
static int worker_main(uint64_t index, void *ctx)
{
    const struct crew *crew = ctx;
    struct ntk_err err = { 0 };
    struct inputs inputs = *crew->inputs;
    struct plan mine;

    inputs.index = index;
    worker_environment(index, crew->parent);
    int ret = worker_plan(crew->plan, index, &mine);
    if (ret == 0) {
        ret = work(&mine, &inputs, &err);
        free(mine.path);
    }
    if (ret < 0) {
        ntk_err_prefix(&err, "rank %" PRIu64, arg_worker_start + index);
        return ntk_profile_fail(&err);
    }
    return 0;
}

/* Prints the names of files after all workers have succeeded. */
static int workers_run(const struct plan *plan, const struct inputs *inputs)
{
    struct crew crew = { plan, getpid(), inputs };
    struct ntk_err err = { 0 };
    int ret = ntk_workers_run(arg_workers, worker_main, &crew, &err);

    if (ret < 0) {
        return ntk_profile_fail(&err);
    }
    for (uint64_t i = 0; i < arg_workers && ret == 0; i++) {
        struct plan of = { 0 };

        ret = worker_plan(plan, i, &of) == 0 ? paths_print(&of, of.executions) : 1;
        free(of.path);
    }
    return ret;
}

#define WORKERS_MAX 1024U

/* Checks the workers; returns 0, or the exit code after printing a usage error. */
static int check_workers(void)
{
    uint64_t id = 0;

    if (arg_workers == 0 && (arg_worker_count || arg_worker_start || arg_multi_input)) {
        return ntk_opt_usage_error(&program,
                                   "worker options require --collectives-workers-per-node");
    }
    arg_worker_count = arg_worker_count ? arg_worker_count : arg_worker_start + arg_workers;
    if (arg_workers > WORKERS_MAX || arg_worker_count > WORKERS_MAX ||
        arg_worker_start > arg_worker_count || arg_workers > arg_worker_count - arg_worker_start) {
        return ntk_opt_usage_error(&program, "ranks %llu to %llu exceed the %llu workers",
                                   (unsigned long long)arg_worker_start,
                                   (unsigned long long)(arg_worker_start + arg_workers - 1),
                                   (unsigned long long)arg_worker_count);
    }
    if (strcmp(arg_profile_id, "all") == 0) {
        return 0;
    }
    if (ntk_str_parse_u64(arg_profile_id, &id) < 0) {
        return ntk_opt_usage_error(
            &program, "invalid value '%s' for --collectives-profile-id: expected all or a rank",
            arg_profile_id);
    }
    uint64_t count = arg_workers ? arg_worker_count : 1;
    if (id >= count) {
        return ntk_opt_usage_error(
            &program, "--collectives-profile-id: rank %llu does not exist (number of ranks: %llu)",
            (unsigned long long)id, (unsigned long long)count);
    }
    if (arg_workers && (id < arg_worker_start || id - arg_worker_start >= arg_workers)) {
        fprintf(stderr,
                "neuron-profile: rank %llu runs on another node: nothing is recorded here\n",
                (unsigned long long)id);
    }
    return 0;
}

static int types_print(void)
{
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int code = ntk_session_trace_types(&text, &err) < 0 ? ntk_profile_fail(&err)
                                                        : ntk_profile_put(&text, NULL);

    ntk_buf_fini(&text);
    return code;
}

int ntk_cmd_capture(int argc, char **argv)
{
    struct plan plan = { .is_first = true };
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (arg_list_types) {
        return types_print();
    }
    if ((argc - first) % 2) {
        return ntk_opt_usage_error(&program, "missing file for input '%s'", argv[argc - 1]);
    }
    if (!arg_neff && access(NEFF_DEFAULT, F_OK) != 0) {
        return ntk_opt_usage_error(&program, "no NEFF: use -n FILE (the default, " NEFF_DEFAULT
                                             ", is missing from this folder)");
    }
    arg_neff = arg_neff ? arg_neff : NEFF_DEFAULT;
    int code = make_plan(&plan);
    if (code == 0) {
        code = check_workers();
    }
    if (code) {
        free(plan.path);
        return code;
    }
    if (arg_dge) {
        (void)setenv("NEURON_RT_ENABLE_DGE_NOTIFICATIONS", "1", 1);
    }
    const struct inputs inputs = { .pairs = argv + first, .count = argc - first };
    if (arg_workers > 0) {
        code = workers_run(&plan, &inputs);
    } else {
        code = work(&plan, &inputs, &err) < 0 ? ntk_profile_fail(&err) : 0;
        int printed = paths_print(&plan, last_recorded); /* even after a failure */
        code = code ? code : printed;
    }
    free(plan.path);
    return code;
}
