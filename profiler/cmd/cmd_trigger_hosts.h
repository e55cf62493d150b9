/* SPDX-License-Identifier: MIT */
/*
 * cmd_trigger_hosts - implements neuron-profile trigger --host: processes on many machines record
 * the same executions, by requests to their agents, and their files are fetched.
 *
 * First each agent reports the position of its processes; then all get the same first execution,
 * far enough ahead. If a process gets the request too late, all of them start again, further ahead.
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
#define NTK_TRIGGER_HOSTS_FILES_MAX 4096u /* maximum per host */

struct ntk_trigger_hosts_options {
    const char *const *names;
    size_t count;
    const struct ntk_hosts_remote *remote;
    const char *job; /* NULL if pid is set */
    uint64_t pid;
    uint64_t uid; /* only processes of this user; UINT64_MAX: of any single user */
    uint64_t executions;
    uint64_t at_execution; /* 0 for the next execution that no process has started */
    uint64_t timeout_ns;
    uint64_t keep_bytes; /* bytes per process */
    const char *folder;  /* folder with a subfolder for each host */
    bool only_look;
    bool idle; /* also records the activity of host threads */
    bool json;
    const volatile sig_atomic_t *is_interrupted;
};

/* Returns the exit code: 0 if all machines recorded all executions. */
int ntk_trigger_hosts(const struct ntk_trigger_hosts_options *options);

#ifdef __cplusplus
}
#endif
#endif
