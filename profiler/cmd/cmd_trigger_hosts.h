/* SPDX-License-Identifier: MIT */
/*
 * cmd_trigger_hosts - neuron-profile trigger --host: processes of many machines record the same
 * executions, through the agents there, and their files come here.
 *
 * First each agent reports the position of its processes; then all get the same first execution,
 * far enough ahead. One that gets it too late makes all of them begin again, further ahead.
 *
 * Threads: one.
 */
#ifndef NTK_PROFILER_CMD_CMD_TRIGGER_HOSTS_H
#define NTK_PROFILER_CMD_CMD_TRIGGER_HOSTS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/hosts/hosts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_TRIGGER_HOSTS_MAX 1024u
#define NTK_TRIGGER_HOSTS_FILES_MAX 4096u /* of one host */

struct ntk_trigger_hosts_options {
    const char *const *names;
    size_t count;
    const struct ntk_hosts_remote *remote;
    const char *job; /* NULL: pid */
    uint64_t pid;
    uint64_t uid; /* only processes of this user; UINT64_MAX: of any single user */
    uint64_t executions;
    uint64_t at_execution; /* 0: the next one that none has started */
    uint64_t timeout_ns;
    uint64_t keep_bytes; /* per process */
    const char *folder;  /* with a subfolder for each host */
    bool only_look;
    bool idle; /* also record what host threads do */
    bool json;
    const volatile sig_atomic_t *is_interrupted;
};

/* The exit code: 0 if all machines recorded everything. */
int ntk_trigger_hosts(const struct ntk_trigger_hosts_options *options);

#ifdef __cplusplus
}
#endif
#endif
