/* SPDX-License-Identifier: MIT */
/* Method: the published vectors of the signature's test suite, and the rules of canonical form. */
#include "shared/aws/aws_sigv4.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

#define DATE "20150830T123600Z"
#define BEGIN                                                                           \
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " \
    "SignedHeaders="

static const struct ntk_aws_header host = { "host", "example.amazonaws.com" };
static const struct ntk_aws_header date = { "x-amz-date", DATE };

static void sign(const struct ntk_aws_request *request, struct ntk_buf *out)
{
    const struct ntk_aws_scope scope = { "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                         "us-east-1", "service", DATE };

    ntk_aws_sign(request, &scope, out);
    assert_true(ntk_buf_ok(out));
}

static void assert_signature(const char *method, const struct ntk_aws_header *headers, size_t count,
                             const char *body, const char *names, const char *signature)
{
    const struct ntk_aws_request request = { method, "/",  headers,
                                             count,  body, body ? strlen(body) : 0 };
    struct ntk_buf out = { 0 };
    char expected[512];

    sign(&request, &out);
    snprintf(expected, sizeof expected, BEGIN "%s, Signature=%s", names, signature);
    assert_string_equal(ntk_buf_text_get(&out), expected);
    ntk_buf_fini(&out);
}

static void published_vectors_are_reproduced(void **state)
{
    const struct ntk_aws_header vanilla[] = { host, date };
    const struct ntk_aws_header trim[] = {
        host, { "my-header1", " value1" }, { "my-header2", " \"a   b   c\"" }, date
    };
    const struct ntk_aws_header form[] = { { "content-type", "application/x-www-form-urlencoded" },
                                           host,
                                           date };

    assert_signature("GET", vanilla, 2, NULL, "host;x-amz-date",
                     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    assert_signature("POST", vanilla, 2, NULL, "host;x-amz-date",
                     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    assert_signature("GET", trim, 4, NULL, "host;my-header1;my-header2;x-amz-date",
                     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
    assert_signature("POST", form, 3, "Param1=value1", "content-type;host;x-amz-date",
                     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
}

static void a_changed_byte_changes_the_signature(void **state)
{
    const struct ntk_aws_header headers[] = { host, date };
    const struct ntk_aws_request one = { "POST", "/", headers, 2, "a\0b", 3 };
    const struct ntk_aws_request two = { "POST", "/", headers, 2, "a\0c", 3 };
    struct ntk_buf first = { 0 };
    struct ntk_buf second = { 0 };

    sign(&one, &first);
    sign(&two, &second);
    assert_string_not_equal(first.bytes, second.bytes);
    ntk_buf_fini(&first);
    ntk_buf_fini(&second);
}

static void dates_have_the_iso_8601_basic_form(void **state)
{
    char text[NTK_AWS_DATE_BYTES];

    ntk_aws_date(text, 1440938160);
    assert_string_equal(text, DATE);
    ntk_aws_date(text, 0);
    assert_string_equal(text, "19700101T000000Z");
    ntk_aws_date(text, UINT64_C(253402300800)); /* the year 10000 */
    assert_string_equal(text, "");
}

static void only_normalized_paths_without_escapes_are_accepted(void **state)
{
    static const char *const good[] = { "/", "/prefix", "/a-b_c.d~e/f" };
    static const char *const bad[] = { "",     "a",     "//",   "/a//b",    "/a b",
                                       "/%20", "/../x", "/a?b", "/\xc3\xa4" };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(ntk_aws_path_check(good[i]), 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ntk_aws_path_check(bad[i]), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors_are_reproduced),
        cmocka_unit_test(a_changed_byte_changes_the_signature),
        cmocka_unit_test(dates_have_the_iso_8601_basic_form),
        cmocka_unit_test(only_normalized_paths_without_escapes_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
