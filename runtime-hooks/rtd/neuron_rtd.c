/* SPDX-License-Identifier: MIT */
/*
 * neuron-rtd - the runtime daemon of the first generation: its clients' interface, served by
 * software NeuronCores.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env_soft.h"
#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"

#define MODULE "rtd"
#define ENDPOINT_DEFAULT "unix:/run/neuron.sock"
#define INSTANCE_DEFAULT "inf1.6xlarge"
#define TIMEOUT_DEFAULT_S 2
#define NINFER_DEFAULT 4

static const char *arg_endpoint = ENDPOINT_DEFAULT;
static uint64_t arg_timeout_s = TIMEOUT_DEFAULT_S;
static uint64_t arg_ninfer = NINFER_DEFAULT;
static bool arg_data_host;
static uint64_t arg_log_level = 5;
static bool arg_console;

static const struct ntk_opt option_rows[] = {
    { 'g', "address", "ADDRESS", NTK_OPT_TEXT, &arg_endpoint,
      "where clients connect: HOST:PORT, unix:PATH or a path (default: " ENDPOINT_DEFAULT ")" },
    { 0, "timeout", "SECONDS", NTK_OPT_U64, &arg_timeout_s,
      "time of the device for one inference where a model's client gives none (default: 2)",
      .is_above_zero = true },
    { 0, "ninfer", "N", NTK_OPT_U64, &arg_ninfer,
      "inferences of a model that may be under way where its client does not say (default: 4)",
      .is_above_zero = true },
    { 0, "io-data-host", 0, NTK_OPT_FLAG, &arg_data_host,
      "keep inputs and outputs in memory of the host where a model's client does not say" },
    { 'l', "log-level", "N", NTK_OPT_U64, &arg_log_level,
      "how much is said: 3 errors, 4 warnings, 5 what happens (default), 6 and 7 more" },
    { 'x', "log-console", 0, NTK_OPT_FLAG, &arg_console, "accepted: lines go to stderr anyhow" },
    { 'v', "version", 0, NTK_OPT_VERSION, 0, "show the version and exit" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-rtd",
    .usage = "[OPTION]...",
    .summary = "Serves clients of the Neuron Runtime 1.x (gRPC) on software NeuronCores: those of\n"
               "the machine that NEURON_SOFT_INSTANCE names, by default an " INSTANCE_DEFAULT ".",
    .options = option_rows,
};

/* SIGTERM and SIGINT are waited for by a thread that may call what a handler may not. */
static void *wait_for_end(void *ctx)
{
    sigset_t signals;
    int number = 0;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    (void)sigwait(&signals, &number);
    ntk_log_info(MODULE, "[NRTD:sig_act] SIG: %d", number);
    ntk_rpc_server_stop(ctx);
    return NULL;
}

static void signals_block(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static void warn(const char *sentence)
{
    ntk_log_warn(MODULE, "%s", sentence);
}

static int options_get(struct ntk_core_options *options, struct ntk_err *err)
{
    int ret = ntk_env_soft_options_get(options, err);

    if (ret == 0 && !options->machine.instance.value) {
        options->machine.instance.value = INSTANCE_DEFAULT;
    }
    options->runtime_version = RTD_VERSION;
    options->report_numerical_errors = true;
    options->warn = warn;
    return ret;
}

/* "/run/x" and a name without a colon are paths. NULL without memory. */
static char *endpoint_make(const char *text)
{
    char *endpoint = NULL;

    if (text[0] == '/' || !strchr(text, ':')) {
        return asprintf(&endpoint, "unix:%s", text) < 0 ? NULL : endpoint;
    }
    return strdup(text);
}

static int serve(struct rtd_manager *manager, const char *endpoint, struct ntk_err *err)
{
    struct ntk_rpc_server *server;
    pthread_t waiter;
    int ret = ntk_rpc_server_create(endpoint, rtd_methods, manager, &server, err);

    if (ret < 0) {
        return ret;
    }
    if (pthread_create(&waiter, NULL, wait_for_end, server) != 0) {
        ntk_rpc_server_stop(server);
        ret = ntk_err_no_memory(err);
    }
    ntk_log_info(MODULE, "[NRTD:RunServer] Server listening on %s", endpoint);
    ntk_rpc_server_run(server);
    if (ret == 0) {
        pthread_join(waiter, NULL);
    }
    ntk_rpc_server_destroy(server);
    return ret;
}

int main(int argc, char **argv)
{
    static struct rtd_manager manager;
    struct ntk_core_options options = { 0 };
    struct rtd_defaults defaults;
    struct ntk_err err = { 0 };

    ntk_log_set_program(program.name);
    int parsed = ntk_opt_parse_all(&program, argc, argv);
    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    if (arg_log_level < 3 || arg_log_level > 7) {
        return ntk_opt_usage_error(&program, "--log-level is 3 to 7");
    }
    ntk_log_set_level(arg_log_level >= 6 ? NTK_LOG_DEBUG : (enum ntk_log_level)(arg_log_level - 3));
    if (arg_ninfer > RTD_NINFER_MAX || arg_timeout_s > UINT32_MAX) {
        return ntk_opt_usage_error(&program, "--ninfer is at most %d, --timeout %u", RTD_NINFER_MAX,
                                   UINT32_MAX);
    }
    defaults =
        (struct rtd_defaults){ (uint32_t)arg_timeout_s, (uint32_t)arg_ninfer, arg_data_host };
    char *endpoint = endpoint_make(arg_endpoint);
    if (!endpoint) {
        (void)ntk_err_no_memory(&err);
        return ntk_log_failure(MODULE, &err);
    }
    signals_block();
    /* What monitors call the daemon by. */
    (void)setenv("NEURON_PROCESS_TAG", endpoint, 1);
    int ret = options_get(&options, &err);
    ret = ret ? ret : rtd_manager_open(&manager, &options, &defaults, &err);
    if (ret == 0) {
        if (!manager.core) {
            ntk_log_error(MODULE, "[NRTD:nrtd_main] Failed to initialize devices: %s",
                          manager.why.text);
        }
        ret = serve(&manager, endpoint, &err);
        rtd_manager_close(&manager);
    }
    free(endpoint);
    return ret < 0 ? ntk_log_failure(MODULE, &err) : 0;
}
