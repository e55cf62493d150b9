/* SPDX-License-Identifier: MIT */
#include "shared/rpc/rpc_message.h"

#include <string.h>

#include "shared/rpc/proto/nmgr.pb-c.h"
#include "tests/support/unit.h"

static enum ntk_rpc_fault fault_of(const char *bytes, size_t bytes_count)
{
    ProtobufCMessage *message = NULL;
    enum ntk_rpc_fault fault = ntk_rpc_unpack(&nrt__get_version_request__descriptor,
                                              (const uint8_t *)bytes, bytes_count, &message);

    assert_int_equal(message != NULL, fault == NTK_RPC_MESSAGE_GOOD);
    if (message) {
        protobuf_c_message_free_unpacked(message, NULL);
    }
    return fault;
}
#define FAULT_OF(text) fault_of(text, sizeof(text) - 1)

static void invalid_messages_are_distinguished_from_strings_with_a_nul(void **state)
{
    (void)state;
    assert_int_equal(FAULT_OF(""), NTK_RPC_MESSAGE_GOOD);
    assert_int_equal(FAULT_OF("\x0a\x03"
                              "abc"
                              "\x12\x03\x0a\x01"
                              "v"),
                     NTK_RPC_MESSAGE_GOOD);
    assert_int_equal(FAULT_OF("\x0a\x03"
                              "a\0c"),
                     NTK_RPC_MESSAGE_NUL);
    assert_int_equal(FAULT_OF("\x12\x03\x0a\x01\0"), NTK_RPC_MESSAGE_NUL); /* of its contents */
    assert_int_equal(FAULT_OF("\x7a\x01\0"), NTK_RPC_MESSAGE_GOOD);        /* of an unknown field */
    assert_int_equal(FAULT_OF("\x0a\x04"
                              "abc"),
                     NTK_RPC_MESSAGE_BROKEN);
    assert_int_equal(FAULT_OF("\xff\xff"), NTK_RPC_MESSAGE_BROKEN);
}

static void a_field_number_of_0_is_invalid(void **state)
{
    (void)state;
    assert_int_equal(FAULT_OF("\0\0"), NTK_RPC_MESSAGE_BROKEN);
    assert_int_equal(FAULT_OF("\x80\0\0"), NTK_RPC_MESSAGE_BROKEN);
    assert_int_equal(FAULT_OF("\x1a\x03\x80\0\0"), NTK_RPC_MESSAGE_BROKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_messages_are_distinguished_from_strings_with_a_nul),
        cmocka_unit_test(a_field_number_of_0_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
