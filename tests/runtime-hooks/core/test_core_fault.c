/* SPDX-License-Identifier: MIT */
/*
 * The grammar of faults, hostile texts included, and which executions are struck.
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

/* '1' for each struck execution of one core. */
static void pattern(const char *text, char *out, size_t executions)
{
    struct ntk_core_faults *faults = parse(text);

    for (size_t i = 0; i < executions; i++) {
        out[i] = struck(faults, 0) > 0 ? '1' : '0';
    }
    out[executions] = '\0';
    ntk_core_faults_destroy(faults);
}

static void at_strikes_once_and_every_strikes_again(void **state)
{
    char text[16];

    pattern("hbm-ue:at=3", text, 8);
    assert_string_equal(text, "00100000");
    pattern("hbm-ue:every=0x3", text, 8);
    assert_string_equal(text, "00100100");
    pattern("hang:probability=1", text, 4);
    assert_string_equal(text, "1111");
}

static void the_same_seed_draws_the_same_and_about_as_often_as_asked(void **state)
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

static void cores_are_counted_together_apart_or_alone(void **state)
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

static void faults_of_one_text_strike_in_its_order(void **state)
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

static void a_wrong_text_is_refused_with_a_sentence_that_names_the_place(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } wrong[] = {
        { "", "is not a fault; there are mem-ecc-corrected, sram-ecc-corrected, hbm-ue" },
        { "meteor:at=1", "\"meteor\" is not a fault" },
        { "hbm-ue", "\"hbm-ue\" does not say when" },
        { "hbm-ue:", "is not a setting" },
        { "hbm-ue:core=1", "does not say when" },
        { "hbm-ue:at=0", "\"at=0\" is not a number of executions" },
        { "hbm-ue:at=-1", "is not a number of executions" },
        { "hbm-ue:at=99999999999999999999", "is not a number of executions" },
        { "hbm-ue:at=1,", "is not a setting" },
        { "hbm-ue:at=1;", "is not a fault" },
        { "hbm-ue:at=1,at=2", "comes too late" },
        { "hbm-ue:at=1,every=2", "comes too late" },
        { "hbm-ue:probability=0", "is not a probability" },
        { "hbm-ue:probability=1.5", "is not a probability" },
        { "hbm-ue:probability=nan", "is not a probability" },
        { "hbm-ue:at=1,seed=4", "has a seed but no probability" },
        { "hbm-ue:probability=0.5,seed=4,seed=5", "is not a seed, or a second one" },
        { "hbm-ue:at=1,core=128", "is neither all, each nor" },
        { "hbm-ue:at=1,core=x", "is neither all, each nor" },
        { "hbm-ue:at=1,core=1,core=2", "second choice" },
        { "hbm-ue:at=1,amount=0", "is not an amount" },
        { "hang:at=1,amount=2", "has an amount but no counter" },
        { "hbm-ue:at=1,when=2", "\"when=2\" is unknown" },
        { " hbm-ue:at=1", "is not a fault" },
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

static void too_many_faults_and_too_long_texts_are_refused(void **state)
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
        cmocka_unit_test(at_strikes_once_and_every_strikes_again),
        cmocka_unit_test(the_same_seed_draws_the_same_and_about_as_often_as_asked),
        cmocka_unit_test(cores_are_counted_together_apart_or_alone),
        cmocka_unit_test(faults_of_one_text_strike_in_its_order),
        cmocka_unit_test(a_wrong_text_is_refused_with_a_sentence_that_names_the_place),
        cmocka_unit_test(too_many_faults_and_too_long_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
