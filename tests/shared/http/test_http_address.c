/* SPDX-License-Identifier: MIT */
/* Method: texts and the expected results. */
#include "shared/http/http_address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

static void every_address_form_yields_host_and_port(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        uint16_t port;
    } rows[] = {
        { "9100", "127.0.0.1", 9100 }, { ":9100", "", 9100 },
        { "0.0.0.0:1", "0.0.0.0", 1 }, { "localhost:65535", "localhost", 65535 },
        { "[::1]:9100", "::1", 9100 }, { "0", "127.0.0.1", 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_http_address address;
        assert_int_equal(ntk_http_address_parse(rows[i].text, "127.0.0.1", &address, NULL), 0);
        assert_string_equal(address.host, rows[i].host);
        assert_int_equal(address.port, rows[i].port);
    }
}

static void an_invalid_address_is_rejected_and_the_result_unchanged(void **state)
{
    static const char *const texts[] = { "",        ":",      "host",  "host:",   "host:http",
                                         "1:65536", "::1:80", "[::1]", "[::1]80", "[::1",
                                         ":-1",     ":+1",    ": 1",   ":0x50 " };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ntk_http_address address = { "kept", 7 };
        struct ntk_err err = { 0 };
        assert_int_equal(ntk_http_address_parse(texts[i], "", &address, &err), -EINVAL);
        assert_true(err.text[0] != '\0');
        assert_string_equal(address.host, "kept");
        assert_int_equal(address.port, 7);
    }
}

static void a_host_name_that_is_too_long_is_rejected(void **state)
{
    char text[NTK_HTTP_HOST_BYTES + 8];
    struct ntk_http_address address;

    memset(text, 'a', sizeof text);
    memcpy(text + NTK_HTTP_HOST_BYTES, ":80", 4);
    assert_int_equal(ntk_http_address_parse(text, "", &address, NULL), -EINVAL);
}

static void loopback_addresses_are_recognized(void **state)
{
    static const struct {
        const char *host;
        bool is_loopback;
    } rows[] = { { "127.0.0.1", true }, { "127.8.9.1", true }, { "::1", true },
                 { "localhost", true }, { "", false },         { "10.0.0.1", false },
                 { "::", false },       { "0.0.0.0", false },  { "host", false } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_http_address address = { 0 };
        snprintf(address.host, sizeof address.host, "%s", rows[i].host);
        assert_int_equal(ntk_http_address_is_loopback(&address), rows[i].is_loopback);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_address_form_yields_host_and_port),
        cmocka_unit_test(an_invalid_address_is_rejected_and_the_result_unchanged),
        cmocka_unit_test(a_host_name_that_is_too_long_is_rejected),
        cmocka_unit_test(loopback_addresses_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
