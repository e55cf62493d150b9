/* SPDX-License-Identifier: MIT */
/* The error message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/err.h"
#include "tests/support/unit.h"

static void setting_an_error_returns_its_code_and_stores_the_message(void **state)
{
    struct ntk_err err = { 0 };
    char text[64];

    assert_int_equal(ntk_err_set(&err, -EBADMSG, 12, "bad %s", "magic"), -EBADMSG);
    assert_string_equal(err.text, "bad magic");
    assert_string_equal(ntk_err_format(&err, text, sizeof text), "bad magic (at byte 12)");
    assert_int_equal(ntk_err_set(NULL, -ENOMEM, 0, "ignored"), -ENOMEM);
}

static void a_prefix_is_added_and_a_long_message_is_truncated(void **state)
{
    struct ntk_err err = { 0 };
    char longest[2 * NTK_ERR_TEXT_BYTES];
    char text[NTK_ERR_TEXT_BYTES];

    ntk_err_set(&err, -EIO, NTK_ERR_NO_OFFSET, "ends early");
    ntk_err_prefix(&err, "file %d", 7);
    assert_string_equal(ntk_err_format(&err, text, sizeof text), "file 7: ends early");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ntk_err_prefix(&err, "%s", longest);
    assert_int_equal(strlen(err.text), NTK_ERR_TEXT_BYTES - 1);
}

static void out_of_memory_always_has_the_same_message(void **state)
{
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_err_no_memory(&err), -ENOMEM);
    assert_int_equal(err.code, -ENOMEM);
    assert_string_equal(err.text, "out of memory");
    assert_int_equal(ntk_err_no_memory(NULL), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_an_error_returns_its_code_and_stores_the_message),
        cmocka_unit_test(a_prefix_is_added_and_a_long_message_is_truncated),
        cmocka_unit_test(out_of_memory_always_has_the_same_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
