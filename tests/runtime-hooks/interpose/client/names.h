/* SPDX-License-Identifier: MIT */
/* names - the function that a client gets for every name of the runtime. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_NAMES_H
#define NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_NAMES_H

/* Prints the address of each weak reference as bound before main(). */
void names_print_weak(void);
/* Prints the answers of dlsym() and dlvsym() for a handle of libnrt.so.1, with and without an
 * error. */
int names_print_symbols(void);

#endif
