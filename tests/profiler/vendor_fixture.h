/* SPDX-License-Identifier: MIT */
/* vendor_fixture - a hand-made folder of the vendor for each test, and the scratch folder that
 * contains it. */
#ifndef NTK_TESTS_PROFILER_VENDOR_FIXTURE_H
#define NTK_TESTS_PROFILER_VENDOR_FIXTURE_H

#include <stdlib.h>

#include "tests/support/scratch.h"
#include "tests/support/vendor_folder.h"

struct fixture {
    char *path;
    struct vendor_folder folder;
};

static inline struct fixture *fixture_create(unsigned version)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->path = test_scratch_create();
    vendor_folder_init(&f->folder, version);
    return f;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    vendor_folder_fini(&f->folder);
    test_scratch_destroy(f->path);
    free(f);
    return 0;
}

#endif
