/* SPDX-License-Identifier: MIT */
/*
 * exit - how a process exited, as the kernel reports it, and the words for it.
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
    NTK_EXIT_UNKNOWN = 0, /* it runs, or no source reports it */
    NTK_EXIT_CODE = 1,
    NTK_EXIT_SIGNAL = 2,
};

struct ntk_exit {
    enum ntk_exit_kind kind;
    uint32_t value; /* the exit code, or the number of the signal */
};

#define NTK_EXIT_TEXT_BYTES 32

/* Of what wait(2) returns. */
struct ntk_exit ntk_exit_of_status(int wait_status);

/* Whether it ended as a failure. killed: it did not close its runtime, which decides where the
 * kernel reports nothing. */
bool ntk_exit_is_failure(struct ntk_exit how, bool killed);

/* "killed by SIGKILL", "exited with code 3", "killed or crashed"; "" for an end without any such
 * fact. Returns text. */
const char *ntk_exit_text(struct ntk_exit how, bool killed, char text[NTK_EXIT_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
