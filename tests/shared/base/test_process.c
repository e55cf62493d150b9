/* SPDX-License-Identifier: MIT */
/* Method: lines of /proc/PID/maps, as the kernel writes them, and damaged ones. */
#include "shared/base/process.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "tests/support/unit.h"

static void every_field_of_a_file_mapping_is_parsed(void **state)
{
    char line[] = "7f00a000-7f00c000 rw-s 00003000 fe:01 4711       /tmp/a b (deleted)\n";
    struct ntk_process_mapping mapping;

    (void)state;
    assert_true(ntk_process_mapping_parse(line, &mapping));
    assert_int_equal(mapping.start, 0x7f00a000);
    assert_int_equal(mapping.end, 0x7f00c000);
    assert_int_equal(mapping.offset, 0x3000);
    assert_int_equal(mapping.device, makedev(0xfe, 1));
    assert_int_equal(mapping.inode, 4711);
    assert_string_equal(mapping.flags, "rw-s");
    assert_string_equal(mapping.path, "/tmp/a b (deleted)");
}

static void a_mapping_without_a_file_has_an_empty_path(void **state)
{
    char line[] = "7f00a000-7f00c000 rw-p 00000000 00:00 0 \n";
    struct ntk_process_mapping mapping;

    (void)state;
    assert_true(ntk_process_mapping_parse(line, &mapping));
    assert_int_equal(mapping.inode, 0);
    assert_string_equal(mapping.path, "");
}

static void mapping_lines_with_a_missing_field_are_rejected(void **state)
{
    static const char *const lines[] = { "", "\n", "7f00a000", "7f00a000-7f00c000 rw-p 00000000",
                                         "7f00a000-7f00c000 rw-p 00000000 00:00 \n" };
    struct ntk_process_mapping mapping;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[64];
        strcpy(line, lines[i]);
        assert_false(ntk_process_mapping_parse(line, &mapping));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_file_mapping_is_parsed),
        cmocka_unit_test(a_mapping_without_a_file_has_an_empty_path),
        cmocka_unit_test(mapping_lines_with_a_missing_field_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
