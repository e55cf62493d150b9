/* SPDX-License-Identifier: MIT */
/* What a test prints when a wait times out. */
#include "tests/support/process.h"

#include <unistd.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct reply {
    int looks;
};

static int has_come(void *ctx)
{
    struct reply *reply = ctx;

    reply->looks++;
    return reply->looks > 2;
}

static void a_wait_that_times_out_prints_location_and_condition(void **state)
{
    char *path = test_scratch_path(test_scratch_folder, "printed");
    char text[256] = { 0 };
    char expected[256];
    int kept = dup(STDERR_FILENO);

    assert_non_null(freopen(path, "w", stderr));
    assert_int_equal(setenv("NTK_TEST_PATIENCE", "0", 1), 0);
    int came = test_wait_until(has_come, &(struct reply){ .looks = 0 });
    int line = __LINE__ - 1;
    assert_int_equal(unsetenv("NTK_TEST_PATIENCE"), 0);
    (void)fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    (void)fclose(file);
    free(path);

    assert_int_equal(came, 0);
    (void)snprintf(expected, sizeof expected,
                   "%s:%d: timed out after 0 s, waiting for: has_come, "
                   "&(struct reply){ .looks = 0 }\n",
                   __FILE__, line);
    assert_string_equal(text, expected);
}

static void a_wait_ends_when_its_condition_is_true(void **state)
{
    struct reply reply = { 0 };

    assert_int_equal(test_wait_until(has_come, &reply), 1);
    assert_int_equal(reply.looks, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_times_out_prints_location_and_condition),
        cmocka_unit_test(a_wait_ends_when_its_condition_is_true),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
