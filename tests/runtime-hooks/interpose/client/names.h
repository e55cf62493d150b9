/* SPDX-License-Identifier: MIT */
/* names - what a client gets for every name of the runtime. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_NAMES_H
#define NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_NAMES_H

/* Prints the answer of each weak reference that was bound before main(). */
void names_print_weak(void);
/* The answers of dlsym() and dlvsym() to a handle of libnrt.so.1, with and without an error. */
int names_print_symbols(void);

#endif
