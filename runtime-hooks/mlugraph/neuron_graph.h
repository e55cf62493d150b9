/* SPDX-License-Identifier: MIT */
/* neuron_graph - common parts of the subcommands of neuron-graph. */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_NEURON_GRAPH_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_NEURON_GRAPH_H

#include "runtime-hooks/mlugraph/mlu_symbol.h"
#include "shared/base/buf.h"
#include "shared/base/opt.h"

int neuron_graph_params(int argc, char **argv);
int neuron_graph_run(int argc, char **argv);
int neuron_graph_segments(int argc, char **argv);

/* Options of several subcommands: the default device of nodes, and the groups. */
struct neuron_graph_devices {
    struct ntk_map groups;
    int32_t device_default;
};

extern struct neuron_graph_devices neuron_graph_devices;
extern int (*const neuron_graph_take_ctx)(const char *value, struct ntk_err *err);
extern int (*const neuron_graph_take_group)(const char *value, struct ntk_err *err);

#define NEURON_GRAPH_DEVICE_OPTIONS                                                  \
    { 'c',                                                                           \
      "ctx",                                                                         \
      "DEVICE",                                                                      \
      NTK_OPT_CALL,                                                                  \
      (void *)&neuron_graph_take_ctx,                                                \
      "place nodes without a device on DEVICE (default mlu0)",                       \
      "cpu mlu0" },                                                                  \
    {                                                                                \
        'g', "group", "NAME=DEVICE", NTK_OPT_CALL, (void *)&neuron_graph_take_group, \
            "place the nodes of ctx_group NAME on this device; may be repeated"      \
    }

/* Returns the only operand; NULL after a usage error or help, with the exit code in *out_code. */
const char *neuron_graph_parse_file(const struct ntk_opt_program *program, int argc, char **argv,
                                    int *out_code);
/* Returns 0, or 1 after printing a message. takes_unknown: see struct mlu_symbol_options. */
int neuron_graph_read(const char *path, bool takes_unknown, struct mlu_symbol *out_symbol);
/* Prints the message of err; returns 1. */
int neuron_graph_fail(const struct ntk_err *err);
/* Writes the text to stdout and frees it; returns 0, or 1 after printing a message. */
int neuron_graph_print(struct ntk_buf *text);

#endif
