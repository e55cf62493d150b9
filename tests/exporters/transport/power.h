/* SPDX-License-Identifier: MIT */
/*
 * power - a disk that forgets: fsync() and fdatasync() of the test's program note what would
 * outlive a power cut. Files that were never synced keep their name, when that was synced, and lose
 * their bytes.
 *
 * Threads: any.
 */
#ifndef TESTS_EXPORTERS_TRANSPORT_POWER_H
#define TESTS_EXPORTERS_TRANSPORT_POWER_H

#include <stddef.h>

/* Makes the folder what a power cut leaves of it. */
void test_power_cut_make(const char *folder);
/* Files whose bytes and name are safe, of those that were synced so far. */
size_t test_power_safe_count(void);
/* From now on syncing fails with this errno; 0: no more. */
void test_power_fail(int error);

#endif
