/* SPDX-License-Identifier: MIT */
/*
 * reader_fixture - periods of a made-up process in a database, and a reader of it.
 *
 * Owner:   set_up() / tear_down(), for cmocka.
 */
#ifndef NTK_TESTS_SHARED_STORE_READER_FIXTURE_H
#define NTK_TESTS_SHARED_STORE_READER_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (3600 * SECOND)
#define HOUR_0 UINT64_C(1699999200000000000) /* on the hour */

struct fixture {
    char *folder;
    char *path;
    struct ntk_store *store;
    struct ntk_store_reader *reader;
    struct test_period period;
};

int set_up(void **state);
int tear_down(void **state);
/* Stores the period unchanged: a full queue would merge it with another one. */
void put(struct fixture *f, struct ntk_snapshot *snapshot);
/* One period that ends at second `at` of the test's hour. */
void put_at(struct fixture *f, uint64_t at);
void start_reading(struct fixture *f);
struct ntk_store_point *series(struct fixture *f, enum ntk_store_metric metric,
                               const struct ntk_store_filter *filter, uint64_t from, uint64_t to,
                               uint64_t step, size_t *out_count);
void assert_close(double value, double expected);

#endif
