/* SPDX-License-Identifier: MIT */
/*
 * process_exit - finds out how an observed process exited. A pidfd reports it after the process is
 * gone (Linux 6.15 and newer); /proc/PID/stat reports it until the parent has waited for the
 * process.
 *
 * Owner:   the caller closes the descriptor.
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_COLLECT_PROCESS_EXIT_H
#define NTK_SHARED_COLLECT_PROCESS_EXIT_H

#include "shared/metrics/exit.h"

/* Opens a descriptor of a running process. Returns -1 on failure, or if proc_root is not this
 * process's /proc, because its numbers differ. */
int ntk_process_exit_watch(const char *proc_root, uint32_t pid);

/* pidfd comes from ntk_process_exit_watch(), or is -1. stat_fd is the process's stat file, opened
 * while it ran. The result is unknown while the process runs: it may continue after it has closed
 * its runtime. */
struct ntk_exit ntk_process_exit_read(int pidfd, int stat_fd);

#endif
