/* SPDX-License-Identifier: MIT */
/* Numbers with units. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/units.h"
#include "tests/support/unit.h"

static void values_are_formatted_with_the_unit_that_fits(void **state)
{
    char buf[NTK_UNITS_TEXT_BYTES];

    assert_string_equal(ntk_units_bytes(buf, sizeof buf, 0), "0B");
    assert_string_equal(ntk_units_bytes(buf, sizeof buf, 1023), "1023B");
    assert_string_equal(ntk_units_bytes(buf, sizeof buf, 1536), "1.5KB");
    assert_string_equal(ntk_units_bytes(buf, sizeof buf, (UINT64_C(1) << 30) - 1), "1.0GB");
    assert_string_equal(ntk_units_bytes(buf, sizeof buf, 96u << 20), "96.0MB");
    assert_string_equal(ntk_units_duration(buf, sizeof buf, 850), "850ns");
    assert_string_equal(ntk_units_duration(buf, sizeof buf, 12345), "12.3us");
    assert_string_equal(ntk_units_duration(buf, sizeof buf, 999999), "1.00ms");
    assert_string_equal(ntk_units_duration(buf, sizeof buf, UINT64_C(90000000000)), "90.0s");
    assert_string_equal(ntk_units_count(buf, sizeof buf, 950), "950");
    assert_string_equal(ntk_units_count(buf, sizeof buf, 1.234e9), "1.23G");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_formatted_with_the_unit_that_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
