/* SPDX-License-Identifier: MIT */
/* scratch - a folder of its own for each test. */
#include "tests/support/scratch.h"

#include <stdio.h>
#include <stdlib.h>

#include "shared/base/fs.h"

char *test_scratch_create(void)
{
    const char *root = getenv("TMPDIR");
    char *folder = NULL;

    if (asprintf(&folder, "%s/ntk-test-XXXXXX", root ? root : "/tmp") < 0 || !mkdtemp(folder)) {
        perror("scratch folder");
        abort();
    }
    return folder;
}

void test_scratch_destroy(char *folder)
{
    if (folder) {
        ntk_fs_remove_tree(folder, NULL);
        free(folder);
    }
}

char *test_scratch_path(const char *folder, const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        abort();
    }
    return path;
}
