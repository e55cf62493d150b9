/* SPDX-License-Identifier: MIT */
/* Hardware slots as text: layouts, names from files, and arbitrary bytes. */

#include <stdio.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/vendor_names.h"
#include "shared/formats/neff/vendor_slot.h"
#include "tests/shared/formats/neff/vendor_slot_fixture.h"
#include "tests/support/unit.h"

static void show(const char *name, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "q%s", name);
}

/* Names as a NEFF has them: a queue, a set of functions. */
static void take_names(struct ntk_vendor_names *names)
{
    static const char set[] =
        "{\"profile_meta_data\": [{\"func_id\": 7, \"func_name\": \"exp_400p\"},"
        " {\"func_id\": 8, \"func_name\": \"_2p\"}, {\"func_id\": 9, \"func_name\":"
        " \"map\"}, {\"func_id\": 10, \"func_name\": \"leaky_relu_p\"},"
        " {\"func_id\": 256, \"func_name\": \"x\"}, {\"func_id\": -1,"
        " \"func_name\": \"x\"}, {\"func_id\": \"7\"}, 5]}";
    struct ntk_neff_queue_set queue = { .name = "GpSimdDynamic",
                                        .semaphore_count = 1,
                                        .semaphores = { 8 } };
    struct ntk_neff_subgraph subgraph = {
        .name = "sg00", .folder = "sg00", .queue_set_count = 1, .queue_sets = &queue
    };

    assert_int_equal(ntk_vendor_names_init(names, NULL, &subgraph, show), 0);
    assert_int_equal(ntk_vendor_names_add_set(names, "{", 1), 0); /* names nothing */
    assert_int_equal(ntk_vendor_names_add_set(names, set, sizeof set - 1), 0);
}

static void every_instruction_layout_is_printed(void **state)
{
    struct ntk_vendor_names names;

    take_names(&names);
    for (size_t i = 0; row_at(i); i++) {
        const struct row *row = row_at(i);
        uint8_t slot[NTK_VENDOR_SLOT_BYTES];
        struct ntk_buf text = { 0 };

        make_slot(row, slot);
        ntk_vendor_slot_print(slot, &names, &text);
        if (strcmp(ntk_buf_text_get(&text), row->text) != 0) {
            fail_msg("%s:\n%s\nnot\n%s", row->name, ntk_buf_text_get(&text), row->text);
        }
        ntk_buf_fini(&text);
    }
    ntk_vendor_names_fini(&names);
}

static void arbitrary_instruction_bytes_are_printed_within_a_length_limit(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    for (unsigned opcode = 0; opcode < 256; opcode++) {
        struct ntk_buf text = { 0 };
        memset(slot, 0xff, sizeof slot);
        slot[0] = (uint8_t)opcode;
        ntk_vendor_slot_print(slot, NULL, &text);
        ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
        assert_true(ntk_buf_ok(&text));
        assert_true(text.bytes_count > 0 && text.bytes_count < 1024);
        ntk_buf_fini(&text);
    }
}

static void semaphores_are_named_by_queues_and_functions_by_the_neff(void **state)
{
    struct ntk_vendor_names names;

    take_names(&names);
    assert_string_equal(names.semaphores[8], "qGpSimdDynamic");
    assert_string_equal(names.semaphores[3], "GpSimd");
    assert_string_equal(names.semaphores[6], "Vector");
    assert_null(names.semaphores[7]);
    assert_string_equal(names.functions[7], "EXP");
    assert_string_equal(names.functions[8], "_2P"); /* otherwise nothing would be left */
    assert_string_equal(names.functions[9], "MAP");
    assert_string_equal(names.functions[10], "LEAKY_RELU_P");
    assert_null(names.functions[0]);
    ntk_vendor_names_fini(&names);
    ntk_vendor_names_fini(&names); /* a zeroed struct */

    assert_int_equal(ntk_vendor_names_init(&names, NULL, NULL, show), 0);
    assert_string_equal(names.semaphores[5], "Tensor");
    assert_null(names.semaphores[8]);
    ntk_vendor_names_fini(&names);
}

static void copy(const char *name, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "%s", name);
}

/* Method: a wait for a queue's semaphore with a name of any length with control characters. */
static void control_bytes_in_names_of_any_length_are_replaced(void **state)
{
    static const uint8_t wait[NTK_VENDOR_SLOT_BYTES] = {
        [0] = 0xa2, [NTK_VENDOR_SLOT_WAIT] = NTK_VENDOR_WAIT_AT_LEAST, 8, [8] = 1
    };
    static const size_t lengths[] = { 0, 1, 61, 62, 63, 64, 65, 200, 254 };
    struct ntk_neff_queue_set queue = { .semaphore_count = 1, .semaphores = { 8 } };
    struct ntk_neff_subgraph subgraph = {
        .name = "sg00", .folder = "sg00", .queue_set_count = 1, .queue_sets = &queue
    };

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct ntk_vendor_names names;
        struct ntk_buf text = { 0 };
        char name[NTK_VENDOR_NAME_BYTES] = { 0 };
        char wanted[NTK_VENDOR_NAME_BYTES + 32];

        memset(name, 'q', lengths[i]);
        name[lengths[i]] = '\x1b';
        snprintf(wanted, sizeof wanted, "S[8] (%.*s\xef\xbf\xbd)>=1 ", (int)lengths[i], name);
        queue.name = name;
        assert_int_equal(ntk_vendor_names_init(&names, NULL, &subgraph, copy), 0);
        ntk_vendor_slot_print(wait, &names, &text);
        assert_string_equal(ntk_buf_text_get(&text), wanted);
        ntk_buf_fini(&text);
        ntk_vendor_names_fini(&names);
    }
}

static void only_activate_instructions_print_a_function(void **state)
{
    struct ntk_vendor_names names;
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_buf text = { 0 };

    take_names(&names);
    make_slot(row_of("COPY"), slot);
    ntk_vendor_slot_print_function(slot, &names, &text);
    assert_int_equal(text.bytes_count, 0);
    make_slot(row_of("ACTIVATE"), slot);
    ntk_vendor_slot_print_function(slot, &names, &text);
    assert_string_equal(ntk_buf_text_get(&text), "EXP");
    ntk_buf_fini(&text);
    ntk_vendor_names_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_layout_is_printed),
        cmocka_unit_test(arbitrary_instruction_bytes_are_printed_within_a_length_limit),
        cmocka_unit_test(semaphores_are_named_by_queues_and_functions_by_the_neff),
        cmocka_unit_test(control_bytes_in_names_of_any_length_are_replaced),
        cmocka_unit_test(only_activate_instructions_print_a_function),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
