/* SPDX-License-Identifier: MIT */
/*
 * The grammar of faults, including hostile texts, and which executions they affect.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_fault.h"
#include "tests/support/unit.h"

static struct ntk_core_faults *parse(const char *text)
{
    struct ntk_core_faults *faults = NULL;
    struct ntk_err err = { 0 };

    if (ntk_core_faults_parse(text, &faults, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    return faults;
}

static size_t struck(struct ntk_core_faults *faults, uint32_t core)
{
    struct ntk_core_fault hits[NTK_CORE_FAULTS_MAX];

    return ntk_core_faults_strike(faults, core, hits);
}

/* '1' for each affected execution of one core. */
static void pattern(const char *text, char *out, size_t executions)
{
    struct ntk_core_faults *faults = parse(text);

    for (size_t i = 0; i < executions; i++) {
        out[i] = struck(faults, 0) > 0 ? '1' : '0';
    }
    out[executions] = '\0';
    ntk_core_faults_destroy(faults);
}

static void faults_with_key_at_occur_once_and_with_key_every_repeatedly(void **state)
{
    char text[16];

    pattern("hbm-ue:at=3", text, 8);
    assert_string_equal(text, "00100000");
    pattern("hbm-ue:every=0x3", text, 8);
    assert_string_equal(text, "00100100");
    pattern("hang:probability=1", text, 4);
    assert_string_equal(text, "1111");
}

static void random_faults_repeat_with_a_seed_at_the_requested_rate(void **state)
{
    static char a[10001], b[10001], other[10001];
    size_t count = 0;

    pattern("dma-abort:probability=0.1,seed=7", a, 10000);
    pattern("dma-abort:seed=7,probability=0.1", b, 10000);
    pattern("dma-abort:probability=0.1,seed=8", other, 10000);
    assert_string_equal(a, b);
    assert_string_not_equal(a, other);
    for (size_t i = 0; i < 10000; i++) {
        count += a[i] == '1';
    }
    assert_in_range(count, 850, 1150); /* five standard deviations */
}

static void fault_positions_count_executions_on_all_each_or_one_core(void **state)
{
    struct ntk_core_faults *faults = parse("nq-overflow:at=2");

    assert_int_equal(struck(faults, 0), 0);
    assert_int_equal(struck(faults, 1), 1);
    ntk_core_faults_destroy(faults);

    faults = parse("nq-overflow:at=2,core=each");
    assert_int_equal(struck(faults, 0), 0);
    assert_int_equal(struck(faults, 1), 0);
    assert_int_equal(struck(faults, 0), 1);
    assert_int_equal(struck(faults, 1), 1);
    ntk_core_faults_destroy(faults);

    faults = parse("nq-overflow:at=2,core=1");
    assert_int_equal(struck(faults, 0), 0);
    assert_int_equal(struck(faults, 0), 0);
    assert_int_equal(struck(faults, 1), 0);
    assert_int_equal(struck(faults, 1), 1);
    ntk_core_faults_destroy(faults);
}

static void faults_in_one_setting_occur_in_the_listed_order(void **state)
{
    struct ntk_core_fault hits[NTK_CORE_FAULTS_MAX];
    struct ntk_core_faults *faults = parse("sram-ue:every=2;mem-ecc-corrected:every=1,amount=9");

    assert_int_equal(ntk_core_faults_strike(faults, 0, hits), 1);
    assert_int_equal(hits[0].kind, NTK_CORE_FAULT_MEM_CORRECTED);
    assert_int_equal(ntk_core_faults_strike(faults, 0, hits), 2);
    assert_int_equal(hits[0].kind, NTK_CORE_FAULT_SRAM);
    assert_int_equal(hits[0].amount, 1);
    assert_int_equal(hits[1].amount, 9);
    ntk_core_faults_destroy(faults);
}

static void slowdown_factors_apply_and_slow_links_are_counted_separately(void **state)
{
    struct ntk_core_fault hits[NTK_CORE_FAULTS_MAX];
    struct ntk_core_faults *faults =
        parse("slow-link:from=2,factor=3;slow-core:from=2,factor=1.5,core=4;pause:at=3,time=5ms;"
              "slow-link:every=3,factor=2");

    assert_int_equal(ntk_core_faults_strike(faults, 4, hits), 0);
    assert_int_equal(ntk_core_faults_strike(faults, 4, hits), 1);
    assert_int_equal(hits[0].kind, NTK_CORE_FAULT_SLOW_CORE);
    assert_true(hits[0].factor == 1.5);
    assert_int_equal(ntk_core_faults_strike(faults, 5, hits), 1); /* the third one over all cores */
    assert_int_equal(hits[0].kind, NTK_CORE_FAULT_PAUSE);
    assert_int_equal(hits[0].time_ns, 5000000);
    assert_true(ntk_core_fault_is_slowness(hits[0].kind));
    assert_false(ntk_core_fault_is_slowness(NTK_CORE_FAULT_HANG));
    assert_true(ntk_core_faults_link_factor(faults, 0) == 1);
    assert_true(ntk_core_faults_link_factor(faults, 0) == 3);
    assert_true(ntk_core_faults_link_factor(faults, 0) == 6); /* both factors */
    ntk_core_faults_destroy(faults);
}

static void factors_of_several_faults_have_a_common_limit(void **state)
{
    struct ntk_core_faults *faults =
        parse("slow-link:from=1,factor=900;slow-link:from=2,factor=900;slow-link:from=3,factor=1");

    (void)state;
    assert_true(ntk_core_faults_link_factor(faults, 0) == 900);
    assert_true(ntk_core_faults_link_factor(faults, 0) == NTK_CORE_FAULT_FACTOR_MAX);
    assert_true(ntk_core_faults_link_factor(faults, 0) == NTK_CORE_FAULT_FACTOR_MAX);
    ntk_core_faults_destroy(faults);
    assert_true(ntk_core_fault_factor_join(2, 3) == 6);
}

static void jitter_depends_on_the_seed_and_is_below_its_limit(void **state)
{
    struct ntk_core_faults *one = parse("jitter:from=1,time=10us,seed=5");
    struct ntk_core_faults *same = parse("jitter:from=1,time=10us,seed=5");
    struct ntk_core_faults *other = parse("jitter:from=1,time=10us,seed=6");
    uint64_t sum = 0;
    size_t equal = 0;

    for (size_t i = 0; i < 1000; i++) {
        struct ntk_core_fault a[NTK_CORE_FAULTS_MAX];
        struct ntk_core_fault b[NTK_CORE_FAULTS_MAX];
        struct ntk_core_fault c[NTK_CORE_FAULTS_MAX];

        assert_int_equal(ntk_core_faults_strike(one, 0, a), 1);
        assert_int_equal(ntk_core_faults_strike(same, 0, b), 1);
        assert_int_equal(ntk_core_faults_strike(other, 0, c), 1);
        assert_int_equal(a[0].time_ns, b[0].time_ns);
        assert_true(a[0].time_ns < 10000);
        equal += a[0].time_ns == c[0].time_ns;
        sum += a[0].time_ns;
    }
    assert_in_range(sum / 1000, 4500, 5500); /* five standard deviations */
    assert_true(equal < 10);
    ntk_core_faults_destroy(one);
    ntk_core_faults_destroy(same);
    ntk_core_faults_destroy(other);
}

static void an_invalid_fault_setting_is_rejected_with_its_position(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } wrong[] = {
        { "", "is not a fault: expected mem-ecc-corrected, sram-ecc-corrected, hbm-ue" },
        { "meteor:at=1", "'meteor' is not a fault" },
        { "hbm-ue", "'hbm-ue' has no trigger" },
        { "hbm-ue:", "is invalid: expected a setting" },
        { "hbm-ue:core=1", "has no trigger: use at=N" },
        { "hbm-ue:at=0", "'at=0' is invalid: expected a number of executions" },
        { "hbm-ue:at=-1", "is invalid: expected a number of executions" },
        { "hbm-ue:at=99999999999999999999", "is invalid: expected a number of executions" },
        { "hbm-ue:at=1,", "is invalid: expected a setting" },
        { "hbm-ue:at=1;", "is not a fault" },
        { "hbm-ue:at=1,at=2", "conflicts with an earlier setting" },
        { "hbm-ue:at=1,every=2", "conflicts with an earlier setting" },
        { "hbm-ue:probability=0", "is invalid: expected a probability" },
        { "hbm-ue:probability=1.5", "is invalid: expected a probability" },
        { "hbm-ue:probability=nan", "is invalid: expected a probability" },
        { "hbm-ue:at=1,seed=4", "has a seed but no probability" },
        { "hbm-ue:probability=0.5,seed=4,seed=5", "is invalid or a duplicate: expected a seed" },
        { "hbm-ue:at=1,core=128", "is invalid: expected all, each or" },
        { "hbm-ue:at=1,core=x", "is invalid: expected all, each or" },
        { "hbm-ue:at=1,core=1,core=2", "the core is already set" },
        { "hbm-ue:at=1,amount=0", "expected an amount" },
        { "hang:at=1,amount=2", "has an amount, but this kind of fault has no counter" },
        { "hbm-ue:at=1,when=2", "'when=2' is unknown" },
        { " hbm-ue:at=1", "is not a fault" },
        { "hbm-ue:from=0", "is invalid: expected a number of executions" },
        { "hbm-ue:from=1,at=2", "conflicts with an earlier setting" },
        { "slow-core:from=1", "has no factor: use factor=F" },
        { "slow-core:factor=2", "has no trigger: use at=N" },
        { "slow-hbm:from=1,factor=0.5", "expected a factor from 1 to 1000" },
        { "slow-hbm:from=1,factor=nan", "expected a factor from 1 to 1000" },
        { "slow-link:from=1,factor=1001", "expected a factor from 1 to 1000" },
        { "slow-link:from=1,factor=2,factor=2", "is invalid or a duplicate" },
        { "slow-core:from=1,time=5ms", "has no factor: use factor=F" },
        { "slow-core:from=1,factor=2,time=5ms", "has a time, but this kind" },
        { "hbm-ue:at=1,factor=2", "has a factor, but this kind" },
        { "pause:at=1", "has no duration: use time=T" },
        { "pause:at=1,time=0", "expected a time such as 5ms" },
        { "pause:at=1,time=61s", "expected a time such as 5ms" },
        { "jitter:from=1,time=1ms,amount=2",
          "has an amount, but this kind of fault has no counter" },
        { "pause:at=1,time=1ms,seed=2", "has a seed but no probability" },
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ntk_core_faults *faults = NULL;
        struct ntk_err err = { 0 };

        assert_int_equal(ntk_core_faults_parse(wrong[i].text, &faults, &err), -EINVAL);
        assert_null(faults);
        if (!strstr(err.text, wrong[i].says)) {
            fail_msg("%s: %s", wrong[i].text, err.text);
        }
        assert_null(strchr(err.text, '\n'));
    }
}

static void too_many_faults_and_too_long_strings_are_rejected(void **state)
{
    struct ntk_core_faults *faults = NULL;
    struct ntk_err err = { 0 };
    static const char fault[] = "hang:at=1;";
    char *text = calloc(1, 1 << 16);

    for (size_t i = 0; i < 17; i++) {
        memcpy(text + i * strlen(fault), fault, strlen(fault));
    }
    text[strlen(fault) * 17 - 1] = '\0';
    assert_int_equal(ntk_core_faults_parse(text, &faults, &err), -EINVAL);
    text[strlen(fault) * 16 - 1] = '\0';
    assert_int_equal(ntk_core_faults_parse(text, &faults, &err), 0);
    ntk_core_faults_destroy(faults);
    memset(text, 'h', 300);
    text[300] = '\0';
    assert_int_equal(ntk_core_faults_parse(text, &faults, &err), -EINVAL);
    memset(text, 'h', (1 << 16) - 1);
    assert_int_equal(ntk_core_faults_parse(text, &faults, &err), -EINVAL);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_with_key_at_occur_once_and_with_key_every_repeatedly),
        cmocka_unit_test(random_faults_repeat_with_a_seed_at_the_requested_rate),
        cmocka_unit_test(fault_positions_count_executions_on_all_each_or_one_core),
        cmocka_unit_test(faults_in_one_setting_occur_in_the_listed_order),
        cmocka_unit_test(slowdown_factors_apply_and_slow_links_are_counted_separately),
        cmocka_unit_test(factors_of_several_faults_have_a_common_limit),
        cmocka_unit_test(jitter_depends_on_the_seed_and_is_below_its_limit),
        cmocka_unit_test(an_invalid_fault_setting_is_rejected_with_its_position),
        cmocka_unit_test(too_many_faults_and_too_long_strings_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
