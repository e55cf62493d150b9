/* SPDX-License-Identifier: MIT */
/*
 * power - simulates a disk that loses data: fsync() and fdatasync() of the test program record what
 * would survive a power cut. Files that were never synced keep their name, if it was synced, and
 * lose their bytes.
 *
 * Threads: any.
 */
#ifndef TESTS_EXPORTERS_TRANSPORT_POWER_H
#define TESTS_EXPORTERS_TRANSPORT_POWER_H

#include <stddef.h>

/* Leaves in the folder what a power cut leaves. */
void test_power_cut_make(const char *folder);
/* The number of synced files with safe bytes and names. */
size_t test_power_safe_count(void);
/* From now on syncing fails with this errno; 0: succeeds again. */
void test_power_fail(int error);

#endif
