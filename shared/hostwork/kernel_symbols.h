/* SPDX-License-Identifier: MIT */
/*
 * kernel_symbols - the functions of the running kernel, from /proc/kallsyms.
 *
 * Owner:   _read() allocates, _destroy() frees; names are valid as long. Threads: any.
 */
#ifndef NTK_SHARED_HOSTWORK_KERNEL_SYMBOLS_H
#define NTK_SHARED_HOSTWORK_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct ntk_kernel_symbols;

/* Returns NULL if the file is unreadable, or the kernel hides addresses from this user. */
struct ntk_kernel_symbols *ntk_kernel_symbols_read(void);
/* Same, from a text with one symbol per line. */
struct ntk_kernel_symbols *ntk_kernel_symbols_take(const char *text);
void ntk_kernel_symbols_destroy(struct ntk_kernel_symbols *symbols);
/* The function at an address; NULL if unknown. */
const char *ntk_kernel_symbols_at(const struct ntk_kernel_symbols *symbols, uint64_t address);
/* Returns true if the function at an address handles page faults. */
bool ntk_kernel_symbols_is_fault(const struct ntk_kernel_symbols *symbols, uint64_t address);

#endif
