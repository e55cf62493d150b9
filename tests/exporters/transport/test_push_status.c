/* SPDX-License-Identifier: MIT */
/* Method: every possible status, counted by its meaning; then the messages. */
#include "exporters/transport/push_status.h"

#include <string.h>

#include "tests/support/unit.h"

static enum ntk_outbox_result judge(enum ntk_push_protocol protocol, long status)
{
    const struct ntk_http_answer answer = { .status = status };
    struct ntk_outbox_answer out = { .result = NTK_OUTBOX_RETRY };

    ntk_push_status_judge(protocol, &answer, "", &out);
    return out.result;
}

static void http_statuses_are_sent_retried_or_rejected(void **state)
{
    for (long status = 100; status < 700; status++) {
        bool is_sent = status / 100 == 2;
        bool is_busy =
            status / 100 == 3 || status == 429 || status == 502 || status == 503 || status == 504;
        enum ntk_outbox_result otlp = is_sent   ? NTK_OUTBOX_SENT
                                      : is_busy ? NTK_OUTBOX_RETRY
                                                : NTK_OUTBOX_REFUSED;
        enum ntk_outbox_result write = status / 100 == 5 ? NTK_OUTBOX_RETRY : otlp;
        if (judge(NTK_PUSH_OTLP, status) != otlp || judge(NTK_PUSH_REMOTE_WRITE, status) != write) {
            fail_msg("status %ld", status);
        }
    }
}

static void the_error_message_of_the_peer_is_reported(void **state)
{
    const struct ntk_http_answer away = { .status = 503, .retry_after_ns = 7 };
    const struct ntk_http_answer taken = { .status = 200, .retry_after_ns = 7 };
    struct ntk_outbox_answer answer = { .result = NTK_OUTBOX_RETRY };
    char longer[1000];

    ntk_push_status_judge(NTK_PUSH_OTLP, &away, "full\x1b[2J up\r\nmore", &answer);
    assert_int_equal(answer.retry_after_ns, 7);
    assert_ptr_equal(strstr(answer.text, "status 503: full"), answer.text);
    assert_null(strchr(answer.text, '\x1b'));
    assert_null(strstr(answer.text, "more"));
    ntk_push_status_judge(NTK_PUSH_OTLP, &away, "", &answer);
    assert_string_equal(answer.text, "status 503");
    const struct ntk_http_answer elsewhere = { .status = 308 };
    ntk_push_status_judge(NTK_PUSH_REMOTE_WRITE, &elsewhere, "", &answer);
    assert_string_equal(answer.text, "status 308, a redirect (redirects are not followed)");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ntk_push_status_judge(NTK_PUSH_REMOTE_WRITE, &away, longer, &answer);
    assert_true(strlen(answer.text) > 100 && strlen(answer.text) < sizeof answer.text);
    answer = (struct ntk_outbox_answer){ .result = NTK_OUTBOX_RETRY };
    ntk_push_status_judge(NTK_PUSH_REMOTE_WRITE, &taken, "thanks", &answer);
    assert_int_equal(answer.result, NTK_OUTBOX_SENT);
    assert_int_equal(answer.retry_after_ns, 0);
    assert_string_equal(answer.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(http_statuses_are_sent_retried_or_rejected),
        cmocka_unit_test(the_error_message_of_the_peer_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
