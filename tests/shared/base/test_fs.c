/* SPDX-License-Identifier: MIT */
/* Whole files and folders. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int make_scratch(void **state)
{
    *state = test_scratch_create();
    return 0;
}

static int remove_scratch(void **state)
{
    test_scratch_destroy(*state);
    return 0;
}

static void a_written_file_is_read_back_unless_it_exceeds_the_limit(void **state)
{
    char *path = test_scratch_path(*state, "file");
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    assert_int_equal(ntk_fs_write(path, "content", 7, &err), 0);
    assert_int_equal(ntk_fs_read(path, 7, &bytes, &count, &err), 0);
    assert_int_equal(count, 7);
    assert_string_equal((char *)bytes, "content");
    free(bytes);
    assert_int_equal(ntk_fs_read(path, 6, &bytes, &count, &err), -EFBIG);
    assert_int_equal(ntk_fs_read(*state, 100, &bytes, &count, &err), -EISDIR);
    free(path);
}

static void an_aborted_replacement_leaves_the_old_file(void **state)
{
    char *path = test_scratch_path(*state, "file");
    struct ntk_fs_replace replace;
    uint8_t *bytes;
    size_t count;

    assert_int_equal(ntk_fs_write(path, "old", 3, NULL), 0);
    assert_int_equal(ntk_fs_replace_begin(&replace, *state, NULL), -EISDIR); /* before any work */
    assert_int_equal(ntk_fs_replace_begin(&replace, path, NULL), 0);
    fputs("half", replace.file);
    ntk_fs_replace_abort(&replace);
    ntk_fs_replace_abort(&replace); /* calling it twice is harmless */
    assert_int_equal(ntk_fs_read(path, 100, &bytes, &count, NULL), 0);
    assert_string_equal((char *)bytes, "old");
    free(bytes);
    free(path);
}

static void non_regular_files_are_written_to_and_not_replaced(void **state)
{
    struct ntk_err err = { 0 };
    struct stat status;
    char text[8] = "";
    char *path = test_scratch_path(*state, "pipe");

    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ntk_fs_write(path, "words", 5, &err), 0);
    assert_int_equal(read(fd, text, sizeof text), 5);
    assert_string_equal(text, "words");
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    (void)close(fd);
    free(path);
}

/* Method: a FIFO without a writer; opening it for reading would block forever. */
static void a_fifo_is_rejected_at_once(void **state)
{
    char *path = test_scratch_path(*state, "waits");
    char *file = test_scratch_path(*state, "file");
    struct ntk_err err = { 0 };
    struct stat status;
    uint8_t *bytes;
    size_t count;

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ntk_fs_open_regular(path, &status, &err), -EINVAL);
    assert_non_null(strstr(err.text, "waits': not a regular file"));
    assert_int_equal(ntk_fs_read(path, 100, &bytes, &count, &err), -EINVAL);
    assert_true(ntk_fs_may_block(path));
    assert_int_equal(ntk_fs_open_regular(*state, NULL, NULL), -EISDIR);
    assert_int_equal(ntk_fs_open_regular(file, NULL, NULL), -ENOENT);
    assert_false(ntk_fs_may_block(file));
    assert_int_equal(ntk_fs_write(file, "words", 5, NULL), 0);
    int fd = ntk_fs_open_regular(file, &status, NULL);
    assert_true(fd >= 0);
    assert_int_equal(status.st_size, 5);
    assert_false(ntk_fs_may_block(file));
    (void)close(fd);
    free(file);
    free(path);
}

static void a_full_disk_is_an_error_that_names_the_file(void **state)
{
    struct ntk_fs_replace replace;
    struct ntk_err err = { 0 };
    char *path = test_scratch_path(*state, "file");

    struct stat status;

    if (stat("/dev/full", &status) < 0 || !S_ISCHR(status.st_mode)) {
        free(path);
        skip();
    }
    assert_int_equal(ntk_fs_replace_begin(&replace, path, &err), 0);
    assert_non_null(freopen("/dev/full", "w", replace.file));
    fputs("data", replace.file);
    assert_int_equal(ntk_fs_replace_commit(&replace, &err), -ENOSPC);
    assert_non_null(strstr(err.text, path));
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
}

static void folder_trees_are_created_and_removed(void **state)
{
    char *deep = test_scratch_path(*state, "a/b/c");
    char *top = test_scratch_path(*state, "a");
    char *file = test_scratch_path(*state, "a/b/file");
    char *link_path = test_scratch_path(*state, "a/link");
    char *outside = test_scratch_path(*state, "outside");

    assert_int_equal(ntk_fs_make_folders(deep, 0755, NULL), 0);
    assert_int_equal(ntk_fs_make_folders(deep, 0755, NULL), 0);
    assert_int_equal(ntk_fs_write(file, "x", 1, NULL), 0);
    assert_int_equal(ntk_fs_make_folders(outside, 0755, NULL), 0);
    assert_int_equal(symlink(outside, link_path), 0);
    assert_int_equal(ntk_fs_remove_tree(top, NULL), 0);
    assert_int_not_equal(access(top, F_OK), 0);
    assert_int_equal(access(outside, F_OK), 0); /* the link was removed, not followed */
    assert_int_equal(ntk_fs_remove_tree(top, NULL), 0);
    free(deep);
    free(top);
    free(file);
    free(link_path);
    free(outside);
}

/* Nested folders "d", each with a file. */
static void make_deep(const char *top, unsigned levels)
{
    int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (unsigned i = 0; i < levels; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int file = openat(below, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(below >= 0 && file >= 0);
        close(file);
        close(at);
        at = below;
    }
    close(at);
}

static void a_deep_tree_is_removed_with_few_descriptors(void **state)
{
    char *top = test_scratch_path(*state, "deep");
    struct rlimit limit;
    struct rlimit few;

    assert_int_equal(mkdir(top, 0700), 0);
    make_deep(top, 200);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 32;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int ret = ntk_fs_remove_tree(top, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(ret, 0);
    assert_int_not_equal(access(top, F_OK), 0);
    free(top);
}

/* An owner who adds levels as fast as they are removed would keep the walk busy forever. */
static void removal_of_an_endless_tree_stops_at_a_limit(void **state)
{
    char *top = test_scratch_path(*state, "deeper");

    assert_int_equal(mkdir(top, 0700), 0);
    int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < 5010; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = below;
    }
    close(at);
    assert_int_equal(ntk_fs_remove_tree(top, NULL), -E2BIG);
    assert_int_equal(ntk_fs_remove_tree(top, NULL), 0); /* continues */
    free(top);
}

static bool count_file(const char *name, const struct stat *status, void *ctx)
{
    (void)status;
    assert_non_null(strstr(name, "file"));
    return ++*(unsigned *)ctx < 100;
}

static void a_walk_stops_at_its_depth_and_entry_limits(void **state)
{
    const char *folder = *state;
    unsigned count = 0;
    struct ntk_fs_walk walk = {
        .depth_max = 8, .entries_max = 1000, .file = count_file, .ctx = &count
    };

    make_deep(folder, 8);
    assert_int_equal(ntk_fs_walk(folder, &walk), 0);
    assert_int_equal(count, 8);
    walk.depth_max = 3;
    count = 0;
    assert_int_equal(ntk_fs_walk(folder, &walk), -E2BIG);
    assert_int_equal(count, 3);
    walk.depth_max = 8;
    walk.entries_max = 5;
    assert_int_equal(ntk_fs_walk(folder, &walk), -E2BIG);
    walk.entries_max = 1000;
    count = 99; /* the first file is enough */
    assert_int_equal(ntk_fs_walk(folder, &walk), 0);
    assert_int_equal(count, 100);
    assert_int_equal(ntk_fs_walk("/nonexistent", &walk), -ENOENT);
}

static void a_line_read_from_a_file_has_no_line_break(void **state)
{
    char *path = test_scratch_path(*state, "value");
    char text[8];

    ntk_fs_write(path, "42\n", 3, NULL);
    assert_int_equal(ntk_fs_read_text(path, text, sizeof text), 2);
    assert_string_equal(text, "42");
    ntk_fs_write(path, "123456789012", 12, NULL);
    assert_int_equal(ntk_fs_read_text(path, text, sizeof text), 7);
    assert_int_equal(ntk_fs_read_text("/nonexistent", text, sizeof text), -ENOENT);
    free(path);
}

static void an_unnamed_file_is_written_and_read_at_any_offset(void **state)
{
    const char *folder = *state;
    char buf[8] = { 0 };
    struct ntk_err err = { 0 };
    int fd = ntk_fs_open_unnamed(folder, &err);

    assert_true(fd >= 0);
    assert_int_equal(ntk_fs_pwrite(fd, "world", 5, 6), 0);
    assert_int_equal(ntk_fs_pwrite(fd, "hello ", 6, 0), 0);
    assert_int_equal(ntk_fs_pread(fd, buf, 5, 6), 0);
    assert_string_equal(buf, "world");
    assert_int_equal(ntk_fs_pread(fd, buf, 6, 6), -EIO); /* the file ends earlier */
    assert_int_equal(rmdir(folder), 0);                  /* the file is empty */
    assert_int_equal(mkdir(folder, 0700), 0);
    close(fd);
    assert_int_equal(ntk_fs_open_unnamed("/nonexistent", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent"));
}

static void the_temporary_folder_is_tmpdir_or_a_system_default(void **state)
{
    const char *folder = *state;
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;

    setenv("TMPDIR", folder, 1);
    assert_string_equal(ntk_fs_temporary_folder(), folder);
    unsetenv("TMPDIR");
    assert_true(strcmp(ntk_fs_temporary_folder(), "/var/tmp") == 0 ||
                strcmp(ntk_fs_temporary_folder(), "/tmp") == 0);
    if (before) {
        setenv("TMPDIR", before, 1);
    }
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_written_file_is_read_back_unless_it_exceeds_the_limit,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(an_aborted_replacement_leaves_the_old_file, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(a_fifo_is_rejected_at_once, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(non_regular_files_are_written_to_and_not_replaced,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(a_full_disk_is_an_error_that_names_the_file, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(folder_trees_are_created_and_removed, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(a_deep_tree_is_removed_with_few_descriptors, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(removal_of_an_endless_tree_stops_at_a_limit, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(a_walk_stops_at_its_depth_and_entry_limits, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(an_unnamed_file_is_written_and_read_at_any_offset,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(the_temporary_folder_is_tmpdir_or_a_system_default,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(a_line_read_from_a_file_has_no_line_break, make_scratch,
                                        remove_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
