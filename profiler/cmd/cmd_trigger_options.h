/* SPDX-License-Identifier: MIT */
/*
 * cmd_trigger_options - the options of neuron-profile trigger.
 *
 * Owner:   plain data; texts are borrowed from the command line.
 */
#ifndef NTK_PROFILER_CMD_CMD_TRIGGER_OPTIONS_H
#define NTK_PROFILER_CMD_CMD_TRIGGER_OPTIONS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/hosts/hosts.h"

struct ntk_trigger_options {
    const char *const *names; /* other machines */
    size_t count;
    struct ntk_hosts_remote remote;
    const char *job; /* NULL if pid is set */
    uint64_t pid;
    uint64_t uid; /* only processes of this user; UINT64_MAX: of any single user */
    uint64_t executions;
    uint64_t at_execution; /* 0 for the next execution that no process has started */
    uint64_t timeout_ns;
    uint64_t keep_bytes; /* bytes per process */
    const char *folder;  /* with --host, it has a subfolder for each host */
    bool only_look;
    bool idle; /* also records the activity of host threads */
    bool json;
    const volatile sig_atomic_t *is_interrupted;
};

#endif
