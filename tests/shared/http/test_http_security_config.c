/* SPDX-License-Identifier: MIT */
/* Method: texts of configurations; checks the parsed values of valid ones and the message of
 * invalid ones. */
#include "shared/http/http_security_config.h"

#include <errno.h>
#include <string.h>

#include "tests/support/unit.h"

#define HASH "$2y$10$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG"

static void every_configuration_key_is_parsed(void **state)
{
    static const char text[] = "tls_server_config:\n"
                               "  cert_file: a.pem\n"
                               "  key: |\n    text\n"
                               "  client_auth_type: VerifyClientCertIfGiven\n"
                               "  client_ca: ca\n"
                               "  min_version: TLS13\n"
                               "  max_version: TLS13\n"
                               "  prefer_server_cipher_suites: true\n"
                               "http_server_config:\n"
                               "  http2: false\n"
                               "  headers:\n"
                               "    strict-transport-security: max-age=1\n"
                               "basic_auth_users:\n"
                               "  me: " HASH "\n"
                               "  'you and I': " HASH "\n"
                               "rate_limit: { interval: 1m30s, burst: 7 }\n";
    struct ntk_http_security_config config;
    struct ntk_err err = { 0 };

    if (ntk_http_security_config_parse(text, sizeof text - 1, &config, &err) < 0) {
        fail_msg("refused: %s", err.text);
    }
    assert_true(config.has_tls);
    assert_string_equal(config.cert_file, "a.pem");
    assert_null(config.key_file);
    assert_string_equal(config.key, "text\n");
    assert_int_equal(config.client_auth, NTK_HTTP_CLIENT_AUTH_IF_GIVEN);
    assert_string_equal(config.client_ca, "ca");
    assert_int_equal(config.tls_minor_min, 3);
    assert_int_equal(config.header_count, 1);
    assert_string_equal(config.headers[0].name, "Strict-Transport-Security");
    assert_string_equal(config.headers[0].value, "max-age=1");
    assert_int_equal(config.user_count, 2);
    assert_string_equal(config.users[1].name, "you and I");
    assert_string_equal(config.users[1].hash, HASH);
    assert_int_equal(config.rate_interval_ns, 90000000000);
    assert_int_equal(config.rate_burst, 7);
    ntk_http_security_config_fini(&config);
}

static void an_empty_configuration_has_defaults(void **state)
{
    static const char *const texts[] = { "", "# nothing\n", "tls_server_config:\n",
                                         "tls_server_config: {}\nbasic_auth_users:\n", "---\n" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ntk_http_security_config config;
        struct ntk_err err = { 0 };

        assert_int_equal(ntk_http_security_config_parse(texts[i], strlen(texts[i]), &config, &err),
                         0);
        assert_false(config.has_tls);
        assert_int_equal(config.user_count, 0);
        assert_int_equal(config.tls_minor_min, 2);
        ntk_http_security_config_fini(&config);
    }
}

static void an_invalid_configuration_is_rejected_with_the_reason(void **state)
{
    static const struct {
        const char *text;
        const char *said;
    } cases[] = {
        { "a: 1\n", "line 1: 'a' is not a known key" },
        { "\n\ntls_server_config: 1\n", "line 3: 'tls_server_config' must be a list" },
        { "tls_server_config: { cert_file: a }\n",
          "requires either cert_file or cert, and either key" },
        { "tls_server_config: { cert_file: a, cert: a, key: b }\n", "requires either" },
        { "tls_server_config: { cert: a, key: b, client_auth_type: RequireAndVerifyClientCert }\n",
          "to verify clients" },
        { "tls_server_config: { cert: a, key: b, client_auth_type: RequireAnyClientCert }\n",
          "'client_auth_type' must be" },
        { "tls_server_config: { cert: a, key: b, min_version: TLS13, max_version: TLS12 }\n",
          "min_version above" },
        { "tls_server_config: { cert: a, key: b, min_version: SSL3 }\n", "must be TLS10" },
        { "tls_server_config: { cert: a, key: b, min_version: TLS1 }\n", "must be TLS10" },
        { "tls_server_config: { cert: a, key: b, cipher_suites: [] }\n", "is not supported" },
        { "tls_server_config: { cert: [a], key: b }\n", "'cert' is not a string" },
        { "tls_server_config: { cert: \"a\\0b\", key: b }\n", "'cert' is not a string" },
        { "tls_server_config: { [a]: b }\n", "a key that is not a string" },
        { "http_server_config: { headers: { Cookie: a } }\n", "not an allowed header" },
        { "http_server_config: { headers: { X-Frame-Options: \"a\\r\\nb: c\" } }\n",
          "more than one line" },
        { "http_server_config: { http2: maybe }\n", "must be true or false" },
        { "basic_auth_users: { me: plain }\n", "'me' has no bcrypt hash" },
        { "basic_auth_users: { 'a:b': " HASH " }\n",
          "is not a valid user name, or exceeds the maximum number of users" },
        { "rate_limit: { interval: fast, burst: 1 }\n", "must be a duration" },
        { "rate_limit: { interval: 1s }\n", "requires a burst" },
        { "rate_limit: { interval: 1s, burst: -1 }\n", "must be a number of requests" },
        { "a: [\n", "line 2: " },
        { "\t\n", "line 1: " },
        { "a: *b\n", "line 1: " },
        { "a: \x80", "line 1: " },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_http_security_config config;
        struct ntk_err err = { 0 };
        int ret =
            ntk_http_security_config_parse(cases[i].text, strlen(cases[i].text), &config, &err);

        if (ret != -EINVAL || !strstr(err.text, cases[i].said)) {
            fail_msg("'%s': %d, '%s'", cases[i].text, ret, err.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_configuration_key_is_parsed),
        cmocka_unit_test(an_empty_configuration_has_defaults),
        cmocka_unit_test(an_invalid_configuration_is_rejected_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
