/* SPDX-License-Identifier: MIT */
/*
 * captures_room - manages the folders of captures below the agent's capture folder: names, sizes,
 * and removal when they take too much space.
 *
 * A folder is measured once, when its capture is complete; a ledger in the capture folder keeps the
 * sizes over restarts. While their sum exceeds the limit, the oldest capture of the user with the
 * most bytes is removed, so that no user displaces the captures of another.
 *
 * Threads: any. One capture folder per process.
 */
#ifndef NTK_AGENT_HANG_CAPTURES_ROOM_H
#define NTK_AGENT_HANG_CAPTURES_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CAPTURES_KEEP_BYTES (UINT64_C(1) << 30) /* default limit for all captures */
#define NTK_CAPTURES_LEDGER "ledger.txt"            /* has lines "FOLDER BYTES" */

/* Creates a folder FOLDER/TIME-WHAT, with -uid_UID if the captured process belongs to another user.
 * The folder is kept until _end(). */
int ntk_captures_room_begin(const char *folder, uint64_t realtime_ns, const char *what,
                            uint32_t uid, char *buf, size_t buf_bytes, struct ntk_err *err);
/* Notes that the capture is complete: it counts, and another thread frees space. */
void ntk_captures_room_end(const char *folder, const char *capture, uint64_t keep_bytes);

/* Frees space, in that thread. The newest capture is kept regardless of its size. */
void ntk_captures_room_make(const char *folder, uint64_t keep_bytes);

#ifdef __cplusplus
}
#endif
#endif
