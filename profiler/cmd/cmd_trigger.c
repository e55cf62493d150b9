/* SPDX-License-Identifier: MIT */
/* cmd_trigger - makes running processes record the same executions. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_trigger_ask.h"
#include "profiler/cmd/cmd_trigger_hosts.h"
#include "profiler/cmd/cmd_trigger_tell.h"
#include "profiler/cmd/cmd_trigger_text.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

static volatile sig_atomic_t is_interrupted;
static struct ntk_trigger_options asked = {
    .remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS },
    .uid = UINT64_MAX,
    .executions = 1,
    .timeout_ns = 60 * NTK_NS_PER_SECOND,
    .keep_bytes = UINT64_C(1) << 30,
    .folder = "triggered",
    .is_interrupted = &is_interrupted,
};
static uint64_t arg_parent;
static struct ntk_vec arg_hosts = NTK_VEC_INIT(const char *);

static int add_host(const char *value, struct ntk_err *err)
{
    return ntk_vec_push(&arg_hosts, &value) < 0 ? ntk_err_no_memory(err) : 0;
}
static int (*const call_host)(const char *, struct ntk_err *) = add_host;

static const struct ntk_opt options[] = {
    { 'p', "pid", "PID", NTK_OPT_U64, &asked.pid, "record this process", .is_above_zero = true },
    { 0, "job", "NAME", NTK_OPT_TEXT, &asked.job,
      "record all processes with this tag, or with ranks that meet at this address" },
    { 0, "user", "UID", NTK_OPT_U64, &asked.uid,
      "record only processes of this user (default: record the jobs of several users separately)" },
    { 0, "executions", "N", NTK_OPT_U64, &asked.executions,
      "record N executions (default 1, at most 100000)", .is_above_zero = true },
    { 0, "at-execution", "K", NTK_OPT_U64, &asked.at_execution,
      "begin at execution K, counted in each process from its nrt_init (default: the next one that "
      "no process has reached yet)",
      .is_above_zero = true },
    { 'o', "output", "FOLDER", NTK_OPT_TEXT, &asked.folder,
      "write files to this folder (default triggered)" },
    { 0, "size", "SIZE", NTK_OPT_BYTES, &asked.keep_bytes,
      "limit the captures of a process to about SIZE (default 1G); further records are dropped and "
      "counted",
      .is_above_zero = true },
    { 0, "timeout", "TIME", NTK_OPT_DURATION, &asked.timeout_ns,
      "stop after TIME (default 60s) and keep the recorded part", .is_above_zero = true },
    { 0, "idle", NULL, NTK_OPT_FLAG, &asked.idle,
      "also record what host threads do while cores are idle (see neuron-profile idle)" },
    { 0, "look", NULL, NTK_OPT_FLAG, &asked.only_look,
      "print the current execution of each process, without recording" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &asked.json, "print a JSON object" },
    { 0, "parent", "PID", NTK_OPT_U64, &arg_parent,
      "stop when this process exits (the one that started the command)", .is_above_zero = true },
    { 0, "Other machines", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "host", "HOST[:PORT]", NTK_OPT_CALL, (void *)(uintptr_t)&call_host,
      "record on HOST through its agent (neuron-monitor --capture-remote); may be repeated: all "
      "hosts record the same executions, and the files are downloaded" },
    { 0, "token-file", "FILE", NTK_OPT_TEXT, &asked.remote.token_file,
      "read the bearer token for the agents from FILE" },
    { 0, "ca-file", "FILE", NTK_OPT_TEXT, &asked.remote.ca_file,
      "trust the certificate authorities in this PEM file (default: those of the system)" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile trigger",
    .usage = "--pid PID | --job NAME [--host HOST[:PORT]]... [OPTION]...",
    .summary = "Makes running processes record executions, starting with the same one in all of\n"
               "them, and saves the earlier events that are still in their rings.",
    .options = options,
    .epilogue = "The request uses the shared memory of the process. Only the owner of the\n"
                "process and root can therefore record it. The process must use the runtime of\n"
                "this project. Processes of two users are two jobs, even with equal names: a\n"
                "process that fails affects only processes of the same user. The exit code is 1\n"
                "if a process could not record all executions.",
};

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

static int folder_make(struct ntk_trigger_askings *askings, struct ntk_err *err)
{
    char folder[PATH_MAX];
    int ret = ntk_fs_make_folders(askings->options->folder, 0755, err);

    if (ret < 0) {
        return ret;
    }
    if (!realpath(askings->options->folder, folder)) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", askings->options->folder,
                           strerror(errno));
    }
    for (size_t i = 0; i < askings->count; i++) {
        (void)ntk_str_copy(askings->of[i]->folder, sizeof askings->of[i]->folder, folder);
    }
    return strlen(folder) < NTK_TRIGGER_FOLDER_BYTES
               ? 0
               : ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "%s: the path is too long",
                             folder);
}

/* Returns the first request that succeeded; NULL if none. */
static const struct ntk_trigger_asking *first_good(const struct ntk_trigger_askings *askings)
{
    for (size_t i = 0; i < askings->count; i++) {
        if (askings->of[i]->ret >= 0) {
            return askings->of[i];
        }
    }
    return NULL;
}

static bool has_files(const struct ntk_trigger_askings *askings)
{
    for (size_t i = 0; i < askings->count; i++) {
        for (size_t t = 0; t < askings->of[i]->count; t++) {
            if (askings->of[i]->targets[t].file_count > 0) {
                return true;
            }
        }
    }
    return false;
}

/* Runs all requests; returns the exit code. */
static int ask(struct ntk_trigger_askings *askings)
{
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    /* A single user is handled in this thread, and its failure is the only message. */
    if (askings->count == 1) {
        (void)ntk_trigger_asking_run(askings->of[0]);
        if (askings->of[0]->ret < 0) {
            return ntk_trigger_tell_failure(&askings->of[0]->err, askings->options->json);
        }
    }
    for (size_t i = 0; i < askings->count && askings->count > 1; i++) {
        struct ntk_trigger_asking *asking = askings->of[i];
        int ret = -pthread_create(&asking->thread, NULL, ntk_trigger_asking_run, asking);

        if (ret < 0) { /* is_done without a thread */
            asking->ret = ntk_err_set(&asking->err, ret, NTK_ERR_NO_OFFSET,
                                      "cannot start a thread: %s", strerror(-ret));
            asking->thread = pthread_self();
            atomic_store(&asking->is_done, true);
        }
    }
    ntk_json_init(&json, &out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "processes");
    int code = ntk_trigger_tell_done(askings, &json);
    ntk_json_array_end(&json);
    for (size_t i = 0; i < askings->count && askings->count > 1; i++) {
        if (!pthread_equal(askings->of[i]->thread, pthread_self())) {
            (void)pthread_join(askings->of[i]->thread, NULL);
        }
    }
    const struct ntk_trigger_asking *good = first_good(askings);
    if (!good) {
        /* NOLINTBEGIN(clang-analyzer-core.NullDereference): without requests, it is not called. */
        ntk_json_key_text(&json, "error", askings->of[0]->err.text);
        ntk_json_key_bool(&json, "is_late", askings->of[0]->err.code == -EAGAIN);
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
    } else if (askings->options->only_look) {
        ntk_json_key_u64(&json, "execution", good->now);
        ntk_json_key_double(&json, "executions_per_second", good->per_second);
    } else {
        if (!askings->options->json && has_files(askings)) {
            ntk_trigger_say_next(askings->options->folder, askings->options->idle);
        }
        ntk_json_key_text(&json, "folder", good->folder);
        ntk_json_key_u64(&json, "first_execution", good->first);
        ntk_json_key_u64(&json, "execution_count", askings->options->executions);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(&out, '\n');
    if (askings->options->json && ntk_profile_put(&out, NULL) != 0) {
        code = 1;
    }
    ntk_buf_fini(&out);
    return code;
}

int ntk_cmd_trigger(int argc, char **argv)
{
    struct ntk_ring_registry *registry = NULL;
    struct ntk_trigger_askings askings = { .options = &asked };
    struct ntk_ring_poll poll = { 0 };
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first]);
    }
    if (asked.executions > NTK_TRIGGER_EXECUTIONS_MAX) {
        return ntk_opt_usage_error(&program, "--executions must be at most %u",
                                   NTK_TRIGGER_EXECUTIONS_MAX);
    }
    if ((asked.pid > 0) == (asked.job != NULL)) {
        return ntk_opt_usage_error(&program, asked.job ? "--pid and --job are mutually exclusive"
                                                       : "no process: use --pid PID or --job NAME");
    }
    if (asked.idle && asked.only_look) {
        return ntk_opt_usage_error(&program, "--idle and --look are mutually exclusive");
    }
    if (arg_hosts.count == 0 && (asked.remote.token_file || asked.remote.ca_file)) {
        return ntk_opt_usage_error(&program, "--token-file and --ca-file require --host");
    }
    (void)signal(SIGINT, interrupt);
    (void)signal(SIGTERM, interrupt);
    if (arg_parent > 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        is_interrupted = getppid() != (pid_t)arg_parent; /* the parent ended before */
    }
    if (arg_hosts.count > 0) {
        asked.names = arg_hosts.items;
        asked.count = arg_hosts.count;
        int code = ntk_trigger_hosts(&asked);

        ntk_vec_fini(&arg_hosts);
        return code;
    }
    int ret = ntk_ring_registry_open(&(struct ntk_ring_options){ .from = NTK_RING_FROM_NOW },
                                     &registry, &err);
    ret = ret < 0 ? ret : ntk_ring_registry_poll(registry, &poll, &err);
    ret = ret < 0 ? ret : ntk_trigger_askings_take(&askings, registry, &poll, &err);
    ret = ret < 0 || asked.only_look ? ret : folder_make(&askings, &err);
    int code = ret < 0 ? ntk_trigger_tell_failure(&err, asked.json) : ask(&askings);
    for (size_t i = 0; i < askings.count; i++) {
        ntk_trigger_asking_destroy(askings.of[i]);
    }
    ntk_ring_registry_close(registry);
    return code;
}
