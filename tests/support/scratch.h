/* SPDX-License-Identifier: MIT */
/*
 * scratch - a separate folder for each test, removed with everything in it.
 */
#ifndef NTK_TESTS_SUPPORT_SCRATCH_H
#define NTK_TESTS_SUPPORT_SCRATCH_H

/* A new folder below $TMPDIR or /tmp; free with test_scratch_destroy(). Aborts on failure. */
char *test_scratch_create(void);
void test_scratch_destroy(char *folder);
/* One folder for all tests of a group: set-up and tear-down of cmocka_run_group_tests(). */
extern char *test_scratch_folder;
int test_scratch_set_up(void **state);
int test_scratch_tear_down(void **state);
/* Puts scratch folders of this process into memory if there is enough of it: for device trees of
 * tens of thousands of small files, which are slow to create on disk. */
void test_scratch_in_memory(void);
/* "<folder>/<name>", freed with free(). */
char *test_scratch_path(const char *folder, const char *name);

#endif
