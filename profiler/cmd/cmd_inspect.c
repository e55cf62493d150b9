/* SPDX-License-Identifier: MIT */
/*
 * cmd_inspect - runs a program with variables that make its runtime write profiles to a folder, or
 * records a running process from outside.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "shared/base/progress.h"
#include "profiler/system/live_trace.h"
#include "profiler/system/session_find.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/units.h"

#define EVENTS_PER_CORE 1000000U

static const char *arg_output = "./output";
static const char *arg_mode = "model";
static const char *arg_format;
static uint64_t arg_events;
static uint64_t arg_pid;
static uint64_t arg_duration_ns;
static bool arg_system;
static bool arg_device;
static bool arg_on_fail;
static bool arg_cpu;
static bool arg_memory;

static const struct ntk_opt options[] = {
    { 'o', "output-dir", "FOLDER", NTK_OPT_TEXT, &arg_output,
      "write profiles to this folder (default ./output)" },
    { 'p', "pid", "PID", NTK_OPT_U64, &arg_pid,
      "record a running process from outside instead of a command: only calls and executions, not "
      "the activity inside an execution",
      .is_above_zero = true },
    { 0, "duration", "TIME", NTK_OPT_DURATION, &arg_duration_ns,
      "with --pid: record for TIME (default 10s), or until ctrl-c", .is_above_zero = true },
    { 'n', "num-trace-events", "N", NTK_OPT_U64, &arg_events,
      "keep N events per core in the system trace (default 1000000)", .is_above_zero = true },
    { 0, "capture-system-profiles", NULL, NTK_OPT_FLAG, &arg_system,
      "record host activity (default, unless --capture-device-profiles is given)" },
    { 0, "capture-device-profiles", NULL, NTK_OPT_FLAG, &arg_device, "record core activity" },
    { 0, "device-profile-mode", "MODE", NTK_OPT_CHOICE, &arg_mode,
      "record the first execution of each NEFF on each core (model, default), or all executions "
      "(session), one file per core",
      .choices = "model session" },
    { 0, "format", "FORMAT", NTK_OPT_CHOICE, &arg_format,
      "write files in the layout own (default) or vendor (as the vendor's runtime does); only with "
      "a runtime of this toolkit",
      .choices = "own vendor" },
    { 0, "on-fail", NULL, NTK_OPT_FLAG, &arg_on_fail, "also record failed executions" },
    { 0, "cpu-util", NULL, NTK_OPT_FLAG, &arg_cpu, "record the CPU load" },
    { 0, "host-memory", NULL, NTK_OPT_FLAG, &arg_memory, "record host memory usage" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile inspect",
    .usage = "[OPTION]... [--] COMMAND [ARGUMENT]...\n--pid PID [OPTION]...",
    .summary =
        "Runs a program, and makes the Neuron runtime write profiles of it and of the processes "
        "that it starts, to one folder per process. Prints these folders at the end.",
    .options = options,
    .stop_at_operand = true,
    .epilogue = "neuron-profile view -d FOLDER shows them. The exit code is that of the command.",
};

/* Sets a variable if the option was given; otherwise the user's setting is used. */
static void variable_set(const char *name, bool is_asked, const char *value)
{
    if (is_asked) {
        (void)setenv(name, value, 1);
    }
}

static void environment_make(void)
{
    char events[32];

    (void)snprintf(events, sizeof events, "%llu", (unsigned long long)arg_events);
    (void)setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    (void)setenv("NEURON_RT_INSPECT_OUTPUT_DIR", arg_output, 1);
    variable_set("NEURON_RT_INSPECT_SYSTEM_PROFILE", arg_system || arg_device,
                 arg_system ? "1" : "0");
    variable_set("NEURON_RT_INSPECT_DEVICE_PROFILE", arg_system || arg_device,
                 arg_device ? arg_mode : "0");
    variable_set("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC", arg_events > 0, events);
    variable_set("NEURON_RT_INSPECT_FORMAT", arg_format != NULL, arg_format);
    variable_set("NEURON_RT_INSPECT_ON_FAIL", arg_on_fail, "1");
    variable_set("NEURON_RT_INSPECT_CPU_UTIL", arg_cpu, "1");
    variable_set("NEURON_RT_INSPECT_HOST_MEMORY", arg_memory, "1");
}

static volatile sig_atomic_t child;

/* Passes a stop signal to the command, which then closes its runtime and writes its files. */
static void pass_on(int number)
{
    if (child > 0) {
        (void)kill((pid_t)child, number);
    }
}

/* Runs the command; returns its exit code, or 128 + its signal; 127 or 126 if it cannot be run. */
static int command_run(char **argv)
{
    struct sigaction forward = { .sa_handler = pass_on };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    pid_t pid = 0;
    int status = 0;

    /* A terminal also sends these signals to the command. */
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    int ret = ntk_child_start(&(struct ntk_child){ .argv = argv }, &pid);
    if (ret < 0) {
        fprintf(stderr, "neuron-profile: cannot run '%s': %s\n", argv[0], strerror(-ret));
        return ret == -ENOENT ? 127 : 126;
    }
    child = pid;
    sigaction(SIGTERM, &forward, NULL);
    sigaction(SIGHUP, &forward, NULL);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return 1;
        }
    }
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Checks the folder here, because the runtime in the command reports problems late or not at all.
 * *out_is_new: the folder was created. */
static int output_prepare(bool *out_is_new, struct ntk_err *err)
{
    *out_is_new = access(arg_output, F_OK) != 0;
    int ret = ntk_fs_make_folders(arg_output, 0755, NULL);

    if (ret == 0 && access(arg_output, W_OK | X_OK) != 0) {
        ret = -errno;
    }
    return ret < 0 ? ntk_err_set(
                         err, ret, NTK_ERR_NO_OFFSET,
                         "cannot write profiles to folder '%s': %s; choose another folder with -o",
                         arg_output, strerror(-ret))
                   : 0;
}

/* Prints the folders created since `since`. */
static void folders_print(const struct timespec *since)
{
    struct ntk_vec paths;
    struct ntk_err err = { 0 };
    size_t printed = 0;

    if (ntk_session_find(arg_output, &paths, &err) == 0) {
        ntk_vec_each(char *, path, &paths) {
            struct stat status;

            if (stat(*path, &status) == 0 && (status.st_mtim.tv_sec > since->tv_sec ||
                                              (status.st_mtim.tv_sec == since->tv_sec &&
                                               status.st_mtim.tv_nsec >= since->tv_nsec))) {
                printf("%s\n", *path);
                printed++;
            }
        }
        ntk_session_paths_fini(&paths);
    }
    if (printed == 0) {
        fprintf(stderr,
                "neuron-profile: the command wrote no profile to %s: it did not initialise the "
                "Neuron runtime, or exited without nrt_close\n",
                arg_output);
    }
}

/* ---- a running process ---- */

static volatile sig_atomic_t is_over;

static void end(int number)
{
    (void)number;
    is_over = 1;
}

static bool continues(double share, void *ctx)
{
    ntk_progress_show(ctx, share);
    return !is_over;
}

/* Records a process and prints the folder, like folders_print(). Returns the exit code. */
static int process_record(void)
{
    const struct sigaction stop = { .sa_handler = end };
    struct ntk_live_trace_result result = { 0 };
    struct ntk_progress progress;
    struct ntk_err err = { 0 };
    char what[64];
    char time_text[NTK_UNITS_TEXT_BYTES];

    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
    (void)snprintf(what, sizeof what, "recording process %u", (unsigned)arg_pid);
    ntk_progress_begin(&progress, what);
    int ret = ntk_live_trace_record(
        &(struct ntk_live_trace_options){
            .pid = (uint32_t)arg_pid,
            .duration_ns = arg_duration_ns ? arg_duration_ns : 10 * NTK_NS_PER_SECOND,
            .events_per_core = arg_events ? arg_events : EVENTS_PER_CORE,
            .folder = arg_output,
            .continues = continues,
            .ctx = &progress },
        &result, &err);
    ntk_progress_end(&progress);
    if (ret < 0) {
        return ntk_profile_fail(&err);
    }
    if (ret > 0) {
        (void)ntk_profile_fail(&err); /* partial data was written */
    }
    fprintf(stderr, "neuron-profile: recorded %s, %llu executions%s\n",
            ntk_units_duration(time_text, sizeof time_text, result.recorded_ns),
            (unsigned long long)result.executions,
            result.has_ended ? "; then the process exited" : "");
    if (result.lost > 0) {
        fprintf(stderr, "neuron-profile: %llu events were overwritten before they could be read\n",
                (unsigned long long)result.lost);
    }
    printf("%s\n", result.folder);
    free(result.folder);
    return ret > 0;
}

int ntk_cmd_inspect(int argc, char **argv)
{
    struct timespec since;
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (arg_duration_ns > 0 && arg_pid == 0) {
        return ntk_opt_usage_error(&program, "--duration requires --pid");
    }
    if (arg_pid > 0 && first < argc) {
        return ntk_opt_usage_error(&program, "--pid and a command are mutually exclusive");
    }
    if (arg_pid > 0 && arg_format && strcmp(arg_format, "vendor") == 0) {
        return ntk_opt_usage_error(&program, "--pid requires --format own");
    }
    if (arg_pid > 0 && (arg_device || arg_on_fail || arg_cpu || arg_memory)) {
        return ntk_opt_usage_error(
            &program, "--pid records only the calls of a running process: to record more, "
                      "start the process with neuron-profile inspect");
    }
    if (arg_pid > INT32_MAX) {
        return ntk_opt_usage_error(&program, "--pid must be at most %d", INT32_MAX);
    }
    if (arg_pid > 0) {
        return process_record();
    }
    if (first >= argc) {
        return ntk_opt_argument_error(&program, "COMMAND", NULL);
    }
    struct ntk_err err = { 0 };
    bool is_new = false;
    if (output_prepare(&is_new, &err) < 0) {
        return ntk_profile_fail(&err);
    }
    environment_make();
    fprintf(stderr, "INFO[0000] Running command \"");
    for (int i = first; i < argc; i++) {
        fprintf(stderr, "%s%s", i > first ? " " : "", argv[i]);
    }
    fprintf(stderr, "\" with profiling enabled\n");
    clock_gettime(CLOCK_REALTIME_COARSE, &since); /* clock of file times */
    int code = command_run(argv + first);
    if (code != 126 && code != 127) {
        folders_print(&since);
    }
    if (is_new) {
        (void)rmdir(arg_output); /* removes the folder only if it is empty */
    }
    return code;
}
