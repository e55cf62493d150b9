/* SPDX-License-Identifier: MIT */
/*
 * memory - how much more of it this process can take, and that no file has a copy of it.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_MEMORY_H
#define NTK_SHARED_BASE_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The least of what the machine has free, what the control groups of this process leave and what
 * RLIMIT_AS leaves; what cannot be read limits nothing. */
uint64_t ntk_memory_available(void);
/* For programs with secrets of users or peers: there will be no core file. */
void ntk_memory_forbid_cores(void);
/* For a new array of many MiB that will be filled: asks for large pages, which cause fewer page
 * faults. A hint. */
void ntk_memory_is_large(void *bytes, uint64_t bytes_count);

#ifdef __cplusplus
}
#endif
#endif
