/* SPDX-License-Identifier: MIT */
/*
 * tier_check - are the minutes and hours of a database what its seconds say? For files whose
 * samples are all still there.
 */
#ifndef NTK_TESTS_SHARED_STORE_TIER_CHECK_H
#define NTK_TESTS_SHARED_STORE_TIER_CHECK_H

#include <sqlite3.h>
#include <stdint.h>

/* Opens a database with the SQL functions of the store; fails the test when it cannot. */
sqlite3 *test_tier_open(const char *path);
/* The first column of the first row. */
int64_t test_tier_number(sqlite3 *db, const char *sql);
/* Every row of a merged step against the samples in it, and every sample in a merged step. */
void test_tier_check(sqlite3 *db);

#endif
