/* SPDX-License-Identifier: MIT */
/* Method: a hand-made trace of six nested spans. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/span_filter.h"
#include "tests/support/unit.h"

#define SPANS 6

/* nrt_execute contains model_submit, which contains kbl_exec_wait; a device span; on core 3 a load
 * with one span inside. */
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

static void without_filters_all_spans_are_kept(void **state)
{
    struct filtered f;

    filter(&f, NULL, NULL, NULL);
    assert_int_equal(f.trace.span_count, SPANS);
    assert_int_equal(f.spans[5].parent, 4);
}

static void cores_are_selected_by_numbers_and_ranges(void **state)
{
    struct filtered f;

    filter(&f, "2-4,9", NULL, NULL);
    expect(&f, (const char *const[]){ "nrt_load", "model_load", NULL });
    assert_int_equal(f.spans[0].parent, NTK_SYSTEM_NO_PARENT);
    assert_int_equal(f.spans[1].parent, 0);
}

static void children_of_a_removed_span_are_attached_to_its_parent(void **state)
{
    struct filtered f;

    filter(&f, NULL, "nrt_execute,kbl_exec_wait", NULL);
    expect(&f, (const char *const[]){ "nrt_execute", "kbl_exec_wait", NULL });
    assert_int_equal(f.spans[1].parent, 0);
    filter(&f, NULL, "kbl_exec_wait", NULL);
    expect(&f, (const char *const[]){ "kbl_exec_wait", NULL });
    assert_int_equal(f.spans[0].parent, NTK_SYSTEM_NO_PARENT);
}

static void span_types_may_be_groups_and_may_be_excluded(void **state)
{
    struct filtered f;

    filter(&f, NULL, "hardware", NULL);
    expect(&f, (const char *const[]){ "nc_exec_running", NULL });
    filter(&f, NULL, "^software", NULL);
    expect(&f, (const char *const[]){ "nc_exec_running", NULL });
    filter(&f, NULL, "software, ^nrt_execute,^nrt_model_submit", "i-two,i-one");
    expect(&f, (const char *const[]){ "kbl_exec_wait", "nrt_load", "model_load", NULL });
    filter(&f, "0", "^nrt_execut", NULL); /* only whole words match */
    expect(&f, (const char *const[]){ "nrt_execute", "nrt_model_submit", "kbl_exec_wait",
                                      "nc_exec_running", NULL });
}

static void events_of_a_different_machine_are_not_returned(void **state)
{
    struct filtered f;

    filter(&f, NULL, NULL, "i-on,i-one1");
    assert_int_equal(f.trace.span_count, 0);
}

static void an_invalid_list_of_cores_is_rejected(void **state)
{
    static const char *const bad[] = { "a", "1-", "1,,2", "70000", "5-1" };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ntk_span_filter wanted;
        struct ntk_err err = { 0 };
        assert_int_equal(ntk_span_filter_set(&wanted, bad[i], NULL, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.text, "invalid core list"));
    }
}

/* ---- the window ---- */

static const struct ntk_system_span timed[SPANS] = {
    { .type = "nrt_execute", .start_ns = 100, .end_ns = 900, .parent = NTK_SYSTEM_NO_PARENT },
    { .type = "nrt_model_submit", .start_ns = 150, .end_ns = 200, .parent = 0 },
    { .type = "kbl_exec_wait", .start_ns = 200, .end_ns = 800, .parent = 0 },
    { .type = "nc_exec_running",
      .start_ns = 300,
      .end_ns = 700,
      .device_start_ns = 5300,
      .device_end_ns = 5700,
      .parent = NTK_SYSTEM_NO_PARENT },
    { .type = "mark", .start_ns = 400, .end_ns = 400, .is_instant = true, .parent = 2 },
    { .type = "mark", .start_ns = 500, .end_ns = 500, .is_instant = true, .parent = 2 },
};

static uint64_t moments[] = { 100, 399, 400, 499, 500, 900 };
static uint64_t used[6];
static NtkNtracePb__HostSamples samples;

static void cut(struct filtered *f, uint64_t from_ns, uint64_t to_ns)
{
    struct ntk_span_filter wanted;
    static const uint64_t times[] = { 100, 399, 400, 499, 500, 900 };

    memcpy(f->spans, timed, sizeof timed);
    memcpy(moments, times, sizeof times);
    for (size_t i = 0; i < 6; i++) {
        used[i] = i;
    }
    samples = (NtkNtracePb__HostSamples)NTK_NTRACE_PB__HOST_SAMPLES__INIT;
    samples.n_timestamp_ns = samples.n_used_bytes = 6;
    samples.timestamp_ns = moments;
    samples.used_bytes = used;
    f->trace = (struct ntk_system_trace){ .span_count = SPANS,
                                          .spans = f->spans,
                                          .info = &info,
                                          .memory = &samples,
                                          .begin_ns = 50,
                                          .end_ns = 1000 };
    ntk_vec_init(&f->trace.notes, sizeof(struct ntk_system_note));
    assert_int_equal(ntk_span_filter_set(&wanted, NULL, NULL, NULL, NULL), 0);
    wanted.from_ns = from_ns;
    wanted.to_ns = to_ns;
    assert_int_equal(ntk_span_filter_apply(&wanted, &f->trace), 0);
}

static void drop(struct filtered *f)
{
    ntk_vec_each(struct ntk_system_note, note, &f->trace.notes) {
        free(note->text);
    }
    ntk_vec_fini(&f->trace.notes);
}

static void a_window_clips_spans_that_cross_it(void **state)
{
    struct filtered f;

    cut(&f, 400, 500);
    expect(&f, (const char *const[]){ "nrt_execute", "kbl_exec_wait", "nc_exec_running", "mark",
                                      NULL });
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(f.spans[i].start_ns, 400);
        assert_int_equal(f.spans[i].end_ns, 500);
        assert_true(f.spans[i].is_partial);
    }
    assert_int_equal(f.spans[1].parent, 0);
    assert_int_equal(f.spans[2].device_start_ns, 5400);
    assert_int_equal(f.spans[2].device_end_ns, 5500);
    assert_false(f.spans[3].is_partial);
    assert_int_equal(f.spans[3].parent, 1);
    assert_true(f.trace.is_part);
    assert_int_equal(f.trace.begin_ns, 400);
    assert_int_equal(f.trace.end_ns, 500);
    assert_int_equal(samples.n_timestamp_ns, 2);
    assert_int_equal(samples.timestamp_ns[0], 400);
    assert_int_equal(samples.n_used_bytes, 2);
    assert_int_equal(samples.used_bytes[1], 3);
    assert_int_equal(samples.n_process_bytes, 0);
    assert_int_equal(f.trace.notes.count, 1);
    assert_string_equal(((struct ntk_system_note *)ntk_vec_at(&f.trace.notes, 0))->category,
                        "Part");
    drop(&f);
}

static void a_window_before_all_samples_is_empty(void **state)
{
    struct filtered f;

    cut(&f, 60, 90);
    assert_int_equal(samples.n_timestamp_ns, 0);
    assert_int_equal(samples.n_used_bytes, 0);
    assert_int_equal(samples.n_process_bytes, 0); /* also of a NULL list */
    drop(&f);
}

static void each_span_is_in_exactly_one_of_adjacent_windows(void **state)
{
    struct filtered f;

    for (uint64_t at = 101; at < 900; at++) {
        uint64_t sum_ns = 0;
        size_t instants = 0;
        size_t rows = 0;
        size_t crossing = 0;
        for (size_t i = 0; i < SPANS; i++) {
            crossing += timed[i].start_ns < at && timed[i].end_ns > at;
        }
        for (int part = 0; part < 2; part++) {
            cut(&f, part ? at : 0, part ? UINT64_MAX : at);
            rows += f.trace.span_count;
            for (size_t i = 0; i < f.trace.span_count; i++) {
                sum_ns += f.spans[i].end_ns - f.spans[i].start_ns;
                instants += f.spans[i].is_instant;
            }
            drop(&f);
        }
        assert_int_equal(rows - crossing, SPANS);
        assert_int_equal(sum_ns, 800 + 50 + 600 + 400);
        assert_int_equal(instants, 2);
    }
}

/* The host notices the end of a run much later than the core clock shows. */
static void ends_of_runs_are_clipped_by_the_core_clock(void **state)
{
    struct ntk_system_span run = timed[3];
    struct ntk_system_trace trace = { .span_count = 1, .spans = &run, .end_ns = 1000 };
    struct ntk_span_filter wanted = { .from_ns = 400, .to_ns = 500 };

    run.device_end_ns = 5450;
    ntk_system_span_join(&run);
    ntk_vec_init(&trace.notes, sizeof(struct ntk_system_note));
    assert_int_equal(ntk_span_filter_apply(&wanted, &trace), 0);
    assert_int_equal(trace.span_count, 1);
    assert_int_equal(run.start_ns, 400);
    assert_int_equal(run.device_start_ns, 5400);
    assert_int_equal(run.device_end_ns, 5450);
    wanted.from_ns = 460; /* after it */
    assert_int_equal(ntk_span_filter_apply(&wanted, &trace), 0);
    assert_int_equal(trace.span_count, 0);
    ntk_vec_each(struct ntk_system_note, note, &trace.notes) {
        free(note->text);
    }
    ntk_vec_fini(&trace.notes);
}

static void an_unlimited_window_keeps_every_span(void **state)
{
    struct filtered f;

    cut(&f, 0, UINT64_MAX);
    assert_int_equal(f.trace.span_count, SPANS);
    assert_false(f.trace.is_part);
    assert_int_equal(f.trace.notes.count, 0);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_filters_all_spans_are_kept),
        cmocka_unit_test(cores_are_selected_by_numbers_and_ranges),
        cmocka_unit_test(children_of_a_removed_span_are_attached_to_its_parent),
        cmocka_unit_test(span_types_may_be_groups_and_may_be_excluded),
        cmocka_unit_test(events_of_a_different_machine_are_not_returned),
        cmocka_unit_test(an_invalid_list_of_cores_is_rejected),
        cmocka_unit_test(a_window_clips_spans_that_cross_it),
        cmocka_unit_test(a_window_before_all_samples_is_empty),
        cmocka_unit_test(each_span_is_in_exactly_one_of_adjacent_windows),
        cmocka_unit_test(ends_of_runs_are_clipped_by_the_core_clock),
        cmocka_unit_test(an_unlimited_window_keeps_every_span),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
