/* SPDX-License-Identifier: MIT */
/* Method: judges real responses of services. */
#include "shared/aws/aws_verdict.h"

#include <stdio.h>

#include "shared/http/http_client.h"
#include "tests/support/unit.h"

static void each_response_is_accepted_retried_or_rejected(void **state)
{
    static const struct {
        long status;
        const char *code;
        enum ntk_aws_verdict verdict;
    } rows[] = {
        { 200, "", NTK_AWS_TAKEN },
        { 400, "Throttling", NTK_AWS_AGAIN },
        { 400, "ThrottlingException", NTK_AWS_AGAIN },
        { 429, "", NTK_AWS_AGAIN },
        { 500, "InternalServiceFault", NTK_AWS_AGAIN },
        { 503, "", NTK_AWS_AGAIN },
        { 302, "", NTK_AWS_AGAIN },
        { 404, "", NTK_AWS_AGAIN },
        { 400, "ExpiredTokenException", NTK_AWS_RENEW },
        { 403, "AccessDenied", NTK_AWS_RENEW },
        { 403, "", NTK_AWS_RENEW },
        { 400, "InvalidParameterValueException", NTK_AWS_REFUSED },
        { 400, "Exception", NTK_AWS_REFUSED },
        { 400, "", NTK_AWS_REFUSED },
        { 413, "", NTK_AWS_REFUSED },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_aws_error error = { 0 };
        snprintf(error.code, sizeof error.code, "%s", rows[i].code);
        if (ntk_aws_judge(rows[i].status, &error) != rows[i].verdict) {
            fail_msg("%ld %s", rows[i].status, rows[i].code);
        }
    }
}

static void a_retry_after_header_sets_the_pause(void **state)
{
    static const struct {
        const char *head;
        uint64_t pause_ns; /* with a Retry-After of 7 ns */
    } rows[] = {
        { "date: x\n", 7 },
        { "x-amz-retry-after: 30\n", UINT64_C(30000000) },
        { "x-amz-retry-after: 0\n", 0 },
        { "x-amz-retry-after: 3600000\n", UINT64_C(3600000000000) },
        { "x-amz-retry-after: 3600001\n", 7 },
        { "x-amz-retry-after: soon\n", 7 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_http_answer answer = { .status = 400, .retry_after_ns = 7 };
        ntk_buf_add_text(&answer.head, rows[i].head);
        assert_int_equal(ntk_aws_pause_ns(&answer), rows[i].pause_ns);
        ntk_http_answer_fini(&answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_response_is_accepted_retried_or_rejected),
        cmocka_unit_test(a_retry_after_header_sets_the_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
