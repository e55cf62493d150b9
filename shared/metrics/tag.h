/* SPDX-License-Identifier: MIT */
/*
 * tag - the names that applications have in reports.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_METRICS_TAG_H
#define NTK_SHARED_METRICS_TAG_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns true if the application chose no name: then its tag is its process id, and no later
 * process continues its counts. */
static inline bool ntk_tag_is_pid(const char *tag, uint32_t pid)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%" PRIu32, pid);
    return strcmp(tag, text) == 0;
}

#endif
