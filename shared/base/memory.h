/* SPDX-License-Identifier: MIT */
/*
 * memory - the memory that this process can still allocate, and protection from core files.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_MEMORY_H
#define NTK_SHARED_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The smallest of three: the machine's free memory, what the control groups of this process still
 * allow, and what RLIMIT_AS still allows. A limit that cannot be read is ignored. */
uint64_t ntk_memory_available(void);
/* Disables core files. For programs that hold secrets of users or peers. */
void ntk_memory_forbid_cores(void);
/* Returns freed memory to the system after much was freed. A hint; takes about a millisecond. */
void ntk_memory_trim(void);
/* Requests large pages for a new array of many MiB that will be filled, which causes fewer page
 * faults. A hint. */
void ntk_memory_is_large(void *bytes, uint64_t bytes_count);
/* Prepares the pages of the heap that the next allocations of as many bytes in total will use, all
 * in one call: a fault for each page costs a third more. A hint. */
void ntk_memory_expect(size_t bytes_count);
/* Keeps freed memory in the process if memory is plenty, because new memory costs 0.4 s of CPU per
 * GB. For a program that runs briefly and uses long arrays one after another. */
void ntk_memory_keep_freed(void);

#ifdef __cplusplus
}
#endif
#endif
