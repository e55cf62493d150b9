/* SPDX-License-Identifier: MIT */
/* offline - offline models of adders (tests/support/models.h) in files and in memory, for tests. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_CNRT_OFFLINE_H
#define NTK_TESTS_RUNTIME_HOOKS_CNRT_OFFLINE_H

#include <stddef.h>

#include "tests/support/models.h"

/* Functions "subnet0" and "again", compiled for 1 and 4 cores; free with free(). */
char *offline_make(size_t *out_bytes);
/* The same as a file in the folder; free with free(). */
char *offline_write(const char *folder, const char *name);
/* The result of an adder for offline_input(). */
void offline_input(float *x);
void offline_check(const float *y);

#endif
