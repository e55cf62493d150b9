/* SPDX-License-Identifier: MIT */
/* Method: hand-written allocations and frees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/memory_use.h"
#include "tests/support/unit.h"

#define ALLOC(use, at, size)                                                          \
    {                                                                                 \
        .type = "nrt_dma_mem_alloc", .name = (use), .start_ns = (at), .bytes = (size) \
    }
#define FREE(use, at, size)                                                             \
    {                                                                                   \
        .type = "nrt_dma_mem_dealloc", .name = (use), .start_ns = (at), .bytes = (size) \
    }
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void peak_memory_is_shown_by_purpose(void **state)
{
    struct ntk_system_span spans[] = {
        ALLOC("tensors", 10, 100), ALLOC("model", 20, 50), FREE("tensors", 30, 100),
        ALLOC("model", 40, 60),    ALLOC("rings", 50, 50), FREE("model", 60, 110),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    struct ntk_memory_use use;

    assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
    assert_int_equal(use.allocation_count, 4);
    assert_int_equal(use.free_count, 2);
    assert_int_equal(use.unmatched_count, 0);
    assert_int_equal(use.peak_bytes, 160);
    assert_int_equal(use.peak_ns, 50);
    assert_int_equal(use.end_bytes, 50);
    assert_int_equal(use.point_count, 6);
    assert_int_equal(use.points[1].bytes, 150);
    assert_int_equal(use.points[2].bytes, 50);
    assert_int_equal(use.part_count, 3);
    assert_string_equal(use.parts[0].name, "model");
    assert_int_equal(use.parts[0].peak_bytes, 110);
    assert_string_equal(use.parts[1].name, "rings");
    assert_int_equal(use.parts[1].peak_bytes, 50);
    assert_string_equal(use.parts[2].name, "tensors"); /* freed by then */
    assert_int_equal(use.parts[2].peak_bytes, 0);
    assert_int_equal(use.parts[2].most_bytes, 100);
    ntk_memory_use_fini(&use);
}

/* "a+100 b+50 a-100": uses that allocate and free, one per ns from 0 on. */
struct program {
    const char *what;
    const char *script;
    uint64_t peak_bytes, end_bytes, unmatched_bytes, peak_ns;
    const char *at_peak; /* the parts, largest first */
};

static const struct program programs[] = {
    { "one allocation", "a+100", 100, 100, 0, 0, "a=100" },
    { "allocated and freed", "a+100 a-100", 100, 0, 0, 0, "a=100" },
    { "a loop that frees what it allocates", "a+100 a-100 a+100 a-100 a+100 a-100", 100, 0, 0, 0,
      "a=100" },
    { "a loop that leaks", "a+100 a-90 a+100 a-90 a+100 a-90", 120, 30, 0, 4, "a=120" },
    { "double buffers", "a+100 b+100 a-100 a+100 b-100 a-100", 200, 0, 0, 1, "a=100 b=100" },
    { "the weights stay, the activations change", "w+500 x+10 x-10 x+30 x-30", 530, 500, 0, 3,
      "w=500 x=30" },
    { "the peak is not the end", "a+10 b+90 b-90 a+20", 100, 30, 0, 1, "b=90 a=10" },
    { "the first of two equal peaks", "a+100 a-100 b+100", 100, 100, 0, 0, "a=100 b=0" },
    { "freed in another order", "a+10 a+20 a+30 a-10 a-30 a-20", 60, 0, 0, 2, "a=60" },
    { "freed before the trace had it", "a-50 a+100", 100, 100, 50, 1, "a=100" },
    { "more freed than allocated", "a+100 a-150 a+20", 100, 20, 50, 0, "a=100" },
    { "freed by another use", "a+100 b-100", 100, 100, 100, 0, "a=100 b=0" },
    { "nothing but frees", "a-10 b-20", 0, 0, 30, 0, "a=0 b=0" },
    { "allocations of nothing", "a+0 a+0", 0, 0, 0, 0, "a=0" },
};

/* Names are single letters; up to 16 spans. */
static size_t read_script(const char *script, struct ntk_system_span spans[16], char names[16][2])
{
    size_t count = 0;

    for (const char *at = script; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        struct ntk_system_span alloc = ALLOC(names[count], count, 0);
        struct ntk_system_span dealloc = FREE(names[count], count, 0);
        assert_true(count < 16);
        names[count][0] = at[0];
        spans[count] = at[1] == '+' ? alloc : dealloc;
        spans[count++].bytes = strtoull(at + 2, NULL, 10);
    }
    return count;
}

static void memory_peaks_of_generated_programs_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(programs); i++) {
        const struct program *row = &programs[i];
        struct ntk_system_span spans[16];
        char names[16][2] = { 0 };
        struct ntk_system_trace trace = { .spans = spans };
        struct ntk_memory_use use;
        char text[100] = "";

        trace.span_count = read_script(row->script, spans, names);
        assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
        for (size_t p = 0; p < use.part_count; p++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%s=%llu", p ? " " : "", use.parts[p].name,
                     (unsigned long long)use.parts[p].peak_bytes);
        }
        if (use.peak_bytes != row->peak_bytes || use.end_bytes != row->end_bytes ||
            use.unmatched_bytes != row->unmatched_bytes || strcmp(text, row->at_peak) != 0 ||
            (use.peak_bytes && use.peak_ns != row->peak_ns)) {
            fail_msg("%s: peak %llu at %llu (%s), end %llu, unmatched %llu", row->what,
                     (unsigned long long)use.peak_bytes, (unsigned long long)use.peak_ns, text,
                     (unsigned long long)use.end_bytes, (unsigned long long)use.unmatched_bytes);
        }
        ntk_memory_use_fini(&use);
    }
}

static void frees_of_memory_allocated_before_the_trace_are_ignored(void **state)
{
    struct ntk_system_span spans[] = {
        FREE("tensors", 5, 1000),      ALLOC("tensors", 10, 100),     FREE("tensors", 20, 150),
        ALLOC("huge", 30, UINT64_MAX), ALLOC("huge", 40, UINT64_MAX),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = 3 };
    struct ntk_memory_use use;

    assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
    assert_int_equal(use.peak_bytes, 100);
    assert_int_equal(use.end_bytes, 0);
    assert_int_equal(use.unmatched_count, 2);
    assert_int_equal(use.unmatched_bytes, 1050);
    ntk_memory_use_fini(&use);
    trace.span_count = 5; /* invalid values of a file are kept, and do not wrap */
    assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
    assert_true(use.peak_bytes == UINT64_MAX);
    ntk_memory_use_fini(&use);
    trace.span_count = 0;
    assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
    assert_int_equal(use.part_count, 0);
    ntk_memory_use_fini(&use);
}

/* Random allocations, some of them freed: the peak is the highest point and the sum of its
 * parts. */
static void the_memory_peak_is_the_sum_of_its_parts(void **state)
{
    static const char *const names[] = { "tensors", "model", "rings", "scratchpad" };
    enum { SPANS = 200, NAMES = COUNT(names) };
    uint32_t chance = 1;

    for (int round = 0; round < 50; round++) {
        struct ntk_system_span spans[SPANS];
        struct ntk_system_trace trace = { .spans = spans, .span_count = SPANS };
        struct ntk_memory_use use;
        uint64_t now[NAMES] = { 0 };
        uint64_t peak = 0;
        uint64_t end = 0;

        for (uint64_t i = 0; i < SPANS; i++) {
            chance = chance * 1664525u + 1013904223u;
            unsigned n = (chance >> 10) % NAMES;
            uint64_t bytes = (chance >> 16) % 1000;
            bool is_free = (chance >> 9) % 2 && bytes <= now[n];
            struct ntk_system_span alloc = ALLOC(names[n], i, bytes);
            struct ntk_system_span dealloc = FREE(names[n], i, bytes);
            spans[i] = is_free ? dealloc : alloc;
            now[n] += is_free ? -bytes : bytes;
            end += is_free ? -bytes : bytes;
            peak = end > peak ? end : peak;
        }
        assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
        uint64_t parts = 0;
        uint64_t highest = 0;
        for (size_t p = 0; p < use.part_count; p++) {
            parts += use.parts[p].peak_bytes;
            assert_true(use.parts[p].peak_bytes <= use.parts[p].most_bytes);
            assert_true(use.parts[p].most_bytes <= use.peak_bytes);
        }
        for (size_t p = 0; p < use.point_count; p++) {
            highest = use.points[p].bytes > highest ? use.points[p].bytes : highest;
            assert_true(use.points[p].time_ns != use.peak_ns || use.points[p].bytes == peak);
        }
        assert_int_equal(use.peak_bytes, peak);
        assert_int_equal(parts, peak);
        assert_int_equal(highest, peak);
        assert_int_equal(use.end_bytes, end);
        assert_int_equal(use.unmatched_bytes, 0);
        assert_int_equal(use.allocation_count + use.free_count, SPANS);
        ntk_memory_use_fini(&use);
    }
}

/* The sum of the uses overflows a number: later frees do not make it negative. */
static void memory_sums_of_a_hostile_trace_do_not_overflow(void **state)
{
    struct ntk_system_span spans[] = {
        ALLOC("a", 10, UINT64_MAX), ALLOC("b", 20, UINT64_MAX), FREE("a", 30, UINT64_MAX),
        FREE("b", 40, UINT64_MAX),  FREE("a", 50, UINT64_MAX),  FREE("b", 60, UINT64_MAX),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    struct ntk_memory_use use;

    assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
    assert_true(use.peak_bytes == UINT64_MAX);
    assert_int_equal(use.peak_ns, 10);
    for (size_t i = 2; i < use.point_count; i++) {
        assert_int_equal(use.points[i].bytes, 0);
    }
    assert_int_equal(use.end_bytes, 0);
    assert_int_equal(use.unmatched_count, 2);
    assert_true(use.unmatched_bytes == UINT64_MAX);
    ntk_memory_use_fini(&use);
}

static void memory_uses_without_a_base_address_have_no_rows(void **state)
{
    struct ntk_system_span spans[] = { ALLOC("tensors", 10, 100) };
    struct ntk_system_account account = { .base_bytes = 8,
                                          .usage_count = 2,
                                          .usages = { { "weight", 0, 0 }, { "spill", 8, 8 } } };
    struct ntk_system_trace trace = {
        .spans = spans,
        .span_count = COUNT(spans),
        .accounts = { .items = &account, .count = 1, .item_bytes = sizeof account },
    };
    struct ntk_memory_use use;

    assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
    assert_int_equal(use.peak_bytes, 108);
    assert_int_equal(use.part_count, 2); /* no weights and no unknown use */
    assert_string_equal(use.parts[0].name, "tensors");
    assert_string_equal(use.parts[1].name, "spill");
    ntk_memory_use_fini(&use);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_memory_is_shown_by_purpose),
        cmocka_unit_test(memory_peaks_of_generated_programs_are_found),
        cmocka_unit_test(frees_of_memory_allocated_before_the_trace_are_ignored),
        cmocka_unit_test(the_memory_peak_is_the_sum_of_its_parts),
        cmocka_unit_test(memory_sums_of_a_hostile_trace_do_not_overflow),
        cmocka_unit_test(memory_uses_without_a_base_address_have_no_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
