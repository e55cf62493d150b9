/* SPDX-License-Identifier: MIT */
/*
 * memory - the memory that this process can still allocate, and protection of it from core files.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_MEMORY_H
#define NTK_SHARED_BASE_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The least of the machine's free memory, the rest of this process's control groups and the rest of
 * RLIMIT_AS; a limit that cannot be read is ignored. */
uint64_t ntk_memory_available(void);
/* For programs with secrets of users or peers: disables core files. */
void ntk_memory_forbid_cores(void);
/* Returns memory to the system after much of it was freed. A hint; takes about a millisecond. */
void ntk_memory_trim(void);
/* For a new array of many MiB that will be filled: asks for large pages, which cause fewer page
 * faults. A hint. */
void ntk_memory_is_large(void *bytes, uint64_t bytes_count);
/* For a program that ends soon and uses long arrays one after the other: if memory is plenty, freed
 * memory stays in the process, because new memory costs 0.4 s of CPU per GB. */
void ntk_memory_keep_freed(void);

#ifdef __cplusplus
}
#endif
#endif
