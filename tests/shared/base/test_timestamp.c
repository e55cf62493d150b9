/* SPDX-License-Identifier: MIT */
/* Method: texts and the times that they mean, in a time zone one hour east. */
#include "shared/base/timestamp.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "shared/base/clock.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define T0 (1700000040 * SECOND) /* 2023-11-14T22:14:00Z */

static void common_timestamp_forms_are_parsed_and_invalid_ones_rejected(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        { "2023-11-14T22:14:00Z", T0 },
        { "2023-11-14 22:14:00Z", T0 },
        { "2023-11-14T22:14Z", T0 },
        { "2023-11-14T22:14:00.25Z", T0 + SECOND / 4 },
        { "2023-11-15T00:14:00+02:00", T0 },
        { "2023-11-14T18:44:00-0330", T0 },
        { "1700000040", T0 },
        { "1700000040.5", T0 + SECOND / 2 },
        { "2023-11-14T23:14:00", T0 }, /* with TZ as set below */
        { "2024-02-29T00:00:00Z", UINT64_C(1709164800) * SECOND },
        { "0", 0 },
    };
    static const char *const bad[] = {
        "",
        "now",
        "-5",
        "2023-13-01",
        "2023-02-29", /* not a valid day, and not mistaken for the first of March */
        "2023-11-31T00:00:00Z",
        "2023-11-14T22:14:00X",
        "2023-11-14T22:14:00+25:00",
        "1e300",
        "nan",
        "1960-01-01",
        "9999-01-01",
        "2023-11-14T22:14:00Zzz",
    };
    uint64_t ns;

    setenv("TZ", "XYZ-1", 1);
    tzset();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(ntk_timestamp_parse(good[i].text, &ns, NULL), 0);
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ntk_timestamp_parse(bad[i], &ns, NULL), -EINVAL);
    }
}

static void a_formatted_time_parses_to_the_same_time(void **state)
{
    char text[NTK_TIMESTAMP_BYTES];
    uint64_t ns;

    ntk_timestamp_format(T0, text, sizeof text);
    assert_string_equal(text, "2023-11-14T22:14:00Z");
    ntk_timestamp_format(T0 + 5 * NTK_NS_PER_MS, text, sizeof text);
    assert_string_equal(text, "2023-11-14T22:14:00.005Z");
    assert_int_equal(ntk_timestamp_parse(text, &ns, NULL), 0);
    assert_int_equal(ns, T0 + 5 * NTK_NS_PER_MS);
    ntk_timestamp_format(UINT64_MAX, text, sizeof text);
    assert_string_equal(text, "2554-07-21T23:34:33.709Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_timestamp_forms_are_parsed_and_invalid_ones_rejected),
        cmocka_unit_test(a_formatted_time_parses_to_the_same_time)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
