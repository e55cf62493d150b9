/* SPDX-License-Identifier: MIT */
/* cmd_capture - runs a NEFF and records one of its executions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/session.h"
#include "profiler/cmd.h"
#include "profiler/progress.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"

static const char *arg_neff = "file.neff";
static const char *arg_session = "profile.ntff";
static const char *arg_nth;
static const char *arg_type = "profile";
static const char *arg_mode = "sync";
static uint64_t arg_executions = 1;
static uint64_t arg_warmup;
static bool arg_ignore_errors;
static bool arg_disable_profile;
static bool arg_save_output;
static bool arg_save_output_npy;
static bool arg_check_determinism;

static const struct ntk_opt options[] = {
    { 'n', "neff", "FILE", NTK_OPT_TEXT, &arg_neff, "the NEFF to run (default file.neff)" },
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session,
      "the capture to write (default profile.ntff)" },
    { 0, "num-exec", "N", NTK_OPT_U64, &arg_executions, "how often to execute (default 1)" },
    { 0, "profile-nth-exec", "N", NTK_OPT_TEXT, &arg_nth,
      "record the Nth execution, into FILE_exec_N.ntff; 0 records none" },
    { 0, "warmup", "N", NTK_OPT_U64, &arg_warmup,
      "executions before the counted ones (default 0)" },
    { 't', "capture-type", "TYPE", NTK_OPT_TEXT, &arg_type, "profile" },
    { 0, "exec-mode", "MODE", NTK_OPT_TEXT, &arg_mode, "sync" },
    { 0, "ignore-exec-errors", NULL, NTK_OPT_FLAG, &arg_ignore_errors,
      "go on when an execution fails" },
    { 0, "disable-profile", NULL, NTK_OPT_FLAG, &arg_disable_profile, "execute, record nothing" },
    { 0, "save-output", NULL, NTK_OPT_FLAG, &arg_save_output, "write each output to NAME.out" },
    { 0, "save-output-npy", NULL, NTK_OPT_FLAG, &arg_save_output_npy,
      "write each output to NAME.npy" },
    { 0, "check-output-determinism", NULL, NTK_OPT_FLAG, &arg_check_determinism,
      "fail when two executions give different outputs" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile capture",
    .usage = "-n FILE.neff -s FILE.ntff [OPTION]... [NAME FILE]...",
    .summary =
        "Executes a NEFF on a NeuronCore and records what the core does. Inputs are zero, or\n"
        "read from the FILE given for their NAME (raw bytes, or .npy).",
    .options = options,
    .epilogue = "NEURON_LIBNRT names another libnrt.so.1 than the one beside this program.",
};

struct plan {
    uint64_t executions; /* counted ones */
    uint64_t recorded;   /* which of them, from 1; 0 none */
    char *path;
};

/* "run_exec_2.ntff" for "run.ntff". */
static char *numbered_path(const char *path, uint64_t number)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    char *numbered = NULL;
    int stem = dot ? (int)(dot - path) : (int)strlen(path);

    if (asprintf(&numbered, "%.*s_exec_%llu%s", stem, path, (unsigned long long)number,
                 dot ? dot : ".ntff") < 0) {
        return NULL;
    }
    return numbered;
}

/* 0, or the exit code with the usage error printed. */
static int make_plan(struct plan *plan)
{
    uint64_t nth = 1;

    if (strcmp(arg_type, "profile") != 0) {
        return ntk_opt_usage_error(&program, "unknown capture type '%s': use profile", arg_type);
    }
    if (strcmp(arg_mode, "sync") != 0) {
        return ntk_opt_usage_error(&program, "unknown execution mode '%s': use sync", arg_mode);
    }
    if (arg_executions == 0) {
        return ntk_opt_usage_error(&program, "--num-exec must be at least 1");
    }
    if (arg_nth && ntk_str_parse_u64(arg_nth, &nth) < 0) {
        return ntk_opt_usage_error(&program, "--profile-nth-exec takes a number, not '%s'",
                                   arg_nth);
    }
    plan->recorded = arg_disable_profile ? 0 : nth;
    plan->executions = arg_executions > plan->recorded ? arg_executions : plan->recorded;
    plan->path = arg_nth && plan->recorded ? numbered_path(arg_session, nth) : strdup(arg_session);
    return plan->path ? 0 : 1;
}

static int execute(struct ntk_session *session, struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];
    int ret = ntk_session_execute(session, err);

    if (ret > 0 || (ret < 0 && arg_ignore_errors)) {
        fprintf(stderr, "neuron-profile: %s; going on\n", ntk_err_format(err, text, sizeof text));
        *err = (struct ntk_err){ 0 };
        ret = 0;
    }
    return ret;
}

static int run(struct ntk_session *session, const struct plan *plan, struct ntk_err *err)
{
    struct ntk_progress progress;
    uint32_t first_crc = 0;
    uint64_t total = arg_warmup + plan->executions;
    int ret = 0;

    ntk_progress_begin(&progress, "executing");
    for (uint64_t i = 0; i < total && ret == 0; i++) {
        bool is_recorded = plan->recorded && i + 1 == arg_warmup + plan->recorded;
        if (is_recorded) {
            ret = ntk_session_record_start(session, plan->path, err);
        }
        if (ret == 0) {
            ret = execute(session, err);
        }
        if (is_recorded) {
            /* An execution that failed is recorded as well: that is when one wants to see it. */
            int stopped = ntk_session_record_stop(session, ret < 0 ? NULL : err);
            ret = ret < 0 ? ret : stopped;
        }
        if (ret == 0 && arg_check_determinism) {
            uint32_t crc = 0;
            ret = ntk_session_output_crc(session, &crc, err);
            if (ret == 0 && i > 0 && crc != first_crc) {
                ret = ntk_err_set(
                    err, -EILSEQ, NTK_ERR_NO_OFFSET,
                    "execution %llu gave other outputs than the first (CRC32 %08x, %08x)",
                    (unsigned long long)i + 1, crc, first_crc);
            }
            first_crc = i == 0 ? crc : first_crc;
        }
        ntk_progress_show(&progress, (double)(i + 1) / (double)total);
    }
    ntk_progress_end(&progress);
    return ret;
}

int ntk_cmd_capture(int argc, char **argv)
{
    struct ntk_session *session = NULL;
    struct plan plan = { 0 };
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(&program, argc, argv);
    int ret;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if ((argc - first) % 2) {
        return ntk_opt_usage_error(&program, "input '%s' has no file", argv[argc - 1]);
    }
    int code = make_plan(&plan);
    if (code) {
        return code;
    }
    ret = ntk_session_open(arg_neff, &session, &err);
    for (int i = first; i + 1 < argc && ret == 0; i += 2) {
        ret = ntk_session_set_input(session, argv[i], argv[i + 1], &err);
    }
    if (ret == 0) {
        ret = run(session, &plan, &err);
    }
    if (ret == 0 && arg_save_output) {
        ret = ntk_session_save_outputs(session, false, &err);
    }
    if (ret == 0 && arg_save_output_npy) {
        ret = ntk_session_save_outputs(session, true, &err);
    }
    ntk_session_close(session);
    if (ret == 0 && plan.recorded) {
        printf("%s\n", plan.path);
    }
    free(plan.path);
    return ret < 0 ? ntk_profile_fail(&err) : 0;
}
