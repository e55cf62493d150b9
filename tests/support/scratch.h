/* SPDX-License-Identifier: MIT */
/*
 * scratch - its own folder for each test, removed with everything in it.
 */
#ifndef NTK_TESTS_SUPPORT_SCRATCH_H
#define NTK_TESTS_SUPPORT_SCRATCH_H

/* A new folder below $TMPDIR or /tmp; free with test_scratch_destroy(). Aborts when it cannot. */
char *test_scratch_create(void);
void test_scratch_destroy(char *folder);
/* One for all tests of a group: set-up and tear-down of cmocka_run_group_tests(). */
extern char *test_scratch_folder;
int test_scratch_set_up(void **state);
int test_scratch_tear_down(void **state);
/* Scratch folders of this process are in memory if there is some to spare: for device trees of
 * tens of thousands of small files, which disks make slowly. */
void test_scratch_in_memory(void);
/* "<folder>/<name>", freed with free(). */
char *test_scratch_path(const char *folder, const char *name);

#endif
