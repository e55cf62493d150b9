/* SPDX-License-Identifier: MIT */
/* scratch - a separate folder for each test. */
#include "tests/support/scratch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

char *test_scratch_folder;

int test_scratch_set_up(void **state)
{
    (void)state;
    test_scratch_folder = test_scratch_create();
    return 0;
}

int test_scratch_tear_down(void **state)
{
    (void)state;
    test_scratch_destroy(test_scratch_folder);
    test_scratch_folder = NULL;
    return 0;
}

char *test_scratch_path(const char *folder, const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        abort();
    }
    return path;
}

void test_scratch_in_memory(void)
{
    const uint64_t bytes_min = UINT64_C(1) << 30;
    struct statvfs shm;

    if (access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &shm) == 0 &&
        (uint64_t)shm.f_bavail * shm.f_frsize > bytes_min) {
        (void)setenv("TMPDIR", "/dev/shm", 1);
    }
}
