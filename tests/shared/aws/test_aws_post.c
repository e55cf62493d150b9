/* SPDX-License-Identifier: MIT */
/* Method: whole requests as literal lines. A program in another language computed the signatures
 * from the description of the algorithm, not from this code. */
#include "shared/aws/aws_post.h"

#include <stdio.h>

#include "tests/support/unit.h"

#define BEGIN "authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/"
#define AT_NOON UINT64_C(1440938160) /* 2015-08-30 12:36:00 */

static const char monitoring_authorization[] =
    BEGIN "eu-west-1/monitoring/aws4_request, SignedHeaders=content-encoding;content-type;host;"
          "x-amz-date;x-amz-security-token;x-amz-target, Signature="
          "8fceb17a5393a2c1df1dfcefdd2c0fb11a1ec47096c3eb8584aeee4157832d0d";
static const char sts_authorization[] =
    BEGIN "us-east-1/sts/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature="
          "ef4b0c5930e3ce6319835e79f821f9095981a662ec6feaa91c8e19b30a6e46b8";
static char access_key[] = "AKIDEXAMPLE";
static char secret_key[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
static char session_token[] = "tok";

static void assert_lines(const struct ntk_aws_post *post, const char *const *expected)
{
    struct ntk_aws_post_lines lines;
    struct ntk_err err = { 0 };
    size_t i = 0;

    assert_int_equal(ntk_aws_post_sign(post, &lines, &err), 0);
    for (; expected[i]; i++) {
        assert_non_null(lines.lines[i]);
        assert_string_equal(lines.lines[i], expected[i]);
    }
    assert_null(lines.lines[i]);
    ntk_aws_post_fini(&lines);
    assert_null(lines.lines[0]);
}

static void every_header_is_sent_and_signed(void **state)
{
    static const char *const expected[] = {
        "content-encoding: gzip",
        "content-type: application/x-amz-json-1.0",
        "host: monitoring.eu-west-1.amazonaws.com",
        "x-amz-date: 20150830T123600Z",
        "x-amz-security-token: tok",
        "x-amz-target: T.PutMetricData",
        monitoring_authorization,
        NULL,
    };
    const struct ntk_aws_keys keys = { .access_key = access_key,
                                       .secret_key = secret_key,
                                       .session_token = session_token };
    const struct ntk_aws_post post = { .url = "https://monitoring.eu-west-1.amazonaws.com",
                                       .region = "eu-west-1",
                                       .service = "monitoring",
                                       .keys = &keys,
                                       .unix_seconds = AT_NOON,
                                       .content_type = "application/x-amz-json-1.0",
                                       .content_encoding = "gzip",
                                       .target = "T.PutMetricData",
                                       .body = "{}",
                                       .body_bytes = 2 };

    assert_lines(&post, expected);
}

static void missing_parts_of_a_request_are_neither_sent_nor_signed(void **state)
{
    static const char *const expected[] = {
        "content-type: text/plain",
        "host: 127.0.0.1:8080",
        "x-amz-date: 20150830T123600Z",
        sts_authorization,
        NULL,
    };
    const struct ntk_aws_keys keys = { .access_key = access_key, .secret_key = secret_key };
    const struct ntk_aws_post post = { .url = "http://127.0.0.1:8080/sts/",
                                       .region = "us-east-1",
                                       .service = "sts",
                                       .keys = &keys,
                                       .unix_seconds = AT_NOON,
                                       .content_type = "text/plain" };

    assert_lines(&post, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_header_is_sent_and_signed),
        cmocka_unit_test(missing_parts_of_a_request_are_neither_sent_nor_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
