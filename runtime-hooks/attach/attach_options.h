/* SPDX-License-Identifier: MIT */
/*
 * attach_options - parses the command line of "neuron-monitor attach", in builds with and without
 * support.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_OPTIONS_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Option for a child of this program: it exits at the end of its standard input, and so with its
 * parent. */
#define NTK_ATTACH_CHILD_OPTION "end-with-stdin"

struct ntk_attach_arguments {
    bool all;
    bool ends_with_stdin;
    double cost_percent;
    uint64_t ring_bytes;
    char **pids;
    int pid_count;
};

/* Returns 0, or an exit code + 1 after a usage error or --help. */
int ntk_attach_options_parse(int argc, char **argv, struct ntk_attach_arguments *out_arguments);

#endif
