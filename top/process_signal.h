/* SPDX-License-Identifier: MIT */
/*
 * process_signal - lists the signals that a user may send to an application, and sends one.
 *
 * Threads: any.
 */
#ifndef NTK_TOP_PROCESS_SIGNAL_H
#define NTK_TOP_PROCESS_SIGNAL_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_top_signal_choice {
    char key;
    int number;
    const char *name;
};

/* Returns *out_count choices. */
const struct ntk_top_signal_choice *ntk_top_signal_choices(size_t *out_count);
/* Sends a signal to the process with that pid and start time (field 22 of /proc/<pid>/stat), and to
 * no later process with the same pid: -ESRCH; -ENODATA for a start time of 0, which no process
 * has. */
int ntk_top_signal_send(uint32_t pid, uint64_t start_time, int number, struct ntk_err *err);

#endif
