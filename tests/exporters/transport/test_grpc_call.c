/* SPDX-License-Identifier: MIT */
/* Method: hand-made answers, following the table of the standard. */
#include "exporters/transport/grpc_call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/http/http_gzip.h"
#include "tests/support/unit.h"

static struct ntk_outbox_answer judge(long status, const char *head)
{
    struct ntk_http_answer answer = { .status = status };
    struct ntk_outbox_answer out = { .result = NTK_OUTBOX_RETRY };

    ntk_buf_add_text(&answer.head, head);
    ntk_grpc_judge(&answer, &out);
    ntk_http_answer_fini(&answer);
    return out;
}

static void a_grpc_frame_has_a_flag_and_a_length(void **state)
{
    static const char wanted[] = "\1\0\0\1\3";
    char message[259] = "x";
    struct ntk_buf out = { 0 };

    (void)state;
    assert_int_equal(ntk_grpc_frame(message, sizeof message, true, &out), 0);
    assert_int_equal(out.bytes_count, sizeof message + NTK_GRPC_FRAME_BYTES);
    assert_memory_equal(out.bytes, wanted, NTK_GRPC_FRAME_BYTES);
    assert_memory_equal(out.bytes + NTK_GRPC_FRAME_BYTES, message, sizeof message);
    ntk_buf_reset(&out);
    assert_int_equal(ntk_grpc_frame("", 0, false, &out), 0);
    assert_memory_equal(out.bytes, "\0\0\0\0\0", NTK_GRPC_FRAME_BYTES);
    ntk_buf_fini(&out);
}

static void grpc_statuses_are_retried_as_in_the_standard(void **state)
{
    static const enum ntk_outbox_result results[] = {
        NTK_OUTBOX_SENT,    NTK_OUTBOX_RETRY,   NTK_OUTBOX_REFUSED, NTK_OUTBOX_REFUSED,
        NTK_OUTBOX_RETRY,   NTK_OUTBOX_REFUSED, NTK_OUTBOX_REFUSED, NTK_OUTBOX_REFUSED,
        NTK_OUTBOX_REFUSED, NTK_OUTBOX_REFUSED, NTK_OUTBOX_RETRY,   NTK_OUTBOX_RETRY,
        NTK_OUTBOX_REFUSED, NTK_OUTBOX_REFUSED, NTK_OUTBOX_RETRY,   NTK_OUTBOX_RETRY,
        NTK_OUTBOX_REFUSED, NTK_OUTBOX_REFUSED,
    };

    (void)state;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        char head[32];
        (void)snprintf(head, sizeof head, "grpc-status: %zu\n", i);
        assert_int_equal(judge(200, head).result, results[i]);
    }
}

static void grpc_messages_are_decoded_and_sanitized(void **state)
{
    (void)state;
    assert_string_equal(judge(200, "grpc-status: 3\ngrpc-message: 100%25 of a%zz%1b[2J\n").text,
                        "status INVALID_ARGUMENT: 100% of a%zz\xef\xbf\xbd[2J");
    assert_string_equal(judge(200, "grpc-status: 14\n").text, "status UNAVAILABLE");
    assert_string_equal(judge(200, "grpc-status: 99\n").text, "status 99");
}

/* {details: [{type_url: "x/google.rpc.RetryInfo", value: {retry_delay: {seconds: 2}}}]} */
static void an_exhausted_peer_is_retried_after_its_requested_pause(void **state)
{
    static const char info[] =
        "grpc-status: %d\n"
        "grpc-status-details-bin: Gh4KFngvZ29vZ2xlLnJwYy5SZXRyeUluZm8SBAoCCAI\n";
    char head[160];

    (void)state;
    snprintf(head, sizeof head, info, 8);
    assert_int_equal(judge(200, head).result, NTK_OUTBOX_RETRY);
    assert_int_equal(judge(200, head).retry_after_ns, 2 * NTK_NS_PER_SECOND);
    snprintf(head, sizeof head, info, 3);
    assert_int_equal(judge(200, head).result, NTK_OUTBOX_REFUSED);
    assert_int_equal(judge(200, "grpc-status: 8\ngrpc-status-details-bin: ?\n").result,
                     NTK_OUTBOX_REFUSED);
}

static void without_a_grpc_status_the_http_status_is_used(void **state)
{
    (void)state;
    assert_int_equal(judge(503, "").result, NTK_OUTBOX_RETRY);
    assert_int_equal(judge(404, "").result, NTK_OUTBOX_REFUSED);
    assert_int_equal(judge(200, "").result, NTK_OUTBOX_RETRY);
    assert_int_equal(judge(200, "grpc-status: x\n").result, NTK_OUTBOX_RETRY);
}

/* A server may compress its answer to a compressed request. */
static void a_grpc_message_is_read_from_its_frame(void **state)
{
    struct ntk_buf body = { 0 };
    struct ntk_buf packed = { 0 };
    struct ntk_buf message = { 0 };
    static char large[(64 << 10) + 1];

    (void)state;
    assert_int_equal(ntk_grpc_message(&body, &message), -EBADMSG);
    assert_int_equal(ntk_grpc_frame("plain", 5, false, &body), 0);
    ntk_buf_add(&body, "rest", 4);
    assert_int_equal(ntk_grpc_message(&body, &message), 0);
    assert_string_equal(ntk_buf_text_get(&message), "plain");

    ntk_buf_reset(&body);
    ntk_buf_reset(&message);
    assert_int_equal(ntk_http_gzip("packed", 6, &packed), 0);
    assert_int_equal(ntk_grpc_frame(packed.bytes, packed.bytes_count, true, &body), 0);
    assert_int_equal(ntk_grpc_message(&body, &message), 0);
    assert_string_equal(ntk_buf_text_get(&message), "packed");

    body.bytes_count--; /* truncated */
    assert_int_equal(ntk_grpc_message(&body, &message), -EBADMSG);
    ntk_buf_reset(&body);
    assert_int_equal(ntk_grpc_frame("no gzip", 7, true, &body), 0);
    assert_int_equal(ntk_grpc_message(&body, &message), -EBADMSG);
    ntk_buf_reset(&body);
    ntk_buf_reset(&packed);
    assert_int_equal(ntk_http_gzip(large, sizeof large, &packed), 0);
    assert_int_equal(ntk_grpc_frame(packed.bytes, packed.bytes_count, true, &body), 0);
    assert_int_equal(ntk_grpc_message(&body, &message), -EMSGSIZE);
    assert_string_equal(ntk_buf_text_get(&message), "packed"); /* unchanged */
    ntk_buf_fini(&body);
    ntk_buf_fini(&packed);
    ntk_buf_fini(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grpc_frame_has_a_flag_and_a_length),
        cmocka_unit_test(grpc_statuses_are_retried_as_in_the_standard),
        cmocka_unit_test(grpc_messages_are_decoded_and_sanitized),
        cmocka_unit_test(an_exhausted_peer_is_retried_after_its_requested_pause),
        cmocka_unit_test(without_a_grpc_status_the_http_status_is_used),
        cmocka_unit_test(a_grpc_message_is_read_from_its_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
