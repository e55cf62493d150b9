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

#include "profiler/cmd/cmd_trigger_options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_TRIGGER_HOSTS_MAX 1024u
#define NTK_TRIGGER_HOSTS_FILES_MAX 4096u /* maximum per host */

/* Returns the exit code: 0 if all machines recorded all executions. */
int ntk_trigger_hosts(const struct ntk_trigger_options *options);

#ifdef __cplusplus
}
#endif
#endif
