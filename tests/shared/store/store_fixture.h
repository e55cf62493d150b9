/* SPDX-License-Identifier: MIT */
/*
 * store_fixture - a store that periods are put to, and SQL queries on its file.
 */
#ifndef NTK_TESTS_SHARED_STORE_STORE_FIXTURE_H
#define NTK_TESTS_SHARED_STORE_STORE_FIXTURE_H

#include "shared/store/store.h"
#include "tests/shared/store/make_snapshot.h"

#define T0 UINT64_C(1700000000000000000)
#define SECOND UINT64_C(1000000000)
#define MINUTE_0 UINT64_C(1700000040000000000) /* on the minute */

/* The first column of the last row of a query on the file. */
const char *ask(const char *path, const char *sql);
/* The same as users query it: our reader does not check views of a file. */
const char *ask_sqlite(const char *path, const char *sql);
void put(struct ntk_store *store, struct test_period *period);
void wait_for_room(struct ntk_store *store);
struct ntk_store *open_store(const char *path);
void begin_life(struct test_period *period, uint64_t began_ns, uint64_t completed);
int has_stored_all(void *ctx);
int has_stored_one(void *ctx);

#endif
