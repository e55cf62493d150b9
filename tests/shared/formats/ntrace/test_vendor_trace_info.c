/* SPDX-License-Identifier: MIT */
/*
 * The vendor's trace_info.pb. Method: the message that our writer makes, followed by fields that
 * only the vendor's runtime writes.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/formats/common/protobuf_write.h"
#include "shared/formats/ntrace/vendor_trace.h"
#include "tests/support/unit.h"

enum { ULTRASERVER = 18 }; /* field of the message */

static struct ntk_vendor_trace_info *read_with(struct ntk_buf *ultraserver)
{
    struct ntk_vendor_trace_info written = { .version = 3,
                                             .process_id = 41,
                                             .instance_id = "i-1",
                                             .ultraserver_index = NTK_VENDOR_TRACE_NO_INDEX };
    struct ntk_vendor_trace_info *info = NULL;
    struct ntk_buf bytes = { 0 };

    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_init(&written.tables[t], sizeof(struct ntk_vendor_trace_name));
    }
    ntk_vendor_trace_put_info(&bytes, &written);
    if (ultraserver) {
        ntk_protobuf_put_message(&bytes, ULTRASERVER, ultraserver);
    }
    assert_int_equal(ntk_vendor_trace_info_read_bytes((const uint8_t *)bytes.bytes,
                                                      bytes.bytes_count, "trace_info.pb", &info,
                                                      NULL),
                     0);
    ntk_buf_fini(&bytes);
    return info;
}

static void a_single_machine_has_no_ultraserver_information(void **state)
{
    struct ntk_vendor_trace_info *info = read_with(NULL);

    (void)state;
    assert_int_equal(info->process_id, 41);
    assert_true(info->ultraserver_index == NTK_VENDOR_TRACE_NO_INDEX);
    assert_string_equal(info->ultraserver_id, "");
    assert_string_equal(info->ultraserver_type, "");
    ntk_vendor_trace_info_free(info);
}

/* An index of 0 is not written. */
static void identity_type_size_and_index_of_an_ultraserver_are_read(void **state)
{
    static const struct {
        uint64_t type, index;
        const char *name;
    } cases[] = { { 2, 0, "Switch" }, { 2, 3, "Switch" }, { 7, 1, "7" }, { 0, 1, "" } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_buf part = { 0 };

        ntk_protobuf_put_text(&part, 1, "us-77");
        ntk_protobuf_put_number(&part, 2, cases[i].type);
        ntk_protobuf_put_number(&part, 3, 4);
        ntk_protobuf_put_number(&part, 4, cases[i].index);
        struct ntk_vendor_trace_info *info = read_with(&part);

        assert_string_equal(info->ultraserver_id, "us-77");
        assert_string_equal(info->ultraserver_type, cases[i].name);
        assert_int_equal(info->ultraserver_size, 4);
        assert_int_equal(info->ultraserver_index, cases[i].index);
        ntk_vendor_trace_info_free(info);
        ntk_buf_fini(&part);
    }
}

static void an_ultraserver_identity_may_be_a_number(void **state)
{
    struct ntk_buf part = { 0 };

    (void)state;
    ntk_protobuf_put_number(&part, 1, UINT64_MAX);
    struct ntk_vendor_trace_info *info = read_with(&part);

    assert_string_equal(info->ultraserver_id, "18446744073709551615");
    ntk_vendor_trace_info_free(info);
    ntk_buf_fini(&part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_machine_has_no_ultraserver_information),
        cmocka_unit_test(identity_type_size_and_index_of_an_ultraserver_are_read),
        cmocka_unit_test(an_ultraserver_identity_may_be_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
