/* SPDX-License-Identifier: MIT */
/*
 * captures_room - the folders of captures below the agent's capture folder: names, sizes, and which
 * of them go when there are too many.
 *
 * A folder is measured once, when its capture has ended; a ledger in the capture folder keeps the
 * sizes over restarts. While their sum is above the bound, the user with the most bytes loses
 * its oldest capture, so no user displaces the captures of another one.
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

#define NTK_CAPTURES_KEEP_BYTES (UINT64_C(1) << 30) /* of all, unless the options say otherwise */
#define NTK_CAPTURES_LEDGER "ledger.txt"            /* lines "FOLDER BYTES" */

/* A folder for one more: FOLDER/TIME-WHAT, and -uid_UID where the captured process belongs to
 * another user. It stays until _end(). */
int ntk_captures_room_begin(const char *folder, uint64_t realtime_ns, const char *what,
                            uint32_t uid, char *buf, size_t buf_bytes, struct ntk_err *err);
/* Its capture ended: it counts, and another thread makes room. */
void ntk_captures_room_end(const char *folder, const char *capture, uint64_t keep_bytes);

/* What that thread does. The newest capture stays, of any size. */
void ntk_captures_room_make(const char *folder, uint64_t keep_bytes);

#ifdef __cplusplus
}
#endif
#endif
