/* SPDX-License-Identifier: MIT */
/* Method: lists of devices on machines of the catalogue; no machine is opened. */
#include "runtime-hooks/rtd/rtd_devices.h"

#include <errno.h>
#include <string.h>

#include "tests/support/unit.h"

static struct ntk_core_machine machine_of(const char *instance)
{
    const struct ntk_core_machine_options wanted = { .instance = { .value = instance } };
    struct ntk_core_machine machine;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_core_machine_find(&wanted, &machine, &err), 0);
    return machine;
}

static void device_addresses_are_accepted_in_any_order(void **state)
{
    struct ntk_core_machine machine = machine_of("inf1.6xlarge");
    struct rtd_devices devices = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_devices_add_bdf(&devices, "0000:10:1E.0", &err), 0);
    assert_int_equal(rtd_devices_add_bdf(&devices, "10:1d.0", &err), 0);
    assert_int_equal(rtd_devices_settle(&devices, &machine, &err), 0);
    assert_int_equal(devices.count, 2);
    assert_int_equal(devices.indexes[0], 1);
    assert_int_equal(devices.indexes[1], 2);
}

static void all_devices_are_used_if_none_is_configured(void **state)
{
    struct ntk_core_machine machine = machine_of("inf1.24xlarge");
    struct rtd_devices devices = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_devices_settle(&devices, &machine, &err), 0);
    assert_int_equal(devices.count, 16);
    assert_int_equal(devices.indexes[15], 15);
}

static void a_gap_in_the_device_list_is_reported(void **state)
{
    static const struct {
        const char *instance;
        uint32_t indexes[3];
        size_t count;
        const char *sentence;
    } cases[] = {
        { "inf1.6xlarge",
          { 2, 0 },
          2,
          "the devices of one daemon must be adjacent: between 0 (0000:10:1c.0) and 2 "
          "(0000:10:1e.0), device 1 is missing" },
        { "inf1.6xlarge",
          { 0, 3 },
          2,
          "the devices of one daemon must be adjacent: between 0 (0000:10:1c.0) and 3 "
          "(0000:10:1f.0), devices 1 to 2 are missing" },
        { "inf1.6xlarge", { 1, 1 }, 2, "duplicate device 1 (0000:10:1d.0)" },
        { "trn1.32xlarge",
          { 3, 4 },
          2,
          "devices 3 (0000:10:1f.0) and 4 (0000:20:1c.0) are not adjacent on trn1.32xlarge" },
        { "inf1.24xlarge", { 3, 4, 5 }, 3, NULL },
        { "trn3.48xlarge", { 3, 4 }, 2, NULL },
        { "inf1.xlarge", { 0 }, 1, NULL },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_core_machine machine = machine_of(cases[i].instance);
        struct rtd_devices devices;
        struct ntk_err err = { 0 };

        rtd_devices_set(&devices, cases[i].indexes, cases[i].count);
        assert_int_equal(rtd_devices_settle(&devices, &machine, &err),
                         cases[i].sentence ? -EINVAL : 0);
        assert_string_equal(err.text, cases[i].sentence ? cases[i].sentence : "");
    }
}

static void devices_that_the_machine_lacks_are_reported(void **state)
{
    struct ntk_core_machine machine = machine_of("inf1.6xlarge");
    const uint32_t fifth = 4;
    struct rtd_devices devices = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_devices_add_bdf(&devices, "20:1c.0", &err), 0);
    assert_int_equal(rtd_devices_settle(&devices, &machine, &err), -ENODEV);
    assert_string_equal(err.text, "the machine (inf1.6xlarge) has no device 0000:20:1c.0");
    rtd_devices_set(&devices, &fifth, 1);
    assert_int_equal(rtd_devices_settle(&devices, &machine, &err), -ENODEV);
    assert_string_equal(err.text, "the machine (inf1.6xlarge) has no device 4");
}

static void invalid_device_addresses_are_rejected(void **state)
{
    static const char *const texts[] = { "",         "0",        "10:1c",         "10:1c.",
                                         "10:1c.0 ", " 10:1c.0", "0000:10:1c.0x", "-1:1c.0",
                                         "g0:1c.0",  "10:1c.00", "00000:10:1c.0" };
    struct rtd_devices devices = { 0 };
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(rtd_devices_add_bdf(&devices, texts[i], &err), -EINVAL);
    }
    assert_int_equal(devices.count, 0);
    for (int i = 0; i < RTD_DEVICES_MAX; i++) {
        assert_int_equal(rtd_devices_add_bdf(&devices, "10:1c.0", &err), 0);
    }
    assert_int_equal(rtd_devices_add_bdf(&devices, "10:1c.0", &err), -EINVAL);
    assert_string_equal(err.text, "too many devices (at most 64)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_addresses_are_accepted_in_any_order),
        cmocka_unit_test(all_devices_are_used_if_none_is_configured),
        cmocka_unit_test(a_gap_in_the_device_list_is_reported),
        cmocka_unit_test(devices_that_the_machine_lacks_are_reported),
        cmocka_unit_test(invalid_device_addresses_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
