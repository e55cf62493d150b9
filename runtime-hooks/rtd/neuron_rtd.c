/* SPDX-License-Identifier: MIT */
/*
 * neuron-rtd - runtime daemon of the first generation: serves the clients' interface with software
 * NeuronCores.
 */
#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime-hooks/env/env_soft.h"
#include "runtime-hooks/rtd/rtd_config.h"
#include "runtime-hooks/rtd/rtd_devices.h"
#include "runtime-hooks/rtd/rtd_end.h"
#include "runtime-hooks/rtd/rtd_log.h"
#include "runtime-hooks/rtd/rtd_manager.h"
#include "runtime-hooks/rtd/rtd_startup.h"
#include "shared/abi/driver.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/service_notify.h"
#include "shared/rpc/rpc_endpoint.h"

#define MODULE "rtd"
#define MACHINE_DEFAULT "inf1.6xlarge"
#define TIMEOUT_DEFAULT_S 2
#define NINFER_DEFAULT 4
/* Larger tensors and NEFFs are returned to the system when freed, so that heaps do not grow. */
#define MAPPED_BYTES_MIN (4 << 20)

static struct rtd_devices arg_devices;

static int add_device(const char *value, struct ntk_err *err)
{
    return rtd_devices_add_bdf(&arg_devices, value, err);
}

static int (*const add_device_call)(const char *, struct ntk_err *) = add_device;
static const char *arg_endpoint;
static const char *arg_config;
static const char *arg_instance;
static uint64_t arg_timeout_s;
static uint64_t arg_ninfer;
static bool arg_data_host;
static uint64_t arg_neff_mib = RTD_NEFF_MIB_DEFAULT;
static uint64_t arg_log_level = RTD_LOG_LEVEL_DEFAULT;
static bool arg_console;

static const struct ntk_opt option_rows[] = {
    { 't', "device", "BDF", NTK_OPT_CALL, (void *)&add_device_call,
      "serve the device with this PCI address; may be repeated (default: all devices)" },
    { 'g', "address", "ADDRESS", NTK_OPT_TEXT, &arg_endpoint,
      "listen on HOST:PORT, unix:PATH or a path (default " NTK_RPC_ENDPOINT_DEFAULT ")" },
    { 'c', "config", "FILE", NTK_OPT_TEXT, &arg_config,
      "read this JSON configuration (default " RTD_CONFIG_PATH ", if it exists)" },
    { 'i', "instance", "NAME", NTK_OPT_TEXT, &arg_instance,
      "run as one of several daemons, with the address and devices from " RTD_INSTANCE_FOLDER
      "/NAME.json; NAME with a slash is a path (.json is optional)" },
    { 0, "timeout", "SECONDS", NTK_OPT_U64, &arg_timeout_s,
      "limit an inference to SECONDS on the device, unless the model's client sets a limit "
      "(default 2)",
      .is_above_zero = true },
    { 0, "ninfer", "N", NTK_OPT_U64, &arg_ninfer,
      "set the number of inferences in flight per model, unless the client sets it (default 4)",
      .is_above_zero = true },
    { 0, "io-data-host", 0, NTK_OPT_FLAG, &arg_data_host,
      "keep inputs and outputs in host memory, unless the model's client chooses otherwise" },
    { 0, "neff-max", "MIB", NTK_OPT_U64, &arg_neff_mib,
      "limit a NEFF to MIB mebibytes (default 2048); all uploads in progress together may use "
      "twice as much",
      .is_above_zero = true },
    { 'l', "log-level", "N", NTK_OPT_U64, &arg_log_level,
      "set the log level: 3 errors, 4 warnings, 5 events (default), 6 details, 7 every call" },
    { 'x', "log-console", 0, NTK_OPT_FLAG, &arg_console, "log to stderr in addition to syslog" },
    { 'v', "version", 0, NTK_OPT_VERSION, 0, "print the version and exit" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-rtd",
    .usage = "[-t BDF]... [-g ADDRESS] [-c FILE] [-i NAME] [OPTION]...",
    .summary = "Serves Neuron Runtime 1.x clients (gRPC) on the software NeuronCores of the "
               "machine named by NEURON_SOFT_INSTANCE, by default an " MACHINE_DEFAULT ".",
    .options = option_rows,
};

/* The settings from options and files. */
struct settings {
    struct rtd_config config;
    struct rtd_instance instance;
    struct rtd_defaults defaults;
    struct rtd_devices devices;
    char *endpoint; /* freed at the end */
    /* Connection to the process that started the daemon; NULL if it expects no notification */
    struct ntk_service *service;
};

static void warn(const char *sentence)
{
    ntk_log_warn(MODULE, "%s", sentence);
}

/* Reports the reason for the exit to the starting process, even if all other output goes to
 * syslog. */
static int fail(const struct ntk_err *err)
{
    rtd_log_console();
    return ntk_log_failure(MODULE, err);
}

static int options_get(struct ntk_core_options *options, struct ntk_err *err)
{
    int ret = ntk_env_soft_options_get(options, err);

    if (ret == 0 && !options->machine.instance.value) {
        options->machine.instance.value = MACHINE_DEFAULT;
    }
    options->runtime_version = RTD_VERSION;
    options->report_numerical_errors = true;
    options->warn = warn;
    return ret;
}

/* ---- settings ---- */

static void tell_without_effect(const struct rtd_config_value *value, const char *key,
                                const char *why)
{
    if (value->is_given) {
        ntk_log_info(MODULE, "%s has no effect: %s", key, why);
    }
}

static void tell_unknown(const char *keys, const char *of)
{
    if (keys[0]) {
        ntk_log_warn(MODULE, "ignoring unknown keys in the %s: %s", of, keys);
    }
}

static int files_read(struct settings *settings, struct ntk_err *err)
{
    int ret = 0;

    if (arg_config || access(RTD_CONFIG_PATH, F_OK) == 0) {
        ret = rtd_config_read(&settings->config, arg_config ? arg_config : RTD_CONFIG_PATH, err);
    }
    if (ret == 0 && arg_instance) {
        ret = rtd_instance_read(&settings->instance, arg_instance, err);
    }
    if (ret < 0) {
        return ret;
    }
    tell_unknown(settings->config.unknown, "configuration");
    tell_unknown(settings->instance.unknown, "instance file");
    tell_without_effect(&settings->config.hugepages, "num_hugepages_per_device",
                        "software devices have no huge pages to reserve");
    tell_without_effect(&settings->config.model_cache_count, "model_cache_count",
                        "NEFFs are read into memory and never unpacked to files");
    return 0;
}

/* Combines the settings: options override files, and files override defaults. */
static int settings_make(struct settings *settings, struct ntk_err *err)
{
    const struct rtd_config *config = &settings->config;
    const char *endpoint = arg_endpoint                     ? arg_endpoint
                           : settings->instance.endpoint[0] ? settings->instance.endpoint
                                                            : NTK_RPC_ENDPOINT_DEFAULT;

    settings->defaults = (struct rtd_defaults){
        .timeout_s = arg_timeout_s                ? (uint32_t)arg_timeout_s
                     : config->timeout_s.is_given ? config->timeout_s.value
                                                  : TIMEOUT_DEFAULT_S,
        .ninfer = arg_ninfer                ? (uint32_t)arg_ninfer
                  : config->ninfer.is_given ? config->ninfer.value
                                            : NINFER_DEFAULT,
        .io_data_host = arg_data_host || config->io_data_host.value,
        .neff_bytes_max = arg_neff_mib << 20,
    };
    settings->devices = arg_devices;
    if (!arg_devices.is_given && settings->instance.has_devices) {
        rtd_devices_set(&settings->devices, settings->instance.devices,
                        settings->instance.device_count);
    }
    settings->endpoint = ntk_rpc_endpoint_make(endpoint);
    return settings->endpoint ? 0 : ntk_err_no_memory(err);
}

/* Drops capabilities before there is a second thread, because capabilities are per thread. */
static int capabilities_drop(struct ntk_err *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

    for (unsigned long i = 0; i < 64; i++) {
        (void)prctl(PR_CAPBSET_DROP, i, 0, 0,
                    0); /* beyond the last capability, or not permitted: ignored */
    }
    return syscall(SYS_capset, &header, none) == 0
               ? 0
               : ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot drop capabilities: %s",
                             strerror(errno));
}

/* ---- startup and shutdown ---- */

static int serve(struct rtd_manager *manager, const struct settings *settings, struct ntk_err *err)
{
    struct ntk_rpc_server *server = NULL;
    struct rtd_end *end = NULL;
    int ret = ntk_rpc_server_create(settings->endpoint, rtd_methods, manager, &server, err);

    ret = ret < 0 ? ret
                  : rtd_end_begin(server, manager, settings->endpoint, settings->service, NULL,
                                  &end, err);
    if (ret == 0) {
        char status[256];

        (void)snprintf(status, sizeof status, "Server listening on %s", settings->endpoint);
        ntk_log_info(MODULE, "[NRTD:RunServer] %s", status);
        ntk_service_ready(settings->service, status);
        rtd_end_run(end);
    } else if (server) {
        ntk_rpc_server_stop(server);
        ntk_rpc_server_run(server);
    }
    ntk_rpc_server_destroy(server);
    if (end) {
        rtd_end_socket_gone(end);
    }
    rtd_manager_close(manager);
    if (end) {
        rtd_end_finish(end);
    }
    return ret;
}

/* Runs the daemon; returns the exit code. */
static int run(struct settings *settings)
{
    static struct rtd_manager manager;
    struct ntk_core_options options = { 0 };
    struct ntk_core_machine machine = { 0 };
    struct ntk_err err = { 0 };
    struct ntk_err why = { 0 };
    int ret = options_get(&options, &err);

    if (ret < 0) {
        return fail(&err);
    }
    if (!settings->devices.is_given) {
        ntk_log_info(MODULE, "[NRTD:ParseArguments] Using all the BDFs in the infa_map.json!");
    }
    ret = ntk_core_machine_find(&options.machine, &machine, &why);
    ret = ret < 0 ? ret : rtd_devices_settle(&settings->devices, &machine, &why);
    if (ret == -EINVAL && machine.instance) {
        rtd_log_console();
        (void)ntk_log_failure(MODULE, &why);
        return 2;
    }
    if (settings->config.drops_capabilities.value && capabilities_drop(&err) < 0) {
        return fail(&err);
    }
    struct ntk_core *core = rtd_startup(&options, &machine, &settings->devices, NULL, &why);
    ret = rtd_manager_open(&manager, core, &why, &settings->defaults, &err);
    ret = ret < 0 ? ret : serve(&manager, settings, &err);
    return ret < 0 ? fail(&err) : 0;
}

/* Prevents the daemon from serving software cores by accident where clients expect devices. */
static int driver_check(struct ntk_err *err)
{
    return !ntk_driver_is_loaded("/sys") || getenv("NEURON_SOFT_INSTANCE")
               ? 0
               : ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                             "this machine has a Neuron driver, but this daemon serves software "
                             "NeuronCores: set NEURON_SOFT_INSTANCE to start it anyway");
}

int main(int argc, char **argv)
{
    static struct settings settings;
    struct ntk_err err = { 0 };

    ntk_log_set_program(program.name);
    int parsed = ntk_opt_parse_all(&program, argc, argv);
    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    if (arg_log_level < RTD_LOG_LEVEL_MIN || arg_log_level > RTD_LOG_LEVEL_MAX) {
        return ntk_opt_usage_error(&program, "--log-level must be between %d and %d",
                                   RTD_LOG_LEVEL_MIN, RTD_LOG_LEVEL_MAX);
    }
    if (arg_ninfer > RTD_NINFER_MAX || arg_timeout_s > UINT32_MAX ||
        arg_neff_mib > RTD_NEFF_MIB_MAX) {
        return ntk_opt_usage_error(
            &program, "--ninfer must be at most %d, --timeout at most %u and --neff-max at most %u",
            RTD_NINFER_MAX, UINT32_MAX, RTD_NEFF_MIB_MAX);
    }
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
    rtd_log_open(RTD_LOG_SOCKET, (int)arg_log_level, arg_console);
    ntk_log_info(MODULE, "[NRTD:nrtd_main] nrtd build using:" RTD_VERSION);
    int ret = driver_check(&err);
    ret = ret < 0 ? ret : files_read(&settings, &err);
    ret = ret < 0 ? ret : settings_make(&settings, &err);
    ret = ret < 0 ? ret : ntk_service_create(&settings.service, &err);
    int code = 1;
    if (ret < 0) {
        code = fail(&err);
    } else {
        rtd_end_block_signals();
        /* This is the name of the daemon in monitors. */
        (void)setenv("NEURON_PROCESS_TAG", settings.endpoint, 1);
        code = run(&settings);
    }
    ntk_service_destroy(settings.service);
    free(settings.endpoint);
    rtd_log_close();
    return code;
}
