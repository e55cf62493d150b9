/* SPDX-License-Identifier: MIT */
#include "profiler/trace/chip.h"
#include "tests/support/unit.h"

static void an_instance_type_determines_the_core_constants(void **state)
{
    struct ntk_chip chip;

    assert_true(ntk_chip_find("trn2.48xlarge", &chip));
    assert_int_equal(chip.generation, 3);
    assert_int_equal(chip.base_mhz, 1200);
    assert_true(chip.core_flops_per_second == 2.0 * 128 * 128 * 2.4e9);
    assert_true(chip.hbm_bytes_per_second == 716e9);
    assert_true(chip.dma_bytes_per_second == 23e9);
    assert_int_equal(chip.sbuf_partition_bytes, 224 * 1024);
    assert_int_equal(chip.psum_partition_bytes, 16 * 1024);
    assert_true(ntk_chip_find("trn1.2xlarge", &chip));
    assert_int_equal(chip.generation, 2);
    assert_true(ntk_chip_find("trn1.anything", &chip));
    assert_int_equal(chip.generation, 2);
}

static void a_measured_dma_rate_replaces_the_published_rate(void **state)
{
    static const struct {
        const char *instance_type;
        double bytes_per_second; /* of one DMA engine */
    } rows[] = { { "trn1.2xlarge", 435e9 / 16 },
                 { "trn2.3xlarge", 435e9 / 16 },
                 { "trn3.3xlarge", 33e9 } /* unknown: the published rate */ };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_chip chip;
        assert_true(ntk_chip_find(rows[i].instance_type, &chip));
        ntk_chip_set_device(&chip);
        assert_true(chip.dma_bytes_per_second == rows[i].bytes_per_second);
    }
}

static void unknown_instance_types_have_no_core_constants(void **state)
{
    struct ntk_chip chip;

    assert_false(ntk_chip_find("", &chip));
    assert_false(ntk_chip_find("t", &chip));
    assert_false(ntk_chip_find("trn", &chip));
    assert_false(ntk_chip_find("m5.large", &chip));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_type_determines_the_core_constants),
        cmocka_unit_test(a_measured_dma_rate_replaces_the_published_rate),
        cmocka_unit_test(unknown_instance_types_have_no_core_constants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
