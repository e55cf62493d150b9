/* SPDX-License-Identifier: MIT */
/* fixture - a scratch folder, and the name of a database in it that does not exist yet. */
#ifndef NTK_TESTS_SHARED_STORE_FIXTURE_H
#define NTK_TESTS_SHARED_STORE_FIXTURE_H

#include <stdlib.h>

#include "tests/support/scratch.h"

struct fixture {
    char *folder;
    char *path;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "store.db");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f->path);
    free(f);
    return 0;
}

#endif
