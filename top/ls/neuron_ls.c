/* SPDX-License-Identifier: MIT */
/* neuron-ls - parses options, selects output and form, and runs the loop of --watch. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/device/device.h"
#include "top/ls/health.h"
#include "top/ls/json.h"
#include "top/ls/read.h"
#include "top/ls/table.h"
#include "top/ls/topology.h"
#include "top/ls/why.h"

#define EXIT_HELD 3

#define DELAY_MIN_NS (100 * NTK_NS_PER_MS)
#define DELAY_MAX_NS (3600 * NTK_NS_PER_SECOND)
#define UNSET UINT64_MAX

enum output { OUTPUT_TEXT, OUTPUT_ARRAY, OUTPUT_OBJECT };

static bool arg_wide;
static bool arg_all_processes;
static bool arg_all_devices;
static bool arg_topology;
static bool arg_array;
static bool arg_object;
static const char *arg_format;
static const char *arg_why;
static bool arg_watch;
static uint64_t arg_delay_ns = UNSET;
static uint64_t arg_count;
static const char *arg_sysfs_root;

static const struct ntk_opt options[] = {
    { 'w', "wide", NULL, NTK_OPT_FLAG, &arg_wide,
      "truncate commands to 80 characters instead of 40" },
    { 'a', "show-all-procs", NULL, NTK_OPT_FLAG, &arg_all_processes,
      "also list processes without a Neuron runtime, such as neuron-monitor and neuron-ls" },
    { 0, "all", NULL, NTK_OPT_FLAG, &arg_all_devices,
      "also list devices without a node in /dev (a container cannot use them)" },
    { 't', "topology", NULL, NTK_OPT_FLAG, &arg_topology,
      "print the devices (no processes), then a diagram of their links" },
    { 'j', "json-output", NULL, NTK_OPT_FLAG, &arg_array, "print a JSON array of the devices" },
    { 0, "output-format", "FORMAT", NTK_OPT_CHOICE, &arg_format,
      "print text (the table, default) or json (an object with the machine, its devices and "
      "processes)",
      "json text" },
    { 0, "json", NULL, NTK_OPT_FLAG, &arg_object, "same as --output-format json" },
    { 0, "why", "LIST", NTK_OPT_TEXT, &arg_why,
      "print the processes that hold these logical cores, such as 0-3, and exit" },
    { 0, "watch", NULL, NTK_OPT_FLAG, &arg_watch, "repeat the output until interrupted" },
    { 'd', "delay", "TIME", NTK_OPT_DURATION, &arg_delay_ns,
      "repeat the output of --watch every TIME, 100ms to 1h (default 1s)" },
    { 'n', "count", "N", NTK_OPT_U64, &arg_count, "exit after N outputs of --watch",
      .is_above_zero = true },
    { 0, "sysfs-root", "FOLDER", NTK_OPT_TEXT, &arg_sysfs_root,
      "read devices below FOLDER (default /sys)" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-ls",
    .usage = "[OPTION]...",
    .summary = "Lists the Neuron devices of this machine with their addresses, their links, and "
               "the processes that use them.",
    .options = options,
};

static enum ntk_ls_form form(void)
{
    if (arg_topology) {
        return NTK_LS_FORM_TOPOLOGY;
    }
    if (arg_all_processes) {
        return arg_wide ? NTK_LS_FORM_WIDE_ALL : NTK_LS_FORM_ALL;
    }
    return arg_wide ? NTK_LS_FORM_WIDE : NTK_LS_FORM_DEFAULT;
}

static void write_machine(const struct ntk_ls_machine *machine, enum output output,
                          struct ntk_buf *text)
{
    if (output == OUTPUT_ARRAY) {
        ntk_ls_json_write_array(machine, text);
    } else if (output == OUTPUT_OBJECT) {
        ntk_ls_json_write_object(machine, text);
    } else {
        ntk_ls_header_write(machine, text);
        ntk_ls_table_write(machine, form(), text);
        if (arg_topology) {
            ntk_ls_topology_write(machine, text);
        }
        ntk_ls_pci_write(machine, text);
        ntk_ls_hidden_write(machine, text);
        ntk_ls_health_write(machine, text);
    }
}

/* Prints the reason in the vendor's words and form, for which scripts search, then additional
 * information. */
static void say_why(int status, const struct ntk_err *err)
{
    if (status == -ENOENT || status == -EACCES) {
        fprintf(stderr, "FATA[0000] %-44s  error=\"%s\"\n", "Failed to discover neuron devices",
                "Unable to read device information from the driver. Make sure aws-neuronx-dkms is "
                "installed and the neuron driver is accessible.");
    } else if (status == -ENODEV) {
        fprintf(stderr, "FATA[0000] No neuron device available\n");
    }
    ntk_log_error("", "%s", err->text);
}

/* Returns true if there is nothing to list, which may be temporary: a driver is being loaded, or a
 * software machine is being built. */
static bool is_missing(int status)
{
    return status == -ENOENT || status == -ENODEV || status == -EACCES;
}

/* Reads and prints once. Returns 0, or negative with a message, unless the last round had the same
 * one; -EPIPE if the output has no reader. */
static int print_once(enum output output, bool is_first, int status_before)
{
    const struct ntk_ls_read_options read_options = { .sysfs_root = arg_sysfs_root,
                                                      .all_processes = arg_all_processes,
                                                      .all_devices = arg_all_devices };
    struct ntk_ls_machine machine = { 0 };
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_ls_read(&read_options, &machine, &err);

    if (ret < 0) {
        if (ret != status_before) {
            say_why(ret, &err);
        }
        return ret;
    }
    if (arg_watch && output == OUTPUT_TEXT && isatty(STDOUT_FILENO)) {
        ntk_buf_add_text(&text, "\033[H\033[2J"); /* the frame replaces the previous one */
    } else if (!is_first && output == OUTPUT_TEXT) {
        ntk_buf_add_char(&text, '\n');
    }
    write_machine(&machine, output, &text);
    if (!ntk_buf_ok(&text)) {
        ret = -ENOMEM;
        ntk_log_error("", "out of memory");
    } else if (fwrite(text.bytes, 1, text.bytes_count, stdout) != text.bytes_count ||
               fflush(stdout) != 0) {
        ret = -errno;
        if (ret != -EPIPE) {
            ntk_log_error("", "cannot write to stdout: %s", strerror(errno));
        }
    }
    ntk_buf_fini(&text);
    ntk_ls_machine_fini(&machine);
    return ret;
}

/* Waits for the delay; returns 1, or 0 if a signal ends the program. */
static int wait_delay(int signal_fd)
{
    struct timespec delay = { (time_t)(arg_delay_ns / NTK_NS_PER_SECOND),
                              (long)(arg_delay_ns % NTK_NS_PER_SECOND) };
    struct pollfd fd = { signal_fd, POLLIN, 0 };

    return ppoll(&fd, 1, &delay, NULL) == 0;
}

static int watch(enum output output)
{
    sigset_t set;
    int signal_fd;
    int before = 0;
    int ret = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
        (signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)) < 0) {
        ntk_log_error("", "cannot watch signals: %s", strerror(errno));
        return 1;
    }
    for (uint64_t i = 0; arg_count == 0 || i < arg_count; i++) {
        if (i > 0 && !wait_delay(signal_fd)) {
            break;
        }
        ret = print_once(output, i == 0, before);
        before = ret;
        if (i > 0 && is_missing(ret)) {
            ret = 0; /* the device is waited for */
        }
        if (ret < 0) {
            break;
        }
    }
    close(signal_fd);
    return ret == -EPIPE ? 0 : ret < 0;
}

/* Returns the exit code. */
static int why(bool as_json)
{
    const struct ntk_ls_read_options read_options = { .sysfs_root = arg_sysfs_root,
                                                      .all_devices = arg_all_devices };
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    bool is_free = false;
    int ret = ntk_ls_why(&read_options, arg_why, as_json, &text, &is_free, &err);

    if (ret == -EINVAL) {
        return ntk_opt_usage_error(&program, "%s", err.text);
    }
    if (ret < 0) {
        say_why(ret, &err);
    } else if (!ntk_buf_ok(&text) || fputs(ntk_buf_text_get(&text), stdout) < 0 ||
               fflush(stdout) != 0) {
        ret = -errno;
        ntk_log_error("", "cannot write to stdout: %s", strerror(errno));
    }
    ntk_buf_fini(&text);
    return ret < 0 ? EXIT_FAILURE : is_free ? EXIT_SUCCESS : EXIT_HELD;
}

static int check_arguments(enum output *out_output)
{
    if (arg_format) {
        arg_object = arg_object || strcmp(arg_format, "json") == 0;
    }
    if (arg_array && arg_object) {
        return ntk_opt_usage_error(&program, "--json-output and --json are mutually exclusive");
    }
    if (arg_delay_ns != UNSET && !arg_watch) {
        return ntk_opt_usage_error(&program, "--delay requires --watch");
    }
    arg_delay_ns = arg_delay_ns != UNSET ? arg_delay_ns : NTK_NS_PER_SECOND;
    if (arg_delay_ns < DELAY_MIN_NS || arg_delay_ns > DELAY_MAX_NS) {
        return ntk_opt_usage_error(&program, "--delay must be between 100ms and 1h");
    }
    if (arg_why && (arg_watch || arg_array || arg_topology)) {
        return ntk_opt_usage_error(
            &program, "--why cannot be combined with --watch, --json-output or --topology");
    }
    if (arg_count > 0 && !arg_watch) {
        return ntk_opt_usage_error(&program, "--count requires --watch");
    }
    *out_output = arg_array ? OUTPUT_ARRAY : arg_object ? OUTPUT_OBJECT : OUTPUT_TEXT;
    return 0;
}

int main(int argc, char **argv)
{
    enum output output = OUTPUT_TEXT;
    int first;
    int ret;

    ntk_log_set_program("neuron-ls");
    first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first]);
    }
    ret = check_arguments(&output);
    if (ret != 0) {
        return ret;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    /* Texts are UTF-8 in any locale; the locale is only used for widths. */
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        (void)setlocale(LC_CTYPE, "");
    }
    struct ntk_err err = { 0 };
    if (!arg_sysfs_root && ntk_device_soft_make(&err) < 0) {
        return ntk_log_failure(NULL, &err);
    }
    if (arg_why) {
        return why(output == OUTPUT_OBJECT);
    }
    if (arg_watch) {
        return watch(output);
    }
    ret = print_once(output, true, 0);
    return ret == -EPIPE ? 0 : ret < 0;
}
