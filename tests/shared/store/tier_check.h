/* SPDX-License-Identifier: MIT */
/*
 * tier_check - checks that the minutes and hours of a database match its seconds. For files that
 * still have all samples.
 */
#ifndef NTK_TESTS_SHARED_STORE_TIER_CHECK_H
#define NTK_TESTS_SHARED_STORE_TIER_CHECK_H

#include <sqlite3.h>
#include <stdint.h>

/* Opens a database with the SQL functions of the store; fails the test if that is impossible. */
sqlite3 *test_tier_open(const char *path);
/* The first column of the first row. */
int64_t test_tier_number(sqlite3 *db, const char *sql);
/* Compares every row of a merged step with its samples; every sample must be in a merged step. */
void test_tier_check(sqlite3 *db);

#endif
