/* SPDX-License-Identifier: MIT */
/* Method: a trace of six nested spans put together by hand. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/span_filter.h"
#include "tests/support/unit.h"

#define SPANS 6

/* nrt_execute around model_submit around kbl_exec_wait; a device span; on core 3 a load with one
 * inside. */
static const struct ntk_system_span spans[SPANS] = {
    { .type = "nrt_execute", .nc = 0, .parent = NTK_SYSTEM_NO_PARENT },
    { .type = "nrt_model_submit", .nc = 0, .parent = 0 },
    { .type = "kbl_exec_wait", .nc = 0, .parent = 1 },
    { .type = "nc_exec_running", .nc = 0, .parent = NTK_SYSTEM_NO_PARENT },
    { .type = "nrt_load", .nc = 3, .parent = NTK_SYSTEM_NO_PARENT },
    { .type = "model_load", .nc = 3, .parent = 4 },
};

static NtkNtracePb__Info info = { .instance_id = "i-one" };

struct filtered {
    struct ntk_system_span spans[SPANS];
    struct ntk_system_trace trace;
};

static void filter(struct filtered *f, const char *cores, const char *types, const char *instances)
{
    struct ntk_span_filter wanted;
    struct ntk_err err = { 0 };

    memcpy(f->spans, spans, sizeof spans);
    f->trace = (struct ntk_system_trace){ .span_count = SPANS, .spans = f->spans, .info = &info };
    assert_int_equal(ntk_span_filter_set(&wanted, cores, types, instances, &err), 0);
    assert_int_equal(ntk_span_filter_apply(&wanted, &f->trace), 0);
}

static void expect(const struct filtered *f, const char *const *types)
{
    size_t count = 0;

    for (; types[count]; count++) {
        assert_true(count < f->trace.span_count);
        assert_string_equal(f->spans[count].type, types[count]);
    }
    assert_int_equal(f->trace.span_count, count);
}

static void without_words_everything_stays(void **state)
{
    struct filtered f;

    filter(&f, NULL, NULL, NULL);
    assert_int_equal(f.trace.span_count, SPANS);
    assert_int_equal(f.spans[5].parent, 4);
}

static void cores_are_numbers_and_ranges(void **state)
{
    struct filtered f;

    filter(&f, "2-4,9", NULL, NULL);
    expect(&f, (const char *const[]){ "nrt_load", "model_load", NULL });
    assert_int_equal(f.spans[0].parent, NTK_SYSTEM_NO_PARENT);
    assert_int_equal(f.spans[1].parent, 0);
}

static void what_was_inside_of_a_span_that_goes_is_inside_of_the_next(void **state)
{
    struct filtered f;

    filter(&f, NULL, "nrt_execute,kbl_exec_wait", NULL);
    expect(&f, (const char *const[]){ "nrt_execute", "kbl_exec_wait", NULL });
    assert_int_equal(f.spans[1].parent, 0);
    filter(&f, NULL, "kbl_exec_wait", NULL);
    expect(&f, (const char *const[]){ "kbl_exec_wait", NULL });
    assert_int_equal(f.spans[0].parent, NTK_SYSTEM_NO_PARENT);
}

static void types_may_be_groups_and_be_excluded(void **state)
{
    struct filtered f;

    filter(&f, NULL, "hardware", NULL);
    expect(&f, (const char *const[]){ "nc_exec_running", NULL });
    filter(&f, NULL, "^software", NULL);
    expect(&f, (const char *const[]){ "nc_exec_running", NULL });
    filter(&f, NULL, "software, ^nrt_execute,^nrt_model_submit", "i-two,i-one");
    expect(&f, (const char *const[]){ "kbl_exec_wait", "nrt_load", "model_load", NULL });
    filter(&f, "0", "^nrt_execut", NULL); /* a word is whole */
    expect(&f, (const char *const[]){ "nrt_execute", "nrt_model_submit", "kbl_exec_wait",
                                      "nc_exec_running", NULL });
}

static void another_machine_has_no_events(void **state)
{
    struct filtered f;

    filter(&f, NULL, NULL, "i-on,i-one1");
    assert_int_equal(f.trace.span_count, 0);
}

static void what_is_no_list_of_cores_is_refused(void **state)
{
    static const char *const bad[] = { "a", "1-", "1,,2", "70000", "5-1" };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ntk_span_filter wanted;
        struct ntk_err err = { 0 };
        assert_int_equal(ntk_span_filter_set(&wanted, bad[i], NULL, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.text, "is not a list of cores"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_words_everything_stays),
        cmocka_unit_test(cores_are_numbers_and_ranges),
        cmocka_unit_test(what_was_inside_of_a_span_that_goes_is_inside_of_the_next),
        cmocka_unit_test(types_may_be_groups_and_be_excluded),
        cmocka_unit_test(another_machine_has_no_events),
        cmocka_unit_test(what_is_no_list_of_cores_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
