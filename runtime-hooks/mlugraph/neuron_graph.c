/* SPDX-License-Identifier: MIT */
/* neuron-graph - cuts networks of MXNet for MLUs and runs them: the subcommands and their common
 * code. */
#include "runtime-hooks/mlugraph/neuron_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/log.h"

struct neuron_graph_devices neuron_graph_devices = { .device_default = 0 };

static const struct ntk_opt_command commands[] = {
    { "segments", neuron_graph_segments },
    { "run", neuron_graph_run },
    { "params", neuron_graph_params },
    { 0 },
};

static const struct ntk_opt main_options[] = { NTK_OPT_COMMON, { 0 } };

static const struct ntk_opt_program main_program = {
    .name = "neuron-graph",
    .usage = "segments [OPTION]... FILE\nrun [OPTION]... FILE\nparams [OPTION]... FILE",
    .summary = "Splits MXNet networks into parts that an MLU runs as one operator, and runs them.",
    .options = main_options,
    .stop_at_operand = true,
    .epilogue = "Each subcommand has its own --help.",
    .commands = commands,
};

int neuron_graph_fail(const struct ntk_err *err)
{
    return ntk_log_failure("", err);
}

static int take_ctx(const char *value, struct ntk_err *err)
{
    if (!mlu_device_parse(value, &neuron_graph_devices.device_default)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "expected a device such as mlu0 or cpu");
    }
    return 0;
}

static int take_group(const char *value, struct ntk_err *err)
{
    const char *device = strrchr(value, '=');
    int32_t parsed;

    if (!device || device == value || !mlu_device_parse(device + 1, &parsed)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "expected NAME=DEVICE, such as dev1=mlu1");
    }
    char *name = strndup(value, (size_t)(device - value));
    int ret =
        name ? ntk_map_put(&neuron_graph_devices.groups, name, (void *)(device + 1)) : -ENOMEM;
    free(name);
    return ret < 0 ? ntk_err_no_memory(err) : 0;
}

int (*const neuron_graph_take_ctx)(const char *value, struct ntk_err *err) = take_ctx;
int (*const neuron_graph_take_group)(const char *value, struct ntk_err *err) = take_group;

const char *neuron_graph_parse_file(const struct ntk_opt_program *program, int argc, char **argv,
                                    int *out_code)
{
    int first = ntk_opt_parse(program, argc, argv);

    if (first < 0) {
        *out_code = ntk_opt_exit_code(first);
        return NULL;
    }
    if (argc - first != 1) {
        *out_code = ntk_opt_argument_error(program, "FILE", argc == first ? NULL : argv[first + 1]);
        return NULL;
    }
    return argv[first];
}

int neuron_graph_read(const char *path, bool takes_unknown, struct mlu_symbol *out_symbol)
{
    const struct mlu_symbol_options options = { neuron_graph_devices.device_default,
                                                &neuron_graph_devices.groups, takes_unknown };
    struct ntk_err err = { 0 };

    return mlu_symbol_read(path, &options, out_symbol, &err) < 0 ? neuron_graph_fail(&err) : 0;
}

int neuron_graph_print(struct ntk_buf *text)
{
    int ret = 0;

    if (!ntk_buf_ok(text)) {
        ntk_log_error("", "out of memory");
        ret = 1;
    } else if (fwrite(ntk_buf_text_get(text), 1, text->bytes_count, stdout) != text->bytes_count ||
               fflush(stdout) != 0) {
        ntk_log_error("", "cannot write to stdout: %s", strerror(errno));
        ret = 1;
    }
    ntk_buf_fini(text);
    return ret;
}

int main(int argc, char **argv)
{
    ntk_log_set_program("neuron-graph");
    int first = ntk_opt_parse(&main_program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    int code = ntk_opt_run_command(&main_program, argc, argv, first);

    ntk_map_fini(&neuron_graph_devices.groups);
    return code;
}
