/* SPDX-License-Identifier: MIT */
/* reader_fixture - periods of a made-up process in a database, and a reader of it. */
#include "tests/shared/store/reader_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 20000000 };

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "store.db");
    assert_int_equal(ntk_store_open(f->path, &options, &f->store, NULL), 0);
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_store_reader_close(f->reader);
    ntk_store_close(f->store, NULL);
    test_scratch_destroy(f->folder);
    free(f->path);
    free(f);
    return 0;
}

void put(struct fixture *f, struct ntk_snapshot *snapshot)
{
    test_store_put(f->store, snapshot);
}

void put_at(struct fixture *f, uint64_t at)
{
    f->period.time_ns = HOUR_0 + at * SECOND;
    put(f, test_make_snapshot(&f->period));
}

void start_reading(struct fixture *f)
{
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_store_close(f->store, NULL), 0);
    f->store = NULL;
    if (ntk_store_reader_open(f->path, &f->reader, &err) < 0) {
        fail_msg("%s", err.text);
    }
}

struct ntk_store_point *series(struct fixture *f, enum ntk_store_metric metric,
                               const struct ntk_store_filter *filter, uint64_t from, uint64_t to,
                               uint64_t step, size_t *out_count)
{
    struct ntk_store_window window = { HOUR_0 + from * SECOND, HOUR_0 + to * SECOND,
                                       step * SECOND };
    struct ntk_store_point *points = NULL;
    struct ntk_err err = { 0 };

    if (ntk_store_reader_series(f->reader, metric, filter, &window, &points, out_count, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return points;
}

void assert_close(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected)) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}
