/* SPDX-License-Identifier: MIT */
/*
 * Records other than executions: starts, stops, transfers, errors, profiles and marks. Method: a
 * forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include "shared/base/clock.h"
#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/unit.h"

static int child_starts_and_stops(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref model, second;

    (void)ctx;
    ntk_hooks_model_started((struct ntk_hooks_model_ref){ 0 }, 0, 0); /* not attached yet */
    observed_attach(0);
    model = observed_load(10001, 0);
    second = observed_load(10002, 1);
    ntk_hooks_model_started(model, ntk_hooks_now(), 0);
    observed_execute(model, 0, 0, 1);
    observed_execute(model, 0, 0, 2);
    ntk_hooks_model_switched(model);
    ntk_hooks_model_switched(model);
    ntk_hooks_model_switched(model);
    ntk_hooks_model_stopped(model, ntk_hooks_now(), 0);
    ntk_hooks_model_started(model, ntk_hooks_now(), 0);
    ntk_hooks_model_stopped(model, ntk_hooks_now() - 1000000, 1201);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_model_unloaded(model, ntk_hooks_now(), 0);
    ntk_hooks_model_unloaded(second, ntk_hooks_now(), 0);
    return 0;
}

static void model_starts_stops_and_switches_are_counted_and_recorded(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_starts_and_stops, NULL);
    struct ntk_ring_model models[2];
    struct seen seen = { 0 };
    char name[16];

    (void)observed_receive(&child);
    struct ntk_ring_segment *segment = hooks_fixture_segment(f);
    assert_int_equal(ntk_ring_segment_models(segment, models, 2), 2);
    assert_int_equal(models[0].starts, 2);
    assert_int_equal(models[0].stops, 2);
    assert_int_equal(models[0].node_switches, 3);
    assert_int_equal(models[1].starts + models[1].stops + models[1].node_switches, 0);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_MODEL_START], 2);
    assert_int_equal(seen.by_kind[NTK_EVENT_MODEL_STOP], 2);
    const struct ntk_slot *start = &seen.last[NTK_EVENT_MODEL_START];
    assert_int_equal(NTK_WORD_LO(start->word[1]), 10001);
    assert_int_equal(start->word[2], 2);
    const struct ntk_slot *stop = &seen.last[NTK_EVENT_MODEL_STOP];
    assert_true(stop->word[0] >= 1000000); /* the duration */
    assert_int_equal(NTK_WORD_LO(stop->word[1]), 10001);
    assert_int_equal(NTK_WORD_HI(stop->word[1]), 1201);
    assert_int_equal(stop->word[2], 2);
    assert_int_equal(stop->word[4], 1);
    assert_int_equal(ntk_ring_segment_text(segment, NTK_WORD_LO(stop->word[3]), name, sizeof name),
                     3);
    assert_string_equal(name, "mlp");
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_records_the_rest(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref none = { 0, 0 };
    struct ntk_hooks_transfer transfer = { .bytes = 4096,
                                           .address = 0x2000,
                                           .offset = 16,
                                           .core = 0,
                                           .direction = NTK_TRANSFER_DEVICE_TO_HOST };
    struct ntk_hooks_error error = { .value = 3,
                                     .error_class = NTK_ERROR_TRANSIENT,
                                     .error_code = NTK_ERROR_CODE_ECC_MEM_CORRECTED,
                                     .core = 0 };
    uint64_t start;

    (void)ctx;
    observed_attach(NTK_HOOKS_CORES_SHARED);
    ntk_hooks_core_claim(0, 0, 1);
    transfer.start_ticks = ntk_hooks_now();
    ntk_hooks_transfer(&transfer);
    ntk_hooks_error(&error);
    start = ntk_hooks_profile_start(none, 0, 7, 0);
    ntk_hooks_profile_stop(none, 0, 7, 0, start, 555, 0);
    ntk_hooks_mark(ntk_hooks_name("step"), 0, NTK_NO_CORE, 11, 12);
    ntk_hooks_core_release(0);
    observed_send(child, ntk_hooks_now());
    (void)observed_receive(child);
    return 0;
}

static void transfers_errors_profiles_and_marks_are_recorded_with_strings(void **state)
{
    struct hooks_fixture *f = *state;
    uint64_t before = ntk_clock_realtime_ns();
    struct observed child = observed_start(f->folder, child_records_the_rest, NULL);
    struct ntk_ring_segment *segment;
    struct ntk_ring_thread thread;
    struct ntk_ring_core core;
    struct seen seen = { 0 };
    uint64_t after;
    uint64_t ticks;
    uint64_t then;
    char text[8];

    ticks = observed_receive(&child);
    segment = hooks_fixture_segment(f);
    after = ntk_clock_realtime_ns();
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.all, 5);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].flags, NTK_TRANSFER_DEVICE_TO_HOST);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].word[2], 4096);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].word[3], 0x2000);
    assert_int_equal(seen.last[NTK_EVENT_TRANSFER].word[4], 16);
    assert_int_equal(NTK_WORD_HI(seen.last[NTK_EVENT_ERROR].word[3]),
                     NTK_ERROR_CODE_ECC_MEM_CORRECTED);
    assert_int_equal(seen.last[NTK_EVENT_PROFILE_STOP].word[4], 555);
    assert_int_equal(seen.last[NTK_EVENT_MARK].word[2], 11);
    assert_int_equal(seen.last[NTK_EVENT_MARK].word[3], 12);
    assert_int_equal(seen.last[NTK_EVENT_MARK].core, NTK_NO_CORE);
    assert_int_equal(ntk_ring_segment_text(segment, (uint32_t)seen.last[NTK_EVENT_MARK].word[1],
                                           text, sizeof text),
                     4);
    assert_string_equal(text, "step");
    ntk_ring_segment_thread(segment, &seen.last[NTK_EVENT_MARK], &thread);
    assert_int_equal(thread.tid, child.pid);
    assert_true(thread.alive);

    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_false(core.owned);
    assert_int_equal(core.counters.device_to_host_bytes, 4096);
    assert_int_equal(core.counters.error_class[NTK_ERROR_TRANSIENT], 1);

    /* The record's clock equals the wall clock, within the precision of the conversion. */
    then = ntk_ring_segment_realtime_ns(segment, ticks);
    assert_in_range(then, before - NTK_NS_PER_SECOND, after + NTK_NS_PER_SECOND);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(model_starts_stops_and_switches_are_counted_and_recorded),
        HOOKS_TEST(transfers_errors_profiles_and_marks_are_recorded_with_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
