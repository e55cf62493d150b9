/* SPDX-License-Identifier: MIT */
/* query_fixture - creates the folder and opens stores. */
#include "tests/agent/query/query_fixture.h"

#include <stdlib.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

int create_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "store.db");
    *state = f;
    return 0;
}

int destroy_fixture(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f->path);
    free(f);
    return 0;
}

struct ntk_store *open_store(const char *path)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 20000000 };
    struct ntk_store *store = NULL;

    assert_int_equal(ntk_store_open(path, &options, &store, NULL), 0);
    return store;
}

void close_store(struct ntk_store *store)
{
    assert_int_equal(ntk_store_close(store, NULL), 0);
}
