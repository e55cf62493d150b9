/* SPDX-License-Identifier: MIT */
/*
 * findings - faults that a diagnosis found on cores, kept until another diagnosis finds the cores
 * healthy: a file of lines "device core since_ns count" next to the segments.
 *
 * neuron-monitor diag writes it, a collector reads it. A file is trusted if it belongs to this
 * user or root and no other user may write it.
 *
 * Threads: any; if two processes change the file at the same time, one change may be lost.
 */
#ifndef NTK_SHARED_COLLECT_FINDINGS_H
#define NTK_SHARED_COLLECT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_FINDINGS_NAME "diag.findings"
#define NTK_FINDINGS_MAX 512u
#define NTK_FINDINGS_BYTES_MAX 65536u

/* A core that returned wrong answers without reporting an error. */
struct ntk_finding {
    uint32_t device;
    uint32_t core;     /* physical number within the device */
    uint64_t since_ns; /* nanoseconds since 1970 UTC */
    uint64_t count;
};

/* Skips invalid lines; returns the number of findings, at most capacity. */
size_t ntk_findings_parse(const char *text, struct ntk_finding *out, size_t capacity);
/* hooks_dir NULL: the hooks folder of this user's processes. Returns 0 without a trusted file. */
size_t ntk_findings_read(const char *hooks_dir, struct ntk_finding *out, size_t capacity);
/* Records a wrong answer of a core, or marks the core as healthy. */
int ntk_findings_change(const char *hooks_dir, uint32_t device, uint32_t core, bool is_bad,
                        struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
