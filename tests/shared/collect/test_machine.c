/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "shared/base/str.h"
#include "shared/collect/machine.h"
#include "tests/support/unit.h"

static void the_machine_type_is_read_from_the_tree_or_a_matching_process(void **state)
{
    struct ntk_device_info device = { .name = "Trainium2" };
    struct ntk_device_tree tree = { .devices = &device, .device_count = 1 };
    struct ntk_machine_answer answer = ntk_machine_of_tree(&tree);

    (void)state;
    assert_string_equal(answer.type, ""); /* only the family */
    assert_string_equal(answer.machine->sysfs_device_name, "Trainium2");
    ntk_machine_hear(&answer, "trn1.32xlarge"); /* of another family */
    ntk_machine_hear(&answer, "none");
    assert_string_equal(answer.type, "");
    ntk_machine_hear(&answer, "trn2.48xlarge");
    assert_string_equal(answer.type, "trn2.48xlarge");
    assert_int_equal(answer.machine->device_count, 16);
    ntk_machine_hear(&answer, "trn2.3xlarge"); /* the first one wins */
    assert_string_equal(answer.type, "trn2.48xlarge");

    ntk_str_copy(tree.machine_type, sizeof tree.machine_type, "trn2.3xlarge");
    answer = ntk_machine_of_tree(&tree);
    ntk_machine_hear(&answer, "trn2.48xlarge");
    assert_string_equal(answer.type, "trn2.3xlarge");
    assert_int_equal(answer.machine->device_count, 1);
}

static void a_process_determines_the_machine_type_without_a_device_tree(void **state)
{
    const struct ntk_device_tree tree = { 0 };
    struct ntk_machine_answer answer = ntk_machine_of_tree(&tree);

    (void)state;
    assert_null(answer.machine);
    ntk_machine_hear(&answer, "inf2.24xlarge");
    assert_int_equal(answer.machine->device_count, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_type_is_read_from_the_tree_or_a_matching_process),
        cmocka_unit_test(a_process_determines_the_machine_type_without_a_device_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
