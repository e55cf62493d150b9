/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "shared/base/err.h"
#include "shared/base/url.h"
#include "tests/support/unit.h"

static void an_address_is_shown_without_credentials(void **state)
{
    static const char *const rows[][2] = {
        { "http://host:8000", "http://host:8000" },
        { "host:8000", "host:8000" },
        { "", "" },
        { "https://user:secret@host:1/path?token=secret#secret", "https://host:1/path" },
        { "user:secret@host:1", "host:1" },
        { "http://secret@host", "http://host" },
        { "http://user:sec@ret@host/", "http://host/" },
        { "http://user:se/cret@host:1/x", "http://host:1/x" },
        { "http://user:se?cret@host:1", "http://host:1" },
        { "http://[::1]:80/a@b", "http://[::1]:80/a@b" },
        { "http://host/a@b", "http://host/a@b" },
        { "http://host:80/a@b", "http://host:80/a@b" },
        { "http://a\x1b[2Jb", "http://a\xef\xbf\xbd[2Jb" },
    };
    char shown[NTK_URL_SHOWN_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(ntk_url_redact(shown, sizeof shown, rows[i][0]), rows[i][1]);
    }
    assert_string_equal(ntk_url_redact(shown, 9, "http://u:p@host"), "http://h");
}

static void passwords_in_error_messages_are_removed(void **state)
{
    struct ntk_err err = { 0 };

    (void)state;
    (void)ntk_err_set(&err, -1, NTK_ERR_NO_OFFSET,
                      "'http://u:secret@a:1/x' and https://u:se/cret@b: refused, see user@host");
    assert_string_equal(err.text, "'http://a:1/x' and https://b: refused, see user@host");
    ntk_err_prefix(&err, "%s", "ftp://secret@c");
    assert_string_equal(err.text, "ftp://c: 'http://a:1/x' and https://b: refused, see user@host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_shown_without_credentials),
        cmocka_unit_test(passwords_in_error_messages_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
