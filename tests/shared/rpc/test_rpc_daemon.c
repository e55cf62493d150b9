/* SPDX-License-Identifier: MIT */
/* Method: made-up statuses as messages; test_rpc_client.c tests the calls. */
#include "shared/rpc/rpc_daemon.h"

#include <errno.h>
#include <string.h>

#include "tests/support/unit.h"

static void a_status_code_is_reported_by_name_with_details(void **state)
{
    static const struct {
        int code;
        const char *details, *sentence;
    } cases[] = {
        { 0, "ignored", NULL },
        { 9, "", "cannot: NERR_RESOURCE_NC (9)" },
        { 3, "Failed to find EG: 7", "cannot: NERR_INVALID_HANDLE (3): Failed to find EG: 7" },
        { 1004, "[A:b] first\n[C:d] second\n",
          "cannot: NERR_INFER_COMPLETED_WITH_ERR (1004): [A:b] first; [C:d] second" },
        { 4711, "", "cannot: unknown code (4711)" },
    };

    assert_int_equal(ntk_rpc_daemon_check(NULL, "cannot", NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Nrt__Status status = NRT__STATUS__INIT;
        struct ntk_err err = { 0 };

        status.code = cases[i].code;
        status.details.data = (uint8_t *)cases[i].details;
        status.details.len = strlen(cases[i].details);
        assert_int_equal(ntk_rpc_daemon_check(&status, "cannot", &err),
                         cases[i].sentence ? -EIO : 0);
        assert_string_equal(err.text, cases[i].sentence ? cases[i].sentence : "");
    }
}

/* Bytes, not text: no NUL terminates them, and there may be more than a message holds. */
static void error_details_are_truncated(void **state)
{
    static uint8_t details[5000];
    Nrt__Status status = NRT__STATUS__INIT;
    struct ntk_err err = { 0 };

    memset(details, '\n', sizeof details);
    status.code = 1;
    status.details = (ProtobufCBinaryData){ .len = sizeof details, .data = details };
    assert_int_equal(ntk_rpc_daemon_check(&status, "cannot", &err), -EIO);
    assert_true(strlen(err.text) < NTK_ERR_TEXT_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_code_is_reported_by_name_with_details),
        cmocka_unit_test(error_details_are_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
