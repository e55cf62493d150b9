/* SPDX-License-Identifier: MIT */
/*
 * process_exit - how an observed process exited. A pidfd reports it after the process is gone
 * (Linux 6.15 and newer), /proc/PID/stat while its parent has not waited for it.
 *
 * Owner:   the caller closes the descriptor.
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_COLLECT_PROCESS_EXIT_H
#define NTK_SHARED_COLLECT_PROCESS_EXIT_H

#include "shared/metrics/exit.h"

/* A descriptor of a running process of proc_root, or -1: another's /proc has other numbers. */
int ntk_process_exit_watch(const char *proc_root, uint32_t pid);

/* pidfd: of ntk_process_exit_watch(), or -1. stat_fd: the process's stat, opened while it ran.
 * Unknown for one that runs: a process may continue after it has closed its runtime. */
struct ntk_exit ntk_process_exit_read(int pidfd, int stat_fd);

#endif
