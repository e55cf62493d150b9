/* SPDX-License-Identifier: MIT */
/*
 * exit - describes how a process exited, as the kernel reports it, and formats it as text.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_METRICS_EXIT_H
#define NTK_SHARED_METRICS_EXIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_exit_kind {
    NTK_EXIT_UNKNOWN = 0, /* the process runs, or no source reports its exit */
    NTK_EXIT_CODE = 1,
    NTK_EXIT_SIGNAL = 2,
};

struct ntk_exit {
    enum ntk_exit_kind kind;
    uint32_t value; /* exit code, or number of the signal */
};

#define NTK_EXIT_TEXT_BYTES 32

/* Converts a status of wait(2). */
struct ntk_exit ntk_exit_of_status(int wait_status);

/* Returns true if the exit is a failure. killed: the process did not close its runtime, which
 * decides if the kernel reports nothing. */
bool ntk_exit_is_failure(struct ntk_exit how, bool killed);

/* Formats "killed by SIGKILL", "exited with code 3", "killed or crashed", or "" if nothing is
 * known. Returns text. */
const char *ntk_exit_text(struct ntk_exit how, bool killed, char text[NTK_EXIT_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
