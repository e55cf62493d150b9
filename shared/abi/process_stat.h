/* SPDX-License-Identifier: MIT */
/*
 * process_stat - the start time of a process from /proc/PID/stat, which together with the pid
 * identifies it.
 *
 * Common to the writer that sweeps and the reader that checks which processes are alive. Uses the C
 * library only.
 */
#ifndef NTK_SHARED_ABI_PROCESS_STAT_H
#define NTK_SHARED_ABI_PROCESS_STAT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_STAT_STATE 3 /* field numbers, see proc(5) */
#define NTK_STAT_THREADS 20
#define NTK_STAT_START_TIME 22
#define NTK_STAT_BYTES 1024 /* enough to reach field 22 */

/*
 * Field 22 of the text. Returns 0 if the field is missing or the process is a zombie: its leader is
 * in state Z and no other thread is left. (If another thread is left, only the leader has ended.)
 */
static inline uint64_t ntk_process_stat_start_time(const char *text)
{
    const char *at =
        strrchr(text, ')'); /* the name may contain anything: count from its end, field 2 */
    int is_zombie = 0;
    int field;

    for (field = 2; at != NULL && field < NTK_STAT_START_TIME; field++) {
        at = strchr(at + 1, ' ');
        if (at != NULL && field + 1 == NTK_STAT_STATE) {
            is_zombie = at[1] == 'Z' || at[1] == 'X';
        } else if (at != NULL && field + 1 == NTK_STAT_THREADS && is_zombie &&
                   strtoull(at + 1, NULL, 10) <= 1) {
            return 0;
        }
    }
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
