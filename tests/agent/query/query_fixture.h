/* SPDX-License-Identifier: MIT */
/*
 * query_fixture - a folder with the path of a database, and stores that tests fill with snapshots.
 */
#ifndef NTK_TESTS_AGENT_QUERY_QUERY_FIXTURE_H
#define NTK_TESTS_AGENT_QUERY_QUERY_FIXTURE_H

#include "shared/store/store.h"

#define SECOND UINT64_C(1000000000)
#define T0 UINT64_C(1700000040000000000) /* 2023-11-14T22:14:00Z */

struct fixture {
    char *folder;
    char *path; /* of a database that does not exist yet */
};

int create_fixture(void **state);
int destroy_fixture(void **state);
/* Opens a store that keeps all rows: the times of these tests are years old. */
struct ntk_store *open_store(const char *path);
void close_store(struct ntk_store *store);

#endif
