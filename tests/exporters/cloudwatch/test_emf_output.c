/* SPDX-License-Identifier: MIT */
/* Method: a file size limit (RLIMIT_FSIZE) simulates a full disk; without it the disk has room
 * again. */
#include "exporters/cloudwatch/emf_output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define FIRST "{\"_aws\":{},\"n\":1}\n"
#define SECOND "{\"_aws\":{},\"n\":2}\n"
#define THIRD "{\"_aws\":{},\"n\":3}\n"
#define HALF ((off_t)(sizeof FIRST - 1 + 8)) /* the first line and a part of the second */

struct fixture {
    char *folder;
    char *path;
    struct ntk_emf_output *output;
    int stdout_fd; /* the original stdout while a file replaces it, or -1 */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "lines");
    f->stdout_fd = -1;
    *state = f;
    return 0;
}

static void disk_bytes_set(rlim_t bytes)
{
    struct rlimit limit;

    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void stdout_restore(struct fixture *f)
{
    if (f->stdout_fd >= 0) {
        dup2(f->stdout_fd, STDOUT_FILENO);
        close(f->stdout_fd);
    }
    f->stdout_fd = -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    disk_bytes_set(RLIM_INFINITY);
    stdout_restore(f);
    ntk_emf_output_destroy(f->output);
    free(f->path);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void create(struct fixture *f, const char *target)
{
    struct ntk_err err = { 0 };

    if (ntk_emf_output_create(target, NULL, 0, &f->output, &err) < 0) {
        fail_msg("%s", err.text);
    }
}

static int put(struct fixture *f, const char *lines, struct ntk_err *err)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add_text(&buf, lines);
    int ret = ntk_emf_output_put(f->output, &buf, 1, err);
    ntk_buf_fini(&buf);
    return ret;
}

struct awaited {
    const char *path;
    off_t bytes;
};

static int has_size(void *ctx)
{
    const struct awaited *awaited = ctx;
    struct stat info;

    return stat(awaited->path, &info) == 0 && info.st_size == awaited->bytes;
}

/* The outbox has a separate thread: waits for its effect. */
static void wait_for_size(const char *path, off_t bytes)
{
    assert_true(test_wait_until(has_size, &(struct awaited){ path, bytes }));
}

struct drain {
    struct ntk_emf_output *output;
    int ret;
    struct ntk_err err;
};

static int is_drained(void *ctx)
{
    struct drain *drain = ctx;

    drain->ret = ntk_emf_output_drain(drain->output, false, &drain->err);
    return drain->ret != 0;
}

static void finish(struct fixture *f)
{
    struct drain drain = { .output = f->output };

    assert_true(test_wait_until(is_drained, &drain));
    if (drain.ret < 0) {
        fail_msg("%s", drain.err.text);
    }
}

static void expect(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_string_equal(text, expected);
}

static void a_partial_line_is_completed_when_the_disk_has_room_again(void **state)
{
    struct fixture *f = *state;

    create(f, f->path);
    disk_bytes_set((rlim_t)HALF);
    assert_int_equal(put(f, FIRST SECOND, NULL), 0);
    wait_for_size(f->path, HALF);

    disk_bytes_set(RLIM_INFINITY);
    assert_int_equal(put(f, THIRD, NULL), 0);
    finish(f);

    expect(f->path, FIRST SECOND THIRD);
}

static void a_line_truncated_in_a_rotated_file_is_repeated_in_the_next(void **state)
{
    struct fixture *f = *state;
    char *moved = test_scratch_path(f->folder, "moved");

    create(f, f->path);
    disk_bytes_set((rlim_t)HALF);
    assert_int_equal(put(f, FIRST SECOND, NULL), 0);
    wait_for_size(f->path, HALF);
    assert_int_equal(rename(f->path, moved), 0);
    disk_bytes_set(RLIM_INFINITY);
    finish(f);

    expect(moved, FIRST "{\"_aws\":");
    expect(f->path, SECOND);
    free(moved);
}

static void a_partial_line_is_repeated_after_the_file_was_truncated(void **state)
{
    struct fixture *f = *state;

    create(f, f->path);
    disk_bytes_set((rlim_t)HALF);
    assert_int_equal(put(f, FIRST SECOND, NULL), 0);
    wait_for_size(f->path, HALF);
    assert_int_equal(truncate(f->path, HALF - 4), 0);
    disk_bytes_set(RLIM_INFINITY);
    finish(f);

    expect(f->path, FIRST "{\"_a\n" SECOND);
}

static void a_restarted_program_begins_a_new_line(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(f->path, "w");

    fputs(FIRST "{\"_aws\":", file);
    fclose(file);
    create(f, f->path);
    assert_int_equal(put(f, SECOND, NULL), 0);
    assert_int_equal(put(f, THIRD, NULL), 0);
    finish(f);

    expect(f->path, FIRST "{\"_aws\":\n" SECOND THIRD);
}

static void stdout_output_begins_a_new_line_after_a_truncated_line(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    int fd = open(f->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    fflush(stdout);
    f->stdout_fd = dup(STDOUT_FILENO);
    dup2(fd, STDOUT_FILENO);
    close(fd);
    create(f, "-");
    disk_bytes_set((rlim_t)HALF);
    int cut = put(f, FIRST SECOND, &err);
    int still_full = put(f, THIRD, NULL);
    disk_bytes_set(RLIM_INFINITY);
    int after = put(f, THIRD, NULL);
    int whole = put(f, FIRST, NULL);
    stdout_restore(f);

    assert_int_equal(cut, -EFBIG);
    assert_string_equal(err.text, "cannot write to stdout: File too large");
    assert_int_equal(still_full, -EFBIG);
    assert_int_equal(after, 0);
    assert_int_equal(whole, 0);
    expect(f->path, FIRST "{\"_aws\":\n" THIRD FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_partial_line_is_completed_when_the_disk_has_room_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_truncated_in_a_rotated_file_is_repeated_in_the_next,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_partial_line_is_repeated_after_the_file_was_truncated,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_restarted_program_begins_a_new_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stdout_output_begins_a_new_line_after_a_truncated_line,
                                        set_up, tear_down),
    };

    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
